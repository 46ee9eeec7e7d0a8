"""Buffers that grow while they are filled, as groups of colocated ones: every packer, against all plans."""

from random import Random

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Problem
from chipmodel.verify.certificate import verify_certificate
from solvers.core.bounds import contention
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.outcome import Limits
from solvers.registry import packers, solve
from tests.solvers.oracle import smallest_peak
from tests.support.buffers import buffer
from tests.support.plain_check import check

EXACT = ("exact", "search", "cp-sat")
GROWING = Problem(
    (buffer("w, first", 2, 0, 4), buffer("w", 6, 2, 4), buffer("t", 4, 0, 2)), colocated=(("w", "w, first"),)
)
"""Weights of which two bytes are loaded while ``t`` is alive, and four afterwards."""


def random_problem(seed: int) -> Problem:
    """Up to three growing buffers of up to three pieces, and others."""
    random = Random(seed)
    buffers: list[Buffer] = []
    groups: list[tuple[str, ...]] = []
    for number in range(random.randint(1, 3)):
        end, alignment = random.randint(3, 8), random.choice((1, 1, 2))
        size, start = 0, random.randint(0, end - 1)
        names: list[str] = []
        for piece in range(random.randint(1, 3)):
            size += random.randint(1, 3)
            start = random.randint(start, end - 1)
            names.append(f"{number}.{piece}")
            buffers.append(Buffer(names[-1], size, (Interval(start, end),), alignment))
        groups += [tuple(names)] if len(names) > 1 else []
    for number in range(random.randint(1, 3)):
        start = random.randint(0, 7)
        live = Interval(start, start + random.randint(1, 4))
        buffers.append(Buffer(str(number), random.randint(0, 5), (live,), random.choice((1, 1, 2))))
    random.shuffle(buffers)
    return Problem(tuple(buffers), random.choice((None, None, 8, 14)), colocated=tuple(groups))


def test_what_ends_before_the_rest_is_loaded_lies_on_the_first_piece() -> None:
    assert first_fit(GROWING, ORDERS["large-first"]).offsets == {"w, first": 0, "w": 0, "t": 2}
    assert contention(GROWING) == 6


def test_a_first_piece_lies_below_what_only_the_rest_would_reach() -> None:
    """``t`` lies on ``u`` when the first two bytes of ``w`` are loaded, and has gone when the rest is."""
    items = buffer("u", 2, 0, 1), buffer("t", 3, 0, 3), buffer("w, first", 2, 1, 6), buffer("w", 5, 3, 6)
    problem = Problem(items, colocated=(("w", "w, first"),))
    assert first_fit(problem, ORDERS["sequential"]).offsets == {"u": 0, "t": 2, "w, first": 0, "w": 0}


def test_growing_buffers_lie_alike_in_a_list_and_in_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    problems = [GROWING, *(random_problem(seed) for seed in range(60))]
    plans = [first_fit(problem, order) for problem in problems for order in ORDERS.values()]
    monkeypatch.setattr("solvers.core.decode.FEW", 0)
    assert plans == [first_fit(problem, order) for problem in problems for order in ORDERS.values()]


@pytest.mark.slow
@pytest.mark.parametrize("packer", [name for name in packers() if name not in EXACT])
def test_every_packer_keeps_growing_buffers_in_place(packer: str) -> None:
    limits = Limits(nodes=500) if packers()[packer].searches else None
    for seed in range(60):
        problem = random_problem(seed)
        solved = solve(problem, packer, limits)
        free = Problem(problem.buffers, colocated=problem.colocated)
        assert not check(free, solved.plan), (packer, seed)
        assert solved.peak >= solved.lower_bound, (packer, seed)
        if solved.status == "optimal" and problem.capacity is None:
            assert solved.peak == smallest_peak(free), (packer, seed)


@pytest.mark.slow
@pytest.mark.parametrize("packer", EXACT)
def test_exact_packers_find_the_smallest_peak(packer: str) -> None:
    below_boxes = 0
    for seed in range(60):
        problem = random_problem(seed)
        free = Problem(problem.buffers, colocated=problem.colocated)
        solved = solve(free, packer, Limits(nodes=100_000, threads=1))
        assert solved.status == "optimal", seed
        assert solved.peak == smallest_peak(free), seed
        assert solved.certificate is None or not verify_certificate(free, solved.certificate), seed
        below_boxes += solved.peak < solve(free, "greedy-best-fit").peak
    assert below_boxes > 10
