"""Outputs in place by rows, where SharedMemory is short: in DS-CNN tensors of 8,000 B follow one another."""

from dataclasses import replace

import pytest

from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rows_choice import estimated_cycles
from chipmodel.pipeline.smallest_memory import smallest_memory
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.plan_file import verify_file
from dma.residency.rows_in_place import RowsTable
from workloads.load import load

CHIP = load_chip("alif-e7")


def request(size: int, streamer: str = "weight-pipeline") -> PlanRequest:
    program = reuse(load("zoo:ds_cnn"), "all")
    return PlanRequest(program, CHIP.with_memory(size), streamer=streamer, cascade="auto")


def cycles(asked: PlanRequest) -> int:
    return simulate(plan(asked).commands, asked.chip, {}).cycles


def test_a_plan_in_short_memory_is_right_and_much_faster() -> None:
    asked = request(16 << 10)
    found = plan(asked)
    assert [name for name, _ in found.schedule.in_rows] == [
        f"conv{number}.{kind}" for number in (2, 3, 4, 5) for kind in ("depthwise", "pointwise")
    ]
    assert not found.schedule.spilled
    assert not verify_file(asked.program, plan_of_planned(found, asked.chip, "alif-e7", ()), asked.chip)
    [verdict] = check_paths(PlanRun(asked.program, [found.commands], 16 << 10), {})
    assert not verdict.faults
    assert cycles(asked) < 0.6 * cycles(replace(asked, rows_in_place=False))


def test_a_little_more_memory_is_not_slower() -> None:
    """Both sizes try the same amounts of memory for tensors."""
    less, more = (cycles(request(size, "auto")) for size in (16_384, 17_040))
    assert more <= less < 80_000


def test_the_estimate_knows_where_weights_have_no_room() -> None:
    """Two ops' weights of 5,184 B fit next to tensors of 11,200 B, so that all are loaded ahead; next to
    11,520 B they do not. With less memory 4,352 B are loaded for each of three steps."""
    table = RowsTable(request(1).program, CHIP.with_memory(16_384))
    good, larger = table.chosen(11_255), table.chosen(11_585)
    assert (good["conv2.pointwise"].bytes, larger["conv2.depthwise"].bytes) == (11_200, 11_520)
    assert sum(each.cycles for each in larger.values()) < sum(each.cycles for each in good.values())
    assert estimated_cycles(table, good) < 0.7 * estimated_cycles(table, larger)
    assert estimated_cycles(table, good) < 0.7 * estimated_cycles(table, {})
    less = RowsTable(table.program, CHIP.with_memory(12_192))
    assert estimated_cycles(less, good) > 3 * estimated_cycles(table, good)


@pytest.mark.parametrize("change", [{"rows_in_place": False}, {"cascade": "off"}])
def test_it_is_an_option(change: dict[str, object]) -> None:
    asked = replace(request(16 << 10), **change)  # type: ignore[arg-type]
    assert not plan(asked).schedule.in_rows


def test_nothing_changes_where_there_is_room() -> None:
    asked = request(32 << 10)
    assert plan(asked).commands == plan(replace(asked, rows_in_place=False)).commands


def test_the_smallest_memory_is_a_tensor_and_a_few_rows() -> None:
    answer = smallest_memory(replace(request(1 << 20, "sync"), cascade="off"), 0)
    assert answer.layerwise.bytes > 2 * 8_000
    assert 8_000 + 2 * 320 < answer.lower_bound <= answer.cascaded.bytes < 9_728
    assert dict(answer.cascaded.in_rows) == {
        f"conv{number}.{kind}": 1 for number in (2, 3, 4, 5) for kind in ("depthwise", "pointwise")
    }
    assert not answer.cascaded.moves
