# docker build -t chipmodel . && docker run --rm -v "$PWD:/work" chipmodel simulate model.onnx --html run.html
FROM python:3.12-slim AS build
# The compiler stays in this stage, so its version does not matter.
# hadolint ignore=DL3008
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends g++
COPY . /source
RUN pip wheel --no-cache-dir -c /source/constraints.txt -w /wheels /source

FROM python:3.12-slim
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir --no-index /wheels/*.whl
USER 1000
WORKDIR /work
ENTRYPOINT ["chipmodel"]
