"""The loop: what it stores when, how it stops, and the version of the code."""

from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from chipmodel.answers.study_row import Row
from chipmodel.studies.code_version import FOLDERS, NEVER_DECIDE, STILL_DECIDE, deciding_files
from chipmodel.studies.engine import work
from chipmodel.studies.store import opened, read_rows
from chipmodel.studies.task import PointTask
from tests.chipmodel.studies.support import HEADER, tasks
from tests.support.folders import ROOT

TASKS = tasks("workloads: ['zoo:*']")


def answers(asked: Sequence[PointTask], ended: list[bool]) -> Generator[list[Row]]:
    """Two rows at a time, with nothing in between."""
    try:
        for pair in zip(asked[::2], asked[1::2], strict=False):
            yield [Row(task.point, task.key, "feasible", 0.1, code=HEADER.code) for task in pair]
            yield []
    finally:
        ended.append(True)


def test_rows_are_stored_as_they_come_until_it_is_stopped(tmp_path: Path) -> None:
    path, ended, seen = tmp_path / "s.sqlite", list[bool](), list[int]()
    with opened(path) as store:
        store.ask(HEADER, [task.key for task in TASKS])
        assert work(
            store,
            answers(TASKS, ended),
            lambda rows: seen.append(len(read_rows(path)[1])),
            lambda: len(seen) == 5,
        )
    assert (seen, ended) == ([2, 2, 4, 4, 6], [True])
    assert [each.key for each in read_rows(path)[1]] == [task.key for task in TASKS[:6]]


def test_every_source_is_either_hashed_or_named_as_deciding_nothing() -> None:
    sources = {path.relative_to(ROOT).as_posix() for top in FOLDERS for path in (ROOT / top).rglob("*.py")}
    left = sources - set(deciding_files())
    assert left
    assert all(name.startswith(NEVER_DECIDE) for name in left)


@pytest.mark.parametrize("missing", [FOLDERS[0], NEVER_DECIDE[0], STILL_DECIDE[0]])
def test_a_folder_or_file_that_is_not_there_is_an_error(missing: str, tmp_path: Path) -> None:
    for name in (*FOLDERS, *NEVER_DECIDE, *STILL_DECIDE):
        if not name.startswith(missing):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch() if name.endswith(".py") else path.mkdir(exist_ok=True)
    with pytest.raises(FileNotFoundError, match=missing):
        deciding_files(tmp_path)
