"""A study that is killed, and one whose workers are: every point once, and the table of one left alone.

``python -m tests.fuzz study-kills`` does the same with 1,000 points and 20 kills.
"""

import concurrent.futures
import logging
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import chipmodel.studies.dask_cluster
from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput, ChipmodelError
from chipmodel.studies.code_version import code_version
from chipmodel.studies.dask_cluster import Cluster
from chipmodel.studies.engine import Watch, work
from chipmodel.studies.export import csv_bytes, parquet_bytes
from chipmodel.studies.pool import LocalPool
from chipmodel.studies.store import opened, read_rows
from chipmodel.studies.task import PointTask
from tests.chipmodel.studies.support import HEADER, tasks
from tests.fuzz.study_kills import StoreSummary, cluster, killed, undisturbed

STUDY = """
workloads: [zoo:ds_cnn, zoo:wakeword, w.csv, zoo:autoencoder]
chips: [luna-arcs, gap9-psram]
packers: [large-first, greedy-best-fit, hill-climb]
streamers: [sync, ping-pong]
seeds: [0, 1]
node_limit: 50
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(STUDY)
    (tmp_path / "w.csv").write_text("id,lower,upper,size\nx,0,2,4\ny,1,3,5\n")
    return tmp_path


@pytest.fixture(scope="module")
def made() -> Iterator[Any]:
    with cluster(2) as started:
        yield started


def nothing(rows: Sequence[Row]) -> None:
    pass


def run(
    store: Path, asked: Sequence[PointTask], workers: LocalPool | Cluster, watch: Watch = nothing
) -> tuple[Row, ...]:
    with opened(store) as link:
        link.ask(replace(HEADER, code=code_version()), [task.key for task in asked])
        work(link, workers.answers(asked), watch)
    return read_rows(store)[1]


@pytest.mark.slow
def test_sigkill_at_random_moments_loses_nothing_and_repeats_nothing(folder: Path) -> None:
    found = killed(folder / "s.yaml", folder / "killed.sqlite", kills=1, seed=5)
    assert found == StoreSummary(52, 52, 1, 0, undisturbed(folder / "s.yaml", folder / "alone.sqlite"))


@pytest.mark.slow
def test_a_cluster_has_the_bytes_of_this_machine_though_a_worker_is_killed(folder: Path, made: Any) -> None:
    asked = tasks(STUDY, folder)
    local = run(folder / "local.sqlite", asked, LocalPool(2))
    victims = [nanny.pid for nanny in made.workers.values()]
    count = 0

    def watch(rows: Sequence[Row]) -> None:
        nonlocal count
        count += len(rows)
        if count > len(asked) // 2 and len(victims) == 2:
            os.kill(victims.pop(), signal.SIGKILL)

    remote = run(folder / "dask.sqlite", asked, Cluster(made.scheduler_address), watch)
    assert len(victims) == 1
    assert len(local) == len(remote) == len(asked)
    assert csv_bytes(local, False) == csv_bytes(remote, False)
    assert parquet_bytes(local, False) == parquet_bytes(remote, False)


@pytest.mark.slow
def test_workers_with_another_chipmodel_are_refused(
    folder: Path, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chipmodel.studies.dask_cluster, "code_version", lambda: "other")
    with pytest.raises(ChipmodelError, match="has another chipmodel"):
        run(folder / "s.sqlite", tasks("workloads: zoo:ds_cnn"), Cluster(made.scheduler_address))


@pytest.mark.slow
@pytest.mark.parametrize("lost", [OSError(), RuntimeError("closed"), concurrent.futures.CancelledError()])
def test_a_lost_scheduler_is_one_clear_error_without_logs(
    made: Any, lost: Exception, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        for name in (
            "distributed",
            "distributed.client",
            "distributed.batched",
            "tornado.application",
            "asyncio",
        ):
            logging.getLogger(name).error("a long traceback")
        raise lost

    hint = "is gone\n  hint: start it again, and run the study again"
    for method in ("submit", "nthreads"):
        workers = Cluster(made.scheduler_address)
        monkeypatch.setattr(f"distributed.Client.{method}", fail)
        with pytest.raises(ChipmodelError, match=hint):
            next(workers.answers(tasks("workloads: zoo:ds_cnn")))
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_nobody_answers_or_dask_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chipmodel.studies.dask_cluster, "CONNECT_SECONDS", 0.5)
    with pytest.raises(BadInput, match=r"no scheduler answers at tcp://127\.0\.0\.1:9"):
        Cluster("tcp://127.0.0.1:9")
    with pytest.raises(BadInput, match="no scheduler answers"):
        Cluster("nonsense://x")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BadInput, match=r"install chipmodel\[dask\]"):
        Cluster("tcp://127.0.0.1:9")
