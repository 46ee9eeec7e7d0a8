"""Cores with private memories: each planned alone, put together, and compared with exact."""

from dataclasses import replace
from random import Random

import pytest

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, Problem
from chipmodel.verify.certificate import verify_certificate
from solvers.core.dispatch import by_memory
from solvers.core.outcome import Limits
from solvers.registry import packers, solve
from tests.solvers.oracle import smallest_peak
from tests.support.plain_check import check

PLAIN = [name for name in packers() if name not in ("auto", "exact", "search", "cp-sat")]


def buffer(name: str, size: int, start: int, stop: int, *memories: str, alignment: int = 1) -> Buffer:
    return Buffer(name, size, (Interval(start, stop),), alignment, None, memories)


def cores(seed: int, most: int = 7) -> Problem:
    """Two or three cores with memories of 4 to 9 bytes, some with a gap between; now and then a capacity."""
    random = Random(seed)
    memories: list[Memory] = []
    start = random.choice((0, 0, 3))
    for name in "xyz"[: random.randint(2, 3)]:
        memories.append(Memory(name, start, start + random.randint(4, 9)))
        start = memories[-1].stop + random.choice((0, 0, 2))
    random.shuffle(memories)
    buffers: list[Buffer] = []
    for index in range(random.randint(0, most)):
        first, size = random.randint(0, 5), random.choice((0, 1, 2, 3, 4, 5))
        live = (Interval(first, first + random.randint(0, 4)),)
        home = random.choice(memories).name
        buffers.append(Buffer(str(index), size, live, random.choice((1, 1, 2, 4)), None, (home,)))
    return Problem(tuple(buffers), random.choice((None, None, start - 1)), tuple(memories))


# Core a: 4 + 4 bytes alive together in bytes 0 to 10; core b: three of 2 in bytes 10 to 16, two at a time.
TWO = Problem(
    (
        buffer("p", 4, 0, 2, "a"),
        buffer("u", 2, 0, 2, "b"),
        buffer("q", 4, 1, 3, "a"),
        buffer("v", 2, 1, 3, "b"),
        buffer("w", 2, 2, 4, "b"),
    ),
    None,
    (Memory("a", 0, 10), Memory("b", 10, 16)),
)


def test_two_cores_by_hand() -> None:
    solved = solve(TWO, "sequential")
    assert dict(solved.plan.offsets) == {"p": 0, "u": 10, "q": 4, "v": 12, "w": 10}
    assert (solved.peak, solved.lower_bound, solved.status) == (14, 14, "optimal")
    assert solved.certificate is not None
    assert verify_certificate(TWO, solved.certificate) == ()


def test_one_memory_need_not_be_named() -> None:
    problem = Problem((Buffer("x", 3, (Interval(0, 1),)),), None, (Memory("only", 5, 9),))
    assert dict(solve(problem, "linear").plan.offsets) == {"x": 5}


@pytest.mark.parametrize("packer", PLAIN)
def test_other_constraints_are_refused_or_kept(packer: str) -> None:
    either = replace(TWO.buffers[0], memories=("a", "b"))
    for problem in (
        replace(TWO, buffers=(either, *TWO.buffers[1:])),
        replace(TWO, buffers=(replace(either, memories=()), *TWO.buffers[1:])),
        replace(TWO, separated=(("p", "u"),)),
        replace(TWO, buffers=(replace(TWO.buffers[0], pinned=0), *TWO.buffers[1:])),
    ):
        assert by_memory(problem) is None
        if packer in ("sequential", "large-first", "short-first"):
            assert check(problem, solve(problem, packer).plan) == ()
        else:
            with pytest.raises(BadInput, match="keeps no constraints"):
                solve(problem, packer)


def test_a_plan_that_overflows_its_memory_is_none() -> None:
    """naive needs 6 bytes of b's 6; with one more buffer there it has no plan, though there is one."""
    more = replace(TWO, buffers=(*TWO.buffers, buffer("x", 2, 5, 6, "b")))
    solved = solve(more, "naive")
    assert (dict(solved.plan.offsets), solved.status, solved.peak, solved.lower_bound) == (
        {},
        "unknown",
        0,
        14,
    )
    assert solved.proof == "the plan for memory 'b' ends 2 B beyond it"
    assert (solve(more, "linear").status, solve(more, "linear").peak) == ("feasible", 16)
    full = replace(TWO, buffers=(*TWO.buffers, buffer("x", 3, 1, 2, "a")))
    for packer in ("naive", "pool", "hill-climb", "exact"):
        assert solve(full, packer).status == "infeasible"


@pytest.mark.slow
@pytest.mark.parametrize("packer", PLAIN)
def test_against_brute_force(packer: str) -> None:
    """Every plan is correct, no bound is above the smallest peak, and no status claims what is not so."""
    planned = 0
    for seed in range(150):
        problem = cores(seed)
        smallest = smallest_peak(problem)
        solved = solve(problem, packer, Limits(nodes=20))
        planned += bool(solved.plan.offsets)
        assert smallest is None or solved.lower_bound <= smallest, seed
        assert solved.status != "infeasible" or smallest is None, seed
        if solved.status in ("optimal", "feasible"):
            assert check(problem, solved.plan) == (), seed
            assert smallest is not None
            assert solved.peak >= smallest, seed
            assert solved.status == "feasible" or solved.peak == smallest, seed
    assert planned > 50
