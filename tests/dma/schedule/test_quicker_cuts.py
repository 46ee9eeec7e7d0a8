"""Quicker cuts of the fastest plan: never slower than without them, and only where memory has room."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip, Dma, Route
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.model.schedule import steps
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.commands import verify
from dma.streamers import race
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.random_programs import TreeShape, random_program
from workloads.load import load

SLOW = replace(
    LUNA_LIKE,
    dma=Dma(Route(20, 32, Fraction(9)), Route(20, 32, Fraction(4))),
    npu=replace(LUNA_LIKE.npu, macs_per_cycle={8: Fraction(8), 16: Fraction(8), 32: Fraction(8)}),
)
"""A chip that computes longer than it loads."""


def planned(program: Program, chip: Chip) -> Planned | None:
    try:
        found = plan(PlanRequest(program, chip, cascade="off"), {})
    except DoesNotFit:
        return None
    return found if found.trace else None


def no_cuts(*_: object) -> None:
    """Stand in for ``quicker_cuts``."""


def no_stripes(*_: object) -> None:
    """Stand in for ``cut_by_time`` where nothing fits."""


def cycles(found: Planned | None) -> int:
    assert found is not None
    assert found.trace is not None
    return found.trace.cycles


@pytest.mark.slow
def test_no_plan_is_slower_than_without(monkeypatch: pytest.MonkeyPatch) -> None:
    faster = 0
    for seed in range(40):
        program = reuse(random_program(seed, TreeShape(ops=3, depth=seed % 2, side=16)), "all")
        chip = with_memory(SLOW, Random(seed).choice((2, 4, 8, 64)) * 1024)
        with monkeypatch.context() as without:
            without.setattr(race, "quicker_cuts", no_cuts)
            without.setattr(race, "cut_by_time", no_stripes)
            before = planned(program, chip)
        if before is None:
            continue
        after = planned(program, chip)
        assert cycles(after) <= cycles(before), seed
        assert after is not None
        assert not verify(program, after.commands, chip), seed
        faster += cycles(after) < cycles(before)
    assert faster > 5


@pytest.mark.slow
def test_stripes_for_want_of_memory_are_cut_by_time() -> None:
    """Those that load the fewest bytes are many, and each loses cycles of the NPU: with them the plan took
    2,083,246 cycles."""
    program, chip = reuse(load("zoo:resnet8"), "all"), with_memory(load_chip("stm32n6"), 12_680)
    assert cycles(planned(program, chip)) < 0.7 * 2_083_246


def test_stripes_that_gain_little_are_cut_too() -> None:
    """Twelve ops of SqueezeNet are computed faster in stripes, ten of them by 0.2 % of the run or less, after
    which it takes 6,527,014 cycles."""
    program, chip = reuse(load("zoo:squeezenet"), "all"), load_chip("alif-e7")
    found = planned(program, chip)
    assert cycles(found) <= 0.996 * 6_527_014
    assert found is not None
    whole = {op.name: op.work.rows for op in program.ops()}
    striped = {step.op for step in steps(found.schedule.body) if len(step.rows) < whole[step.op]}
    assert {"fire8.expand1", "fire9.squeeze", "fire12.expand1"} <= striped
