"""Points and rows for the tests of studies."""

from pathlib import Path

from hypothesis import strategies as st

from chipmodel.answers.study_row import Improved, Point, Row
from chipmodel.hardware.fields import FIELDS
from chipmodel.studies.points import tasks_of
from chipmodel.studies.store import StudyHeader
from chipmodel.studies.study_file import parse_study
from chipmodel.studies.task import PointTask

HEADER = StudyHeader("s", "why?", "s.yaml", "title: why?", "c0de", 0)

texts = st.text(max_size=8)
counts = st.integers(0, 1 << 60)
maybe = st.none() | counts
seconds = st.floats(0, 1e6)
points = st.builds(
    Point,
    *[texts] * 5,
    st.integers(0, (1 << 31) - 1),
    st.dictionaries(st.sampled_from(sorted(FIELDS)), texts, max_size=3).map(lambda each: tuple(each.items())),
    st.none() | seconds,
    maybe,
)
rows = st.builds(
    Row,
    points,
    st.text(min_size=1, max_size=8),
    st.sampled_from(("optimal", "feasible", "infeasible", "unknown", "does not fit", "failed")),
    seconds,
    *[maybe] * 8,
    st.none() | seconds,
    st.lists(st.builds(Improved, seconds, maybe, counts), max_size=3).map(tuple),
    texts,
)


def row(key: str, status: str = "feasible", peak: int | None = 100, error: str = "") -> Row:
    point = Point("zoo:resnet8", "luna-arcs", "pool", "conflict", "sync", int(key[1:]))
    return Row(point, key, status, 0.5, peak, 80, error=error, code=HEADER.code)  # type: ignore[arg-type]


def tasks(text: str, folder: Path = Path()) -> tuple[PointTask, ...]:
    return tasks_of(parse_study(text, folder / "s.yaml"))
