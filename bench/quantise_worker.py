"""Export networks and quantise them by ONNX Runtime; run by a Python that has the packages, see
quantised_networks.

``python bench/quantise_worker.py FOLDER PACKAGE:NAME...`` writes for each network, with random weights,
``NAME.onnx``, ``NAME.pre.onnx`` after ONNX Runtime's pre-processing, and ``NAME.int8.onnx`` and
``NAME.pre.int8.onnx``, which its static quantiser makes of the two. One line of JSON for each: the package's
version, or the reason why there is no file.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

OPSET = 18
TOKENS = 64
"""Tokens that a network of text is given (assumed)."""
SMALL = {"hidden_size": 128, "intermediate_size": 512, "vocab_size": 1024}
HEADS = {"num_hidden_layers": 2, "num_attention_heads": 4}
TRANSFORMERS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "bert": ("Bert", {**SMALL, **HEADS}),
    "roberta": ("Roberta", {**SMALL, **HEADS}),
    "electra": ("Electra", {**SMALL, **HEADS, "embedding_size": 128}),
    "albert": ("Albert", {**SMALL, **HEADS, "embedding_size": 128}),
    "distilbert": (
        "DistilBert",
        {"dim": 128, "hidden_dim": 512, "vocab_size": 1024, "n_layers": 2, "n_heads": 4},
    ),
    "gpt2": ("GPT2", {"n_embd": 128, "n_layer": 2, "n_head": 4, "vocab_size": 1024, "use_cache": False}),
    "llama": ("Llama", {**SMALL, **HEADS, "use_cache": False}),
}
"""A model's class and what of its configuration is smaller than by default, by name."""


def _timm(name: str) -> tuple[Any, tuple[Any, ...]]:
    made = import_module("timm").create_model(name, pretrained=False)
    return made, (import_module("torch").randn(1, *made.pretrained_cfg["input_size"]),)


def _transformers(name: str) -> tuple[Any, tuple[Any, ...]]:
    transformers, torch = import_module("transformers"), import_module("torch")
    kind, smaller = TRANSFORMERS[name]
    config = getattr(transformers, f"{kind}Config")(**smaller, attn_implementation="eager")

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        """The model with token numbers as its only operand."""

        def forward(self, tokens: Any) -> Any:
            return self.model(input_ids=tokens, return_dict=False)[0]

    wrapped: Any = Network()
    wrapped.model = getattr(transformers, f"{kind}Model")(config)
    return wrapped, (torch.zeros(1, TOKENS, dtype=torch.int64),)


def _torch(make: Callable[[str], tuple[Any, tuple[Any, ...]]], dynamo: bool) -> Callable[[str, Path], None]:
    def export(name: str, path: Path) -> None:
        torch = import_module("torch")
        torch.manual_seed(0)
        module, inputs = make(name)
        module.eval()
        with torch.no_grad():
            torch.onnx.export(
                module, inputs, str(path), opset_version=OPSET, dynamo=dynamo, external_data=False
            )

    return export


def _keras(name: str, path: Path) -> None:
    tensorflow, tf2onnx = import_module("tensorflow"), import_module("tf2onnx")
    tensorflow.keras.utils.set_random_seed(0)
    made = getattr(tensorflow.keras.applications, name)(weights=None)
    given = [tensorflow.TensorSpec((1, *made.input_shape[1:]), tensorflow.float32, name="image")]

    def call(image: Any) -> Any:
        return made(image, training=False)

    call = tensorflow.function(call, input_signature=given)
    tf2onnx.convert.from_function(call, given, opset=OPSET, output_path=str(path))


EXPORTERS: Mapping[str, Callable[[str, Path], None]] = {
    "timm": _torch(_timm, dynamo=False),
    "transformers": _torch(_transformers, dynamo=True),
    "keras": _keras,
}


def quantise(source: Path, target: Path) -> None:
    """Quantise to 8 bits, with the ranges of one random input."""
    quantization = import_module("onnxruntime.quantization")
    reader = type("Reader", (quantization.CalibrationDataReader,), {"get_next": _next_of(source)})
    quantization.quantize_static(str(source), str(target), reader())


def _next_of(source: Path) -> Callable[[Any], Mapping[str, Any] | None]:
    numpy = import_module("numpy")
    session = import_module("onnxruntime").InferenceSession(str(source))
    rng = numpy.random.default_rng(0)
    drawn: dict[str, Any] = {}
    for each in session.get_inputs():
        real = each.type == "tensor(float)"
        drawn[each.name] = (
            rng.normal(0, 1, each.shape).astype("f") if real else rng.integers(0, 9, each.shape)
        )
    waiting: Iterator[Mapping[str, Any]] = iter([drawn])
    return lambda self: next(waiting, None)


def written(asked: str, folder: Path) -> None:
    """Write the four files of one network."""
    package, name = asked.split(":")
    plain, prepared = folder / f"{name}.onnx", folder / f"{name}.pre.onnx"
    EXPORTERS[package](name, plain)
    prepare = import_module("onnxruntime.quantization.shape_inference").quant_pre_process
    prepare(str(plain), str(prepared), skip_symbolic_shape=True)
    for source in (plain, prepared):
        quantise(source, source.with_suffix(".int8.onnx"))


def main() -> None:
    warnings.simplefilter("ignore")
    # the packages print, also from C++, which no redirection of sys.stdout sees
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for asked in sys.argv[2:]:
        found = {"name": asked, "version": version(asked.split(":")[0])}
        try:
            written(asked, Path(sys.argv[1]))
        except Exception as error:  # whatever a package of networks raises is the answer
            found["error"] = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        print(json.dumps(found), file=answers, flush=True)


if __name__ == "__main__":
    main()
