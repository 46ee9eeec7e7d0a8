"""Positions of weight loads against all other positions, on straight chains small enough to try all."""

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from random import Random

import pytest

from dma.schedule.forecast import ChainForecast, ChainTransfer
from dma.streamers.weight_region import StepChain, WeightSlice, earliest, forecast_of, issue_positions


def random_run(random: Random, fixed: int) -> StepChain:
    """Up to 7 steps and 4 slices; memory from too little for two slices to enough for all."""
    first, count = random.randint(0, 2), random.randint(1, 7)
    last = first + count - 1
    readers = sorted(random.sample(range(first, last + 1), random.randint(1, min(4, count))))
    slices: list[WeightSlice] = []
    for here, following in zip(readers, [*readers[1:], last + 1], strict=True):
        slices.append(
            WeightSlice(
                random.randint(1, 9), here, random.randint(here, following - 1), random.randint(1, 12)
            )
        )
    moves: list[ChainTransfer] = []
    for _ in range(random.randint(0, fixed)):
        issue = random.randint(first, last)
        due = min(last, issue + random.choice((0, 0, 1, 1, 2)))
        moves.append(ChainTransfer(random.choice(("load", "store")), issue, due, random.randint(0, 9)))
    moves.sort(key=lambda m: (m.issue, m.due, m.direction))
    room = tuple(random.randint(3, 24) for _ in range(count))
    computes = tuple(random.randint(0, 12) for _ in range(count))
    return StepChain(first, computes, room, tuple(slices), tuple(moves))


def live(chain: StepChain, positions: Sequence[int]) -> list[int]:
    span = range(chain.first, chain.first + len(chain.computes))
    pairs = list(zip(chain.slices, positions, strict=True))
    return [sum(s.bytes for s, p in pairs if p <= step <= s.last) for step in span]


def fits(chain: StepChain, positions: Sequence[int]) -> bool:
    """Whether every load has room; what a step itself reads always counts as having it."""
    for step, (taken, room) in enumerate(zip(live(chain, positions), chain.room, strict=True)):
        here = step + chain.first
        own = sum(s.bytes for s in chain.slices if s.first <= here <= s.last)
        if taken > max(room, own):
            return False
    return True


def all_positions(chain: StepChain) -> Iterator[tuple[int, ...]]:
    span = range(chain.first, chain.first + len(chain.computes))
    for positions in combinations_with_replacement(span, len(chain.slices)):
        in_time = all(p <= s.first for s, p in zip(chain.slices, positions, strict=True))
        if in_time and fits(chain, positions):
            yield positions


def arrivals(chain: StepChain, timing: ChainForecast) -> list[tuple[int, int]]:
    """When each slice has arrived, and when its step begins to wait for it."""
    count = len(chain.fixed)
    return list(zip(timing.ends[count:], timing.reached[count:], strict=True))


@pytest.mark.parametrize("jitter", [0, 5])
def test_no_step_can_start_earlier_and_no_slice_stay_shorter(jitter: int) -> None:
    """Without other transfers: of all choices, ours has the earliest starts; of all choices with these starts
    in which every slice is as early as it can be or ``jitter`` early, ours has the latest loads, and so the
    fewest bytes at every step and the smallest region."""
    prefetched = tight = 0
    for seed in range(400):
        chain = random_run(Random(seed), fixed=0)
        ours = issue_positions(chain, jitter)
        timing = forecast_of(chain, ours)
        assert fits(chain, ours), seed
        choices = {positions: forecast_of(chain, positions) for positions in all_positions(chain)}
        assert tuple(ours) in choices, seed
        soonest = arrivals(chain, forecast_of(chain, earliest(chain)))
        for positions, other in choices.items():
            assert all(a <= b for a, b in zip(timing.starts, other.starts, strict=True)), (seed, positions)
            in_time = all(
                end <= max(first, reached - jitter)
                for (end, _), (first, reached) in zip(arrivals(chain, other), soonest, strict=True)
            )
            if other.starts == timing.starts and in_time:
                assert all(p <= q for p, q in zip(positions, ours, strict=True)), (seed, positions)
                pairs = zip(live(chain, ours), live(chain, positions), strict=True)
                assert all(mine <= theirs for mine, theirs in pairs), (seed, positions)
        for (end, reached), (first, _) in zip(arrivals(chain, timing), soonest, strict=True):
            assert end <= max(first, reached - jitter), seed
        prefetched += any(p < s.first for s, p in zip(chain.slices, ours, strict=True))
        tight += earliest(chain) != [chain.first] * len(ours)
    assert prefetched > 150
    assert tight > 150


def test_the_earliest_positions_are_the_first_that_fit() -> None:
    for seed in range(300):
        chain = random_run(Random(seed), fixed=0)
        choices = list(all_positions(chain))
        first = [min(positions[i] for positions in choices) for i in range(len(chain.slices))]
        assert earliest(chain) == first, seed
