"""Quicker cuts of the fastest plan: never slower than without them, and only where memory has room."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip, Dma, Route
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Op, Program
from chipmodel.pipeline.cascade_search import CascadeSearch
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.commands import verify
from dma.residency.tiling import Tiling
from dma.schedule.build import BuildCache, StreamRequest, memory_budget
from dma.schedule.quicker_cuts import with_cuts
from dma.schedule.streamer import GivenCuts, Streamer, WeightSlices
from dma.streamers import race, sync
from tests.dma.schedule.test_early_start import pooled
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


def no_bytes(_: Op) -> int:
    return 0


def cycles(found: Planned | None) -> int:
    assert found is not None
    assert found.trace is not None
    return found.trace.cycles


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


def test_ops_that_gain_are_cut_in_one_schedule() -> None:
    """The first convolution begins early; the last two large ops are faster in two stripes."""
    program = reuse(load("zoo:squeezenet"), "all")
    found = planned(program, load_chip("alif-e7"))
    assert found is not None
    assert found.streamer is not None
    assert found.streamer.cuts is not None
    assert found.streamer.cuts.passing == ("input",)
    assert list(found.streamer.cuts.tilings) == ["maxpool2", "maxpool3", "conv10", "conv1"]
    assert found.schedule.striped == ()


def test_stripes_for_want_of_memory_are_cut_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that load the fewest bytes are many, and each loses cycles of the NPU."""
    program, chip = reuse(load("zoo:resnet8"), "all"), with_memory(load_chip("stm32n6"), 12_680)
    after = cycles(planned(program, chip))
    monkeypatch.setattr(race, "cut_by_time", no_stripes)
    monkeypatch.setattr(race, "quicker_cuts", no_cuts)
    assert after < 0.9 * cycles(planned(program, chip))


def test_plans_with_cascades_are_made_without_the_cuts_of_the_plan_before() -> None:
    program, chip = reuse(load("zoo:squeezenet"), "all"), load_chip("alif-e7")
    plain = planned(program, chip)
    assert plain is not None
    few = CascadeSearch(PlanRequest(program, chip), {}, None).few_streamers(plain)
    assert few is not None
    assert [each.cuts for each in few.candidates if isinstance(each, Streamer)] == [None] * len(
        few.candidates
    )


def test_ops_whose_weights_come_in_slices_and_ops_in_stripes_stay_as_they_are() -> None:
    program, cuts = pooled(100), GivenCuts({"p": Tiling(8, 4, striped=True, depth=2)}, {"p": 4}, ("x",))
    memory = memory_budget(StreamRequest(program, LUNA_LIKE, 16 * 1024), sync.STREAMER, 0, BuildCache())
    whole, sliced = (WeightSlices({"p": channels}, no_bytes) for channels in (4, 2))
    assert with_cuts(memory, cuts, whole).residency.striped == {"p"}
    assert with_cuts(memory, cuts, sliced) == memory
    scarce = memory_budget(StreamRequest(program, LUNA_LIKE, 2048), sync.STREAMER, 0, BuildCache())
    assert scarce.residency.striped == {"p"}
    assert with_cuts(scarce, cuts, whole) == scarce
