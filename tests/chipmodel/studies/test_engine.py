"""The loop: what it stores when, how it stops, what two of them share, and the version of the code."""

from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import pytest

from chipmodel.answers.study_row import Row
from chipmodel.studies.code_version import FOLDERS, NEVER_DECIDE, STILL_DECIDE, code_version, deciding_files
from chipmodel.studies.engine import work
from chipmodel.studies.store import StudyStore, opened, read_rows
from chipmodel.studies.task import PointTask
from tests.chipmodel.studies.support import HEADER, tasks
from tests.support.folders import ROOT

TASKS = {task.key: task for task in tasks("workloads: ['zoo:*']")}


class Hand:
    """A workers of one that answers a few points at each call, and writes down what it was given."""

    def __init__(self, batch_size: int = 2) -> None:
        self.batch_size = batch_size
        self.waiting: list[PointTask] = []
        self.given: list[str] = []

    @property
    def room(self) -> int:
        return max(0, 3 - len(self.waiting))

    @property
    def busy(self) -> bool:
        return bool(self.waiting)

    def give(self, tasks: Sequence[PointTask]) -> None:
        self.waiting += tasks
        self.given += [task.key for task in tasks]

    def take(self, seconds: float) -> list[Row]:
        done, self.waiting = self.waiting[: self.batch_size], self.waiting[self.batch_size :]
        return [Row(task.point, task.key, "feasible", 0.1, code=HEADER.code) for task in done]


def asked(store: StudyStore) -> StudyStore:
    store.ask(HEADER, list(TASKS), list(TASKS))
    return store


def test_every_point_is_given_once_in_turn_and_stored_as_it_comes(tmp_path: Path) -> None:
    workers, seen = Hand(), list[int]()
    with opened(tmp_path / "s.sqlite") as store:
        work(asked(store), TASKS, workers, lambda rows: seen.append(store.counts().stored))
        assert store.counts().stored == len(TASKS)
    assert workers.given == list(TASKS)
    assert seen[:3] == [2, 4, 6]


def test_what_is_stored_is_not_given_again(tmp_path: Path) -> None:
    first, second = Hand(), Hand()
    with opened(tmp_path / "s.sqlite") as store:
        enough: list[bool] = []

        def watch(rows: Sequence[Row]) -> None:
            enough[:] = [True] * (store.counts().stored >= 5)

        assert work(asked(store), TASKS, first, watch, lambda: bool(enough))
        stored = {each.key for each in read_rows(tmp_path / "s.sqlite")[1]}
        assert 5 <= len(stored) < len(TASKS)
    with opened(tmp_path / "s.sqlite") as store:
        work(asked(store), TASKS, second, lambda rows: None)
    assert sorted(second.given) == sorted(set(TASKS) - stored)


def test_two_at_once_share_the_points_and_both_wait_for_the_last(tmp_path: Path) -> None:
    crews = [Hand(1), Hand(1)]

    def one(workers: Hand) -> None:
        with opened(tmp_path / "s.sqlite") as store:
            work(asked(store), TASKS, workers, lambda rows: None)
            assert store.counts().stored == len(TASKS)

    with opened(tmp_path / "s.sqlite"):
        threads = [Thread(target=one, args=(workers,)) for workers in crews]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(crews[0].given + crews[1].given) == sorted(TASKS)


def test_one_waits_for_points_that_another_has_claimed_and_takes_them_when_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    workers = Hand(9)
    with opened(path) as other:
        claimed = asked(other).claim(4)

        def run() -> None:
            with opened(path) as store:
                work(asked(store), TASKS, workers, lambda rows: None)

        thread = Thread(target=run)
        thread.start()
        thread.join(1.0)
        assert thread.is_alive()
        assert not set(workers.given) & set(claimed)
        other.release()
        thread.join(10)
        assert not thread.is_alive()
    assert set(workers.given) == set(TASKS)


def test_rows_that_are_finished_when_it_stops_are_stored(tmp_path: Path) -> None:
    workers, enough = Hand(1), list[bool]()

    def watch(rows: Sequence[Row]) -> None:
        enough.append(True)

    with opened(tmp_path / "s.sqlite") as store:
        assert work(asked(store), TASKS, workers, watch, lambda: bool(enough))
        assert {each.key for each in read_rows(tmp_path / "s.sqlite")[1]} == set(workers.given[:2])


def test_the_version_is_a_short_hash() -> None:
    assert len(code_version()) == 16


def test_it_covers_what_loads_plans_and_simulates_and_nothing_that_only_shows() -> None:
    files = set(deciding_files())
    assert {
        "solvers/exact/portfolio.py",
        "solvers/search/kernel.py",
        "dma/stream.py",
        "dma/streamers/exact.py",
        "chipmodel/machine/simulate.py",
        "chipmodel/pipeline/plan.py",
        "chipmodel/npu/cycles.py",
        "workloads/load.py",
        "workloads/zoo/resnet.py",
        *STILL_DECIDE,
    } <= files
    assert not files & {"chipmodel/cli/main.py", "chipmodel/studies/store.py"}


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
