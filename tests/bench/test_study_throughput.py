"""The rate of a study is measured over points that are answered and stored."""

from pathlib import Path

from bench.study_throughput import STUDY, measured
from chipmodel.studies.points import tasks_of
from chipmodel.studies.study_file import parse_study


def test_every_point_is_answered_and_stored(tmp_path: Path) -> None:
    tasks = tasks_of(parse_study(STUDY, tmp_path / "study.yaml"))
    assert measured(tasks[:2], 1, tmp_path).rows == 2
