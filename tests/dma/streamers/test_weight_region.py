"""Positions of weight loads against every other way to issue them, on stretches small enough to try all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from random import Random

import pytest

from dma.schedule.forecast import Forecast, Move
from dma.streamers.weight_region import Slice, Stretch, earliest, issue_positions, run_of


def random_stretch(random: Random, fixed: int) -> Stretch:
    """Up to 7 steps and 4 slices; rooms from too small for two slices to all of them."""
    first, count = random.randint(0, 2), random.randint(1, 7)
    last = first + count - 1
    readers = sorted(random.sample(range(first, last + 1), random.randint(1, min(4, count))))
    slices: list[Slice] = []
    for here, following in zip(readers, [*readers[1:], last + 1], strict=True):
        slices.append(
            Slice(random.randint(1, 9), here, random.randint(here, following - 1), random.randint(1, 12))
        )
    moves: list[Move] = []
    for _ in range(random.randint(0, fixed)):
        issue = random.randint(first, last)
        due = min(last, issue + random.choice((0, 0, 1, 1, 2)))
        moves.append(Move(random.choice(("load", "store")), issue, due, random.randint(0, 9)))
    moves.sort(key=lambda m: (m.issue, m.due, m.direction))
    room = [random.randint(3, 24) for _ in range(count)]
    return Stretch(first, [random.randint(0, 12) for _ in range(count)], room, slices, moves)


def live(stretch: Stretch, positions: Sequence[int]) -> list[int]:
    span = range(stretch.first, stretch.first + len(stretch.computes))
    pairs = list(zip(stretch.slices, positions, strict=True))
    return [sum(s.bytes for s, p in pairs if p <= step <= s.last) for step in span]


def fits(stretch: Stretch, positions: Sequence[int]) -> bool:
    """Whether no load takes room that is not there; what a step itself reads it must have."""
    for step, (taken, room) in enumerate(zip(live(stretch, positions), stretch.room, strict=True)):
        here = step + stretch.first
        own = sum(s.bytes for s in stretch.slices if s.first <= here <= s.last)
        if taken > max(room, own):
            return False
    return True


def all_ways(stretch: Stretch) -> Iterator[tuple[int, ...]]:
    span = range(stretch.first, stretch.first + len(stretch.computes))
    for positions in combinations_with_replacement(span, len(stretch.slices)):
        in_time = all(p <= s.first for s, p in zip(stretch.slices, positions, strict=True))
        if in_time and fits(stretch, positions):
            yield positions


def arrivals(stretch: Stretch, run: Forecast) -> list[tuple[int, int]]:
    """When each slice has arrived, and when its step comes to wait for it."""
    count = len(stretch.fixed)
    return list(zip(run.ends[count:], run.reached[count:], strict=True))


@pytest.mark.parametrize("jitter", [0, 5])
def test_no_step_can_start_earlier_and_no_slice_stay_shorter(jitter: int) -> None:
    """Without other transfers: of all ways, ours has the earliest starts; of all ways with these starts in
    which every slice is as early as it can be or ``jitter`` early, ours has the latest loads, and so the
    fewest bytes at every step and the smallest region."""
    prefetched = tight = 0
    for seed in range(400):
        stretch = random_stretch(Random(seed), fixed=0)
        ours = issue_positions(stretch, jitter)
        run = run_of(stretch, ours)
        assert fits(stretch, ours), seed
        ways = {way: run_of(stretch, way) for way in all_ways(stretch)}
        assert tuple(ours) in ways, seed
        soonest = arrivals(stretch, run_of(stretch, earliest(stretch, 9)))
        for way, other in ways.items():
            assert all(a <= b for a, b in zip(run.starts, other.starts, strict=True)), (seed, way)
            in_time = all(
                end <= max(first, reached - jitter)
                for (end, _), (first, reached) in zip(arrivals(stretch, other), soonest, strict=True)
            )
            if other.starts == run.starts and in_time:
                assert all(p <= q for p, q in zip(way, ours, strict=True)), (seed, way)
                pairs = zip(live(stretch, ours), live(stretch, way), strict=True)
                assert all(mine <= theirs for mine, theirs in pairs), (seed, way)
        for (end, reached), (first, _) in zip(arrivals(stretch, run), soonest, strict=True):
            assert end <= max(first, reached - jitter), seed
        prefetched += any(p < s.first for s, p in zip(stretch.slices, ours, strict=True))
        tight += earliest(stretch, 9) != [stretch.first] * len(ours)
    assert prefetched > 150
    assert tight > 150


def test_other_transfers_are_counted_and_never_make_it_slower() -> None:
    """Beside tensors and stripes a way that we do not try may be quicker, but ours is no slower than
    loading everything as early as possible, or one slice ahead."""
    later = best = 0
    for seed in range(400):
        stretch = random_stretch(Random(seed), fixed=5)
        ours = issue_positions(stretch)
        run = run_of(stretch, ours)
        assert fits(stretch, ours), seed
        for ahead in (1, 9):
            assert run.end <= run_of(stretch, earliest(stretch, ahead)).end, seed
        soonest = earliest(stretch, 9)
        assert all(p <= q for p, q in zip(soonest, ours, strict=True)), seed
        later += ours != soonest
        best += run.end == min(run_of(stretch, way).end for way in all_ways(stretch))
    assert later > 100
    assert best > 390


def test_the_earliest_positions_are_the_first_that_fit() -> None:
    for seed in range(300):
        stretch = random_stretch(Random(seed), fixed=0)
        ways = list(all_ways(stretch))
        first = [min(way[i] for way in ways) for i in range(len(stretch.slices))]
        assert earliest(stretch, 9) == first, seed


def test_by_hand() -> None:
    """Three layers of 100 cycles, 8 bytes each; loads take 30 cycles, the second waits for a store of 90."""
    slices = [Slice(8, step, step, 30) for step in range(3)]
    roomy = Stretch(0, [100, 100, 100], [99, 99, 99], slices, [])
    assert issue_positions(roomy) == [0, 0, 1]
    assert issue_positions(roomy, jitter=100) == [0, 0, 0]
    narrow = Stretch(0, [100, 100, 100], [99, 8, 99], slices, [])
    assert issue_positions(narrow) == [0, 0, 2]
    store = Stretch(0, [100, 100, 100], [99, 99, 99], slices, [Move("store", 0, 1, 90)])
    # The store begins at 130 and ends at 220; the step at 230 needs its weights, which go before it.
    assert issue_positions(store) == [0, 0, 0]
    assert run_of(store, [0, 0, 1]).starts == (30, 130, 250)
    assert run_of(store, [0, 0, 0]).starts == (30, 130, 230)
