"""One point, answered: the same as ``simulate`` and ``pack`` say, and every way it can go wrong a row."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import solvers.branches.mergers
from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.energy import result_energy
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.steady_state import steady
from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.task import PointTask
from chipmodel.studies.workload import load_workload, source_of
from solvers.core.outcome import Limits
from solvers.registry import packer_named
from tests.chipmodel.studies.support import tasks
from tests.support.folders import ROOT
from tests.support.narrowed import some
from workloads.load import load


def answered(text: str, folder: Path = Path()) -> list[Row]:
    cache = WorkerCache(load_workload)
    return [answer(task, cache) for task in tasks(text, folder)]


def cache() -> WorkerCache:
    return WorkerCache(load_workload)


def test_a_program_has_the_figures_of_simulate() -> None:
    text = (
        "workloads: [zoo:resnet8, zoo:wakeword]\nchips: [luna-arcs, esp32s3]\nstreamers: [sync, ping-pong]\n"
    )
    rows = answered(text + "merges: [unified-block]\npackers: greedy-best-fit\nset: {psram.clock_mhz: [80]}")
    assert len(rows) == 8
    for row in rows:
        point = row.point
        chip = load_chip(point.chip, ["psram.clock_mhz=80"])
        program = reuse(load(point.workload), "all")
        result = run(PlanRequest(program, chip, point.packer, point.streamer, merge=point.merge))
        assert row.status == result.solved.status
        assert (row.peak_bytes, row.peak_lower_bound_bytes) == (result.solved.peak, result.solved.lower_bound)
        assert row.capacity_bytes == chip.shared_memory.bytes
        assert (row.total_cycles, row.lower_bound_cycles) == (result.trace.cycles, result.bound.cycles)
        assert row.sync_cycles == (result.sync_cycles if point.streamer == "sync" else None)
        assert row.npu_busy_cycles == result.trace.busy("npu")
        assert row.dma_busy_cycles == result.trace.busy("dma")
        assert row.milliseconds == chip.milliseconds(result.trace.cycles)
        assert row.seconds > 0
        assert not row.error


@pytest.mark.parametrize("cores", ["1", "2"])
def test_a_row_has_the_energy_of_its_run_where_the_chip_file_says_it(cores: str) -> None:
    text = "workloads: [zoo:autoencoder]\nchips: [gap9, luna-arcs]\nstreamers: [sync]\n"
    known, unknown = answered(text + f"set: {{cores: [{cores}]}}")
    program = reuse(load("zoo:autoencoder"), "all")
    energy = result_energy(run(PlanRequest(program, load_chip("gap9", [f"cores={cores}"]), streamer="sync")))
    assert known.microjoules == pytest.approx(some(energy).microjoules)
    assert unknown.microjoules is None


def test_a_packing_is_minimised_and_then_compared_with_its_capacity(tmp_path: Path) -> None:
    # Three of 4 at once at time 0 and 4: 12 bytes at least; large-first on lifetimes in a chain meets that.
    lines = ["id,lower,upper,size", "b1,0,3,4", "b2,3,9,4", "b3,0,9,4", "b4,9,21,4", "b5,0,21,4"]
    (tmp_path / "w.csv").write_text("\n".join(lines))
    names = ["w.csv", "w.csv?capacity=12", "w.csv?capacity=11", "w.csv?capacity=1KiB"]
    rows = answered(f"workloads: [{', '.join(map(repr, names))}]\npackers: exact", tmp_path)
    assert [row.peak_bytes for row in rows] == [12] * 4
    assert [row.status for row in rows] == ["optimal", "optimal", "infeasible", "optimal"]
    assert [row.capacity_bytes for row in rows] == [None, 12, 11, 1024]
    assert [row.fits for row in rows] == [True, True, False, True]
    assert all(row.total_cycles is None and row.milliseconds is None for row in rows)


def test_a_heuristic_that_misses_the_capacity_proves_nothing() -> None:
    (row,) = answered("workloads: 'guillotine:n=40,seed=1'\npackers: large-first")
    assert some(row.peak_bytes) > (row.capacity_bytes or 0) == 1 << 20
    assert (row.status, row.fits) == ("does not fit", False)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ("", Limits(None, packer_named("exact").limits.nodes, 3, 1)),
        ("time_limit: 5", Limits(5.0, None, 3, 1)),
        ("node_limit: 9", Limits(None, 9, 3, 1)),
        ("time_limit: 5\nnode_limit: 9", Limits(5.0, 9, 3, 1)),
    ],
)
def test_a_search_without_limits_stops_by_nodes(
    limits: str, expected: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    def noted(request: PlanRequest) -> Planned:
        seen.append(request.limits)
        return plan(replace(request, limits=None))

    monkeypatch.setattr("chipmodel.studies.answer.plan", noted)
    answered(f"workloads: zoo:ds_cnn\nmerges: exact\nseeds: 3\n{limits}")
    assert seen == [expected]


def test_the_limits_of_a_plan_are_for_all_of_its_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Limits] = []
    real = solvers.branches.mergers.merge_arms

    def merge_arms(*arguments: object) -> object:
        seen.append(arguments[-1])  # type: ignore[arg-type]
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("chipmodel.pipeline.quickest.merge_arms", merge_arms)
    chip = load_chip("luna-arcs", ["shared_memory.bytes=48KiB"])
    plan(PlanRequest(load("zoo:resnet8"), chip, "naive", "ping-pong", limits=Limits(1e6, 5, 1)))
    left = [each.seconds for each in seen]
    assert len(left) > 1
    assert all(a is not None and b is not None and a > b for a, b in pairwise(left))
    assert {(each.nodes, each.seed) for each in seen} == {(5, 1)}


def test_bad_input_is_a_failed_row_with_its_place_and_hint(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("name: w\nops:\n  - {op: conv3d}\n")
    (row,) = answered("workloads: w.yaml", tmp_path)
    assert (row.status, row.peak_bytes, row.seconds > 0) == ("failed", None, True)
    assert "w.yaml:" in row.error
    assert "Traceback" not in row.error


def test_an_impossible_chip_is_a_failed_row() -> None:
    (row,) = answered("workloads: zoo:ds_cnn\nchips: gap9-psram\nset: {dma.bursts.setup_cycles: 600}")
    assert row.status == "failed"
    assert "means nothing on a chip" in row.error


def test_a_fault_of_ours_is_a_failed_row_with_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr("chipmodel.studies.answer.plan", broken)
    (row,) = answered("workloads: zoo:ds_cnn")
    assert row.status == "failed"
    assert row.error.startswith("internal error: ZeroDivisionError: on purpose\nTraceback")
    assert "in broken" in row.error


def test_a_file_that_changes_after_it_was_asked_is_not_stored_as_what_it_was(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("id,lower,upper,size\nx,0,1,4\n")
    task: PointTask
    (task,) = tasks("workloads: w.csv", tmp_path)
    path.write_text("id,lower,upper,size\nx,0,1,5\n")
    row = answer(task, cache())
    assert row.status == "failed"
    assert "changed while the study ran" in row.error


def test_options_of_workloads(tmp_path: Path) -> None:
    def program(name: str) -> object:
        return load_workload(source_of(name, ROOT / "workloads"))

    assert program("zoo:ds_cnn?steady_state=5") == reuse(steady(load("zoo:ds_cnn"), 5), "all")
    assert program("zoo:resnet8?dtype=int16") == reuse(load("zoo:resnet8", dtype="int16"), "all")
    assert program("zoo:resnet18?input=64&dtype=int16") == reuse(
        load("zoo:resnet18?input=64", dtype="int16"), "all"
    )
    with pytest.raises(BadInput, match="capacity says nothing"):
        program("zoo:resnet8?capacity=3")
    with pytest.raises(BadInput, match="dtype says nothing"):
        program("packing-example.csv?dtype=int8")
