"""Every packer looks at the clock, and has a correct plan whenever its time ends."""

from dataclasses import replace

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from chipmodel.verify.fast_offsets import check_fast
from solvers.core.bounds_certified import best_bound
from solvers.core.conflicts import conflict_counts, neighbours
from solvers.core.deadline import Deadline
from solvers.core.outcome import Limits
from solvers.registry import PACKERS, solve
from solvers.search import complete
from solvers.search.model import MAX_BUFFERS
from tests.support.work import CountedClock, calls
from workloads.packing.guillotine import guillotine

PLAIN = replace(guillotine(60, 2), capacity=None)
GAPPED = Problem(
    tuple(
        Buffer(f"b{i}", 8 * i + 1, tuple(Interval(3 * k + i % 2, 3 * k + 2) for k in range(60)), 4)
        for i in range(50)
    )
)
TIMED = [row.name for row in PACKERS if not row.instant]


@pytest.mark.parametrize("problem", [PLAIN, GAPPED], ids=["plain", "gapped"])
@pytest.mark.parametrize("packer", TIMED)
def test_a_plan_is_there_at_whatever_look_the_time_is_over(
    packer: str, problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("solvers.core.deadline.FEW_PARTS", 0)
    peaks: list[int] = []
    for looks in (0, 1, 7, 40):
        clock = CountedClock(1e-3)
        limits = Limits(threads=1, deadline=Deadline(1e-3 * (looks + 0.5), clock))
        solved = solve(problem, packer, limits)
        assert clock.reads > looks or solved.status == "optimal" or packer == "cp-sat"
        assert check_fast(problem, solved.plan) == ()
        assert solved.status in ("feasible", "optimal")
        assert solved.lower_bound <= solved.peak == solved.plan.peak(problem)
        peaks.append(solved.peak)
    assert peaks[-1] <= peaks[0] <= sum(b.bytes + b.alignment - 1 for b in problem.buffers)


@pytest.mark.parametrize("packer", ["auto", "exact", "large-first", "greedy-best-fit", "context"])
def test_few_buffers_are_placed_whatever_the_time(packer: str) -> None:
    late = solve(PLAIN, packer, Limits(threads=1, deadline=Deadline(0.0, CountedClock(1.0))))
    assert late.peak < 0.5 * sum(b.bytes for b in PLAIN.buffers)


def test_no_bound_but_the_largest_live_set_is_sought_without_time() -> None:
    aligned = Problem(tuple(replace(b, alignment=1 << i % 4) for i, b in enumerate(PLAIN.buffers)))
    assert calls(lambda: best_bound(aligned, Deadline(0.0, CountedClock(1.0)))) * 2 < calls(
        lambda: best_bound(aligned)
    )


def test_a_search_that_would_begin_too_late_does_not_begin() -> None:
    """Its tables take seconds to make, and nothing interrupts that."""
    large = guillotine(MAX_BUFFERS, 2)
    sections = len({span.start for each in large.buffers for span in each.live})
    seconds = complete.SECONDS_PER_SECTION_PAIR * len(large.buffers) ** 2 * sections
    limits = Limits(deadline=Deadline(seconds, CountedClock(1e-6)))
    found = complete.minimise(large, limits)
    assert (found.plan, found.nodes, found.proof) == (None, 0, complete.LIMIT_REACHED)


def test_the_conflicts_of_many_gaps_are_counted_buffer_by_buffer() -> None:
    def counted(gaps: int) -> int:
        lives = [tuple(Interval(4 * k + i % 3, 4 * k + i % 3 + 1) for k in range(gaps)) for i in range(9)]
        problem = Problem(tuple(Buffer(f"b{i}", 8, live) for i, live in enumerate(lives)))
        assert conflict_counts(problem) == [2] * 9
        return calls(lambda: conflict_counts(problem)) - calls(lambda: neighbours(problem, 0))

    assert counted(1000) <= counted(100)
