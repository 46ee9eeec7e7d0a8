"""The exact plan of a segment against all plans, and its monotonicity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dma.schedule.forecast import ChainTransfer, forecast
from solvers.core.outcome import Limits
from solvers.loads.bound import tail_bounds
from solvers.loads.exact import StreamOutcome, solve_stream
from solvers.loads.problem import StreamMove, StreamProblem, StreamSlice, run
from tests.solvers.loads.oracle import best_of_all, random_stream
from tests.support.work import counted_clock

SEEDS = st.integers(0, 10**6)


def hold(problem: StreamProblem, outcome: StreamOutcome) -> None:
    """What an outcome says of its own plan is so."""
    assert problem.fits(outcome.positions)
    assert run(problem, outcome.positions).end == outcome.cycles
    assert problem.peak(outcome.positions) == outcome.peak
    assert outcome.lower_bound <= outcome.cycles
    assert (outcome.status == "optimal") == (outcome.lower_bound == outcome.cycles)


def test_agrees_with_all_plans_of_small_stretches() -> None:
    """``python -m tests.fuzz exact-streamer`` tries more."""
    alone = 0
    for seed in range(1500):
        problem = random_stream(seed)
        outcome = solve_stream(problem)
        hold(problem, outcome)
        assert (outcome.cycles, outcome.peak) == best_of_all(problem), seed
        assert outcome.status == "optimal", seed
        assert outcome.least_peak, seed
        alone += not problem.fixed and len(problem.slices) > 3
    assert alone > 120


def test_states_that_differ_in_arrivals_alone_are_both_kept() -> None:
    """Seven loads in which two orders leave engine and sequencer free at the same time."""
    problem = random_stream(8806, 7, 7)
    outcome = solve_stream(problem)
    assert (outcome.cycles, outcome.peak) == best_of_all(problem)


def test_bound_holds_for_every_plan_at_any_limit() -> None:
    for seed in range(3000, 3150):
        problem = random_stream(seed)
        best, _ = best_of_all(problem)
        for nodes in (0, 3, 20):
            outcome = solve_stream(problem, Limits(nodes=nodes))
            hold(problem, outcome)
            assert outcome.lower_bound <= best <= outcome.cycles, (seed, nodes)


def test_tails_hold_from_every_step() -> None:
    for seed in range(150):
        problem = random_stream(seed, 4, 4)
        least = tail_bounds(problem, problem.spare)
        outcome = solve_stream(problem)
        ran = run(problem, outcome.positions)
        for start, tail in zip(ran.starts, least, strict=False):
            assert start + tail <= ran.end, seed


def test_tails_by_hand() -> None:
    """10 bytes are spare at step 1. Of 20 cycles for 10 bytes and 9 for 10, both read by step 2, it holds
    the first at best: 9 remain after its start, 29 after that of step 0, before which nothing can be
    loaded. At step 1 of 4 bytes it holds 4 of them: 8 cycles, 21 remain."""
    slices = (StreamSlice(10, 2, 2, 20), StreamSlice(10, 2, 2, 9))
    assert tail_bounds(StreamProblem((1, 2, 3), (30, 10, 30), slices), (30, 10, 10)) == [32, 12, 3, 0]
    assert tail_bounds(StreamProblem((1, 2, 3), (30, 4, 30), slices), (30, 4, 10)) == [32, 24, 3, 0]


@settings(max_examples=200, deadline=None)
@given(SEEDS, st.data())
def test_runs_as_the_forecast(seed: int, data: st.DataObject) -> None:
    problem = random_stream(seed)
    positions = [data.draw(st.integers(0, s.first)) for s in problem.slices]
    loads = zip(problem.slices, positions, strict=True)
    moves = [ChainTransfer(*m) for m in problem.fixed] + [
        ChainTransfer("load", p, s.first, s.cycles) for s, p in loads
    ]
    expected = forecast(0, problem.computes, sorted(moves, key=lambda m: (m.issue, m.due, m.direction)))
    assert run(problem, positions) == (expected.starts, expected.end)


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.data())
def test_never_worse_than_the_hint(seed: int, data: st.DataObject) -> None:
    problem = random_stream(seed)
    hint = [data.draw(st.integers(0, s.first)) for s in problem.slices]
    if not problem.fits(hint):
        with pytest.raises(ValueError, match="hint"):
            solve_stream(problem, hint=hint)
        return
    outcome = solve_stream(problem, Limits(nodes=data.draw(st.integers(0, 30))), hint=hint)
    hold(problem, outcome)
    assert (outcome.cycles, outcome.peak) <= (run(problem, hint).end, problem.peak(hint))


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.data())
def test_more_memory_is_never_slower(seed: int, data: st.DataObject) -> None:
    problem = random_stream(seed)
    roomier = replace(problem, space=tuple(free + data.draw(st.integers(0, 12)) for free in problem.space))
    assert solve_stream(roomier).cycles <= solve_stream(problem).cycles


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.data())
def test_faster_transfers_are_never_slower(seed: int, data: st.DataObject) -> None:
    """More bandwidth shortens every transfer by a share, a faster Psram those that it bounds: any of them."""
    problem = random_stream(seed)
    shares = st.integers(0, 8)
    faster = replace(
        problem,
        slices=tuple(s._replace(cycles=s.cycles * data.draw(shares) // 8) for s in problem.slices),
        fixed=tuple(m._replace(cycles=m.cycles * data.draw(shares) // 8) for m in problem.fixed),
    )
    assert solve_stream(faster).cycles <= solve_stream(problem).cycles


def chain(seed: int, count: int) -> StreamProblem:
    random = Random(seed)
    slices = [StreamSlice(b := random.randint(5, 40), step, step, 10 + b) for step in range(count)]
    computes = tuple(random.randint(0, 70) for _ in range(count))
    return StreamProblem(computes, tuple(random.randint(40, 120) for _ in range(count)), tuple(slices))


def test_nodes_alone_decide() -> None:
    problem = chain(1, 60)
    one = solve_stream(problem, Limits(nodes=3000))
    other = solve_stream(problem, Limits(nodes=3000, seed=7, threads=1))
    assert one == other
    hold(problem, one)


def test_more_nodes_are_never_worse_and_close_the_gap() -> None:
    problem = chain(3, 14)
    found = [solve_stream(problem, Limits(nodes=nodes)) for nodes in (0, 100, 1000, 10**6)]
    assert all(a.cycles >= b.cycles for a, b in pairwise(found))
    assert all(a.lower_bound <= b.lower_bound for a, b in pairwise(found))
    assert found[-1].status == "optimal"
    assert found[0].cycles > found[-1].cycles


def test_stops_at_the_gap_that_is_asked_for() -> None:
    problem = chain(3, 14)
    first = solve_stream(problem, Limits(nodes=0))
    enough = solve_stream(problem, gap=first.gap)
    assert enough.status == "feasible"
    assert enough.nodes == 0
    assert solve_stream(problem, gap=first.gap * 0.9).cycles < enough.cycles


def test_a_second_is_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that is a second later at each reading."""
    clock = counted_clock(monkeypatch, 1.0, "solvers.loads.exact", "solvers.core.outcome")
    few, more = (solve_stream(chain(5, 400), Limits(seconds=seconds)) for seconds in (5.0, 50.0))
    assert clock.reads <= 5 + 50 + 4
    assert few.nodes < more.nodes < 100_000


