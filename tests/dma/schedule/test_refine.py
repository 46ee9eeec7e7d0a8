"""Refined tilings: what is tried, what is kept, and the resulting plans."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import Schedule, steps
from chipmodel.rewrites.in_place import reuse
from dma.residency.tiling import NONE_KEPT, Tiling, slice_bytes, stripe_bytes
from dma.schedule.build import BuildCache, StreamRequest, build_schedule, memory_budget
from dma.schedule.refine import alternatives, refined
from dma.schedule.streamer import MemoryBudget, Streamer, StreamerPortfolio
from dma.streamers.exact import PORTFOLIO
from dma.streamers.race import StreamerRace
from solvers.tiers.settings import STANDARD
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.support.chips import DATASHEET_RATES
from tests.support.random_programs import TreeShape, random_program
from workloads.zoo import build

TILED = [each for each in PORTFOLIO.candidates if isinstance(each, Streamer) and each.recut]


def race(request: StreamRequest, streamer: Streamer, work: int) -> StreamerRace:
    assert streamer.recut
    recut = replace(streamer.recut, steps=work)
    return StreamerRace(request, StreamerPortfolio("one", (replace(streamer, recut=recut),)))


def small(name: str, size: int) -> Chip:
    chip = load_chip(name, DATASHEET_RATES if name == "stm32n6" else ())
    return replace(chip, shared_memory=replace(chip.shared_memory, bytes=size))


def planned(program: Program, chip: Chip) -> tuple[Schedule, MemoryBudget]:
    request, cache = (StreamRequest(program, chip, chip.shared_memory.bytes, tiers=STANDARD), BuildCache())
    floor = request.budget // TILED[0].weight_floor_divisors[0]
    return build_schedule(request, TILED[0], cache), memory_budget(request, TILED[0], floor, cache)


@cache
def planned_ds_cnn() -> tuple[Schedule, MemoryBudget]:
    return planned(*ds_cnn())


def ds_cnn() -> tuple[Program, Chip]:
    """Tensors of 16,000 B, and 520 B left for weights."""
    return reuse(build("ds_cnn"), "all"), small("stm32n6", 16_520)


@dataclass
class Judge:
    """A forecast that falls by the ``worth`` of each op with a given tiling, and records its calls."""

    worth: Mapping[str, float] = field(default_factory=dict[str, float])
    asked: list[dict[str, Tiling]] = field(default_factory=list[dict[str, Tiling]])

    def __call__(self, cuts: Mapping[str, Tiling]) -> float | None:
        self.asked.append(dict(cuts))
        return 100.0 - sum(self.worth.get(name, 0.0) for name in cuts)


def test_attempts_end_with_the_work_and_with_the_stop_criterion() -> None:
    schedule, memory = planned_ds_cnn()
    count = len(list(steps(schedule.body)))
    for tries in (0, 3):
        judge = Judge()
        refined(memory, schedule, tries * count + count - 1, judge, lambda: False)
        assert len(judge.asked) == 1 + tries
    judge = Judge()
    refined(memory, schedule, 10**6, judge, lambda: len(judge.asked) > 4)
    assert len(judge.asked) == 5


def test_nothing_is_tried_without_a_schedule() -> None:
    schedule, memory = planned_ds_cnn()
    assert refined(memory, schedule, 10**6, lambda _: None, lambda: False) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("network", "size"), [("ds_cnn", 16_520), ("ds_cnn", 8_256), ("resnet8", 25_368)])
def test_alternatives_fit_the_memory_that_the_op_has(network: str, size: int) -> None:
    program, chip = reuse(build(network), "all"), small("gap9-psram", size)
    _, memory = planned(program, chip)
    kinds = set[bool]()
    for op, through, claim in zip(ops(program.body), memory.residency.through, memory.claims, strict=True):
        found = list(alternatives(memory, op, 2))
        kinds |= {tiling.striped for tiling in found}
        assert len(found) == len(set(found))
        for tiling in found:
            weights = slice_bytes(program, op, tiling.channels)
            if tiling.striped:
                kept = memory.residency.kept.get(op.name, NONE_KEPT)
                assert stripe_bytes(program, op, tiling, kept) + weights <= memory.budget - through
            else:
                assert weights <= memory.budget - claim
                assert tiling.channels != 2
    assert kinds == {False, True}


@pytest.mark.slow
def test_the_last_slices_that_fit_cost_fewer_set_ups() -> None:
    """With 520 B for weights slices of 3 of 64 channels (204 B) fit twice; a rule of whole groups of the
    array's two lanes has slices of 2, half as many set-ups again."""
    program, chip = ds_cnn()
    streamer = next(each for each in TILED if each.weight_floor_divisors == (64,))
    request = StreamRequest(program, chip, 16_520, tiers=STANDARD)
    slow, quick = (race(request, streamer, work) for work in (0, 8_000))
    assert quick.least < slow.least * 0.9


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 20))
def test_never_slower_and_always_a_plan(seed: int, kilobytes: int) -> None:
    program = random_program(seed, TreeShape(ops=5, depth=0, side=8, channels=12))
    chip = replace(PLAIN, shared_memory=replace(PLAIN.shared_memory, bytes=kilobytes * 256))
    found: list[float] = []
    for work in (0, 2_000):
        try:
            found.append(
                race(
                    StreamRequest(program, chip, chip.shared_memory.bytes, tiers=STANDARD), TILED[0], work
                ).least
            )
        except DoesNotFit:
            return
    assert found[1] <= found[0]
