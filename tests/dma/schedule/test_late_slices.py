"""The last op that waits for its weights in slices: never slower than whole."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from chipmodel.hardware.chip import Chip, Dma, Route
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.model.schedule import steps
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.commands import verify
from dma.schedule.forecast import TransferTimes
from dma.schedule.late_slices import late_slices
from dma.streamers import race
from tests.support.chips import LUNA_LIKE
from tests.support.random_programs import TreeShape, random_program
from workloads.load import load

ALIF = load_chip("alif-e7")


def planned(program: Program, chip: Chip = ALIF) -> Planned:
    return plan(PlanRequest(program, chip, cascade="off"), {})


def cycles(found: Planned) -> int:
    assert found.trace is not None
    return found.trace.cycles


def whole(*_: object) -> None:
    """Stand in for ``late_slices``."""


@pytest.mark.parametrize(
    ("network", "op", "share"),
    [("micronet_kws", "sep6.pointwise", 0.94), ("ds_cnn", "conv5.pointwise", 0.99)],
)
def test_the_last_op_that_waits_for_weights_begins_with_a_slice_of_them(
    network: str, op: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = reuse(load(f"zoo:{network}"), "all")
    found = planned(program)
    assert not verify(program, found.commands, ALIF)
    monkeypatch.setattr(race, "late_slices", whole)
    before = planned(program)
    assert before.streamer
    for least in (0, 1e9):  # of so long a schedule it saves too little
        cuts = late_slices(program, TransferTimes(ALIF), before.schedule, least, before.streamer.cuts)
        assert (cuts is None) == (least > 0)
    assert cycles(found) < share * cycles(before)

    def sliced(of: Planned) -> set[str]:
        every = {op.name: op.work.channels for op in program.ops()}
        return {step.op for step in steps(of.schedule.body) if len(step.channels) < every[step.op]}

    assert op in sliced(found)
    assert op not in sliced(before)


@pytest.mark.slow
def test_no_plan_is_slower_than_without(monkeypatch: pytest.MonkeyPatch) -> None:
    chip = replace(LUNA_LIKE, dma=Dma(Route(20, 32, Fraction(12)), Route(20, 32, Fraction(4))))
    faster = 0
    for seed in range(24):
        program = reuse(random_program(seed, TreeShape(ops=8, depth=seed % 5 == 0, side=8)), "all")
        after = planned(program, chip)
        with monkeypatch.context() as without:
            without.setattr(race, "late_slices", whole)
            before = planned(program, chip)
        assert cycles(after) <= cycles(before), seed
        assert not verify(program, after.commands, chip), seed
        faster += cycles(after) < cycles(before)
    assert faster > 3
