"""A plan for less is a plan for more."""

from dataclasses import replace

from chipmodel.comparison.known_plans import on_chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from tests.support.narrowed import some
from workloads.load import load

CHIP = load_chip("alif-e7").with_memory(48 * 1024)
KNOWN = run(PlanRequest(reuse(load("zoo:ds_cnn"), "all"), CHIP))


def test_it_takes_as_long_with_more_memory_and_less_with_a_faster_psram() -> None:
    more = some(on_chip(KNOWN, CHIP.with_memory(64 * 1024)))
    assert (more.trace.cycles, more.problem.capacity) == (KNOWN.trace.cycles, 64 * 1024)
    faster = load_chip("alif-e7", ["psram.clock_mhz=150"]).with_memory(48 * 1024)
    assert some(on_chip(KNOWN, faster)).trace.cycles < KNOWN.trace.cycles


def test_it_does_not_run_where_it_has_no_room_or_on_another_npu() -> None:
    assert on_chip(KNOWN, CHIP.with_memory(KNOWN.solved.peak // 2)) is None
    assert on_chip(KNOWN, replace(CHIP, npu=load_chip("luna-arcs").npu)) is None