def test_a_small_load_overtakes_where_the_large_one_has_no_room_yet() -> None:
    """By hand: step 1 leaves no room for the load of step 2 (8 bytes), but for that of step 3 (2 bytes),
    which needs 10 cycles. In the order of need both wait for step 2: 5 + 5 + 10 + 10 + 5 = 35 at best."""
    slices = (StreamSlice(8, 2, 2, 10), StreamSlice(2, 3, 3, 10))
    problem = StreamProblem((5, 5, 5, 5), (2, 2, 20, 20), slices)
    outcome = solve_stream(problem)
    assert outcome.positions[1] < outcome.positions[0] == 2
    assert (outcome.cycles, outcome.peak) == best_of_all(problem) == (30, 10)


def test_without_anything_to_load() -> None:
    assert solve_stream(StreamProblem((3, 4), (0, 0), ())).cycles == 7
    assert solve_stream(StreamProblem((), (), ())).cycles == 0


def broken(
    slices: Sequence[StreamSlice] = (),
    fixed: Sequence[StreamMove] = (),
    computes: Sequence[int] = (1, 1),
    space: Sequence[int] = (9, 9),
) -> None:
    with pytest.raises(ValueError, match=r"is no|every step|the order"):
        StreamProblem(tuple(computes), tuple(space), tuple(slices), tuple(fixed))


def test_numbers_out_of_range_are_refused() -> None:
    broken(space=(1,))
    broken(computes=(1, -1))
    broken([StreamSlice(0, 0, 0, 1)])
    broken([StreamSlice(1, 0, 2, 1)])
    broken([StreamSlice(1, 1, 0, 1)])
    broken([StreamSlice(1, 0, 0, -1)])
    broken([StreamSlice(1, -1, 0, 1)])
    broken([StreamSlice(1, 1, 1, 1), StreamSlice(1, 0, 0, 1)])
    broken(fixed=[StreamMove("load", 1, 0, 1)])
    broken(fixed=[StreamMove("store", 2, 2, 1)])
