"""The soonest cut against all cuts of short runs, and the weights that are there when a segment ends."""

from collections.abc import Iterator
from itertools import pairwise
from math import inf, isclose

import numpy as np
import pytest
from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.cascade_screening import CascadeScreening, screening_streamers
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from dma.cascade_choice import segmented_chains
from dma.cascade_choice.choose import proposed_cascades
from dma.cascade_choice.load_ahead import ChainCosts, LoadRate, after, soonest_cut
from dma.cascade_choice.segment_table import CascadeSegment, segment_table
from dma.cascade_choice.segmented_chains import Candidate
from tests.support.chips import with_memory
from workloads.load import load

RATE = LoadRate(3.0, 2.0)
"""3 cycles a transfer and 2 a byte."""
ROOM = 60
"""Bytes of memory."""


def _costs(ending: list[tuple[CascadeSegment, ...]]) -> ChainCosts:
    table = segment_table(ending)
    allowed = np.ones(len(table), np.bool_)
    return ChainCosts(table, allowed, table.cycles, table.weights, ROOM - table.bytes, table.cascaded)


def _segment(
    start: int, stop: int, heights: tuple[int, ...], size: int, cycles: int, weights: int
) -> ChainCosts:
    segment = CascadeSegment(Interval(start, stop), heights, size, cycles, weights)
    return _costs([(), (segment,)])


@pytest.mark.parametrize(
    ("heights", "ahead", "expected"),
    [
        # All 10 bytes are there: nothing is waited for, and 8 cycles load 4 bytes more.
        ((1,), 10.0, (8.0, 4.0)),
        # 6 of 10 bytes are missing: 3 + 2 x 6 cycles before the cascade starts.
        ((1,), 4.0, (15.0 + 8.0, 4.0)),
        # A single op computes while they are loaded; nothing is ahead behind it.
        ((), 4.0, (15.0, 1.5)),
        # 40 bytes were ahead, but next to 30 bytes and 10 of weights only 30 fit.
        ((1,), 60.0, (8.0, 30.0)),
    ],
)
def test_what_one_segment_takes_and_leaves(
    heights: tuple[int, ...], ahead: float, expected: tuple[float, float]
) -> None:
    chain = _segment(0, 1, heights, 30, 8, 10)
    took, there = after(chain, np.array([0]), np.array([ahead]), RATE)
    assert (float(took[0]), float(there[0])) == expected


@st.composite
def _runs(draw: st.DrawFn) -> list[tuple[CascadeSegment, ...]]:
    ending: list[tuple[CascadeSegment, ...]] = [()]
    for stop in range(1, draw(st.integers(1, 5)) + 1):
        starts = [stop - 1, *draw(st.lists(st.integers(0, stop - 1), max_size=3))]
        ending.append(
            tuple(
                CascadeSegment(
                    Interval(start, stop),
                    draw(st.sampled_from([(), (1,)])),
                    draw(st.integers(0, ROOM)),
                    draw(st.integers(1, 50)),
                    draw(st.integers(0, 30)),
                )
                for start in starts
            )
        )
    return ending


def _all_cuts(chain: ChainCosts, stop: int) -> Iterator[tuple[int, ...]]:
    if not stop:
        yield ()
        return
    for number in range(chain.table.bounds[stop], chain.table.bounds[stop + 1]):
        for before in _all_cuts(chain, chain.table.segment(number).ops.start):
            yield (*before, number)


def _cycles(chains: list[ChainCosts], cut: list[tuple[int, int]]) -> float:
    total, ahead = 0.0, np.zeros(1)
    for chain, number in cut:
        took, ahead = after(chains[chain], np.array([number]), ahead, RATE)
        total += float(took[0])
    return total


@pytest.mark.slow
@given(_runs(), _runs())
def test_no_cut_of_two_runs_is_over_sooner(
    first: list[tuple[CascadeSegment, ...]], second: list[tuple[CascadeSegment, ...]]
) -> None:
    chains = [_costs(first), _costs(second)]
    least = inf
    for one in _all_cuts(chains[0], chains[0].table.count):
        for two in _all_cuts(chains[1], chains[1].table.count):
            least = min(least, _cycles(chains, [*((0, n) for n in one), *((1, n) for n in two)]))
    assert isclose(_cycles(chains, soonest_cut(chains, RATE)), least)


@pytest.mark.slow
def test_room_for_later_weights_makes_mobilenet_v2_faster() -> None:
    """With 353 KiB next to HyperRAM the DMA engine idles while large tensors leave no room for weights."""
    chip = with_memory(load_chip("alif-e7"), 353 * 1024)
    program = reuse(load("zoo:mobilenetv2"), "all")
    proposed = proposed_cascades(program, chip, 353 * 1024)
    screening = CascadeScreening(PlanRequest(program, chip))
    streamers = screening_streamers(screening.portfolio)

    def fastest(sets: tuple[Candidate, ...]) -> float:
        found = (screening.screened(each, streamers) for each in sets)
        return min(each.cycles for each in found if each is not None)

    assert fastest(proposed.ahead[:2]) < fastest(proposed.rows[:4])


@pytest.mark.slow
def test_stripes_between_the_powers_of_two_make_it_faster_still(monkeypatch: pytest.MonkeyPatch) -> None:
    chip = with_memory(load_chip("alif-e7"), 353 * 1024)
    program = reuse(load("zoo:mobilenetv2"), "all")
    screening = CascadeScreening(PlanRequest(program, chip))
    streamers = screening_streamers(screening.portfolio)

    def forecast() -> float:
        screened = screening.screened(proposed_cascades(program, chip, 353 * 1024).ahead[0], streamers)
        assert screened is not None
        return screened.cycles

    fine = forecast()
    monkeypatch.setattr(segmented_chains, "FINE_HEIGHTS", ())
    assert fine < 0.985 * forecast()


def test_fine_heights_are_added_where_a_cut_has_cascades_and_nowhere_else() -> None:
    chip = with_memory(load_chip("alif-e7"), 353 * 1024)
    program = reuse(load("zoo:mobilenetv1_025"), "all")
    (chain,) = segmented_chains.segmented_chains(program, chip, True, 0, 353 * 1024)
    tall = [each for each in chain.table.segments if chain.geometry.op_rows[each.ops.stop - 1] > 8]
    longest = max(tall, key=lambda each: (len(each.heights), each.heights))
    excluded = next(n for n, each in enumerate(chain.table.segments) if len(each.heights) == 2)
    chain = chain.without([excluded])
    fine = segmented_chains.with_fine_heights(chain, [longest], True, 353 * 1024)
    before, made = chain.table.segments, fine.table.segments
    for stop, (first, end) in enumerate(pairwise(fine.table.bounds)):
        kept = [n for n in range(*chain.table.bounds[stop : stop + 2]) if chain.allowed[n]]
        added = made[first + len(kept) : end]
        assert made[first : first + len(kept)] == [before[n] for n in kept]
        assert bool(added) == (stop == longest.ops.stop)
        assert all(each.heights[-1] in segmented_chains.FINE_HEIGHTS for each in added)
    assert before[excluded] not in made
