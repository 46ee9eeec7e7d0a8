from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from hypothesis import given, settings, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem
from solvers.core.outcome import Limits
from solvers.memory_choice import choose_memories
from solvers.registry import solve
from tests.support.plain_check import check

LIMITS = Limits(nodes=20_000)
BUFFERS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(1, 3)), min_size=1, max_size=5)


def buffers_of(rows: Sequence[tuple[int, int, int]]) -> list[Buffer]:
    """Buffers given as bytes, first time and length."""
    return [Buffer(str(i), b, (Interval(at, at + length),)) for i, (b, at, length) in enumerate(rows)]


def least_cost(
    buffers: Sequence[Buffer], capacities: Sequence[int], allowed: dict[str, list[int]], costs: dict[str, int]
) -> int | None:
    """A slow twin: all choices, each packed exactly."""
    best: int | None = None
    for choice in product(range(len(capacities)), repeat=len(buffers)):
        cost = sum(costs[b.name] * m for b, m in zip(buffers, choice, strict=True))
        legal = all(m in allowed.get(b.name, [m]) for b, m in zip(buffers, choice, strict=True))
        if not legal or (best is not None and cost >= best):
            continue
        parts = [
            Problem(tuple(b for b, m in zip(buffers, choice, strict=True) if m == index), capacity)
            for index, capacity in enumerate(capacities)
        ]
        solved = [solve(part, "exact", LIMITS) for part in parts if part.buffers]
        if all(each.status in ("feasible", "optimal") for each in solved):
            best = cost
    return best


@given(
    BUFFERS,
    st.lists(st.integers(1, 10), min_size=1, max_size=2),
    st.booleans(),
    st.one_of(st.none(), st.lists(st.integers(0, 9), min_size=5, max_size=5)),
)
@settings(max_examples=25, deadline=None)
def test_the_choice_is_the_best_of_all(
    rows: list[tuple[int, int, int]], capacities: list[int], bound: bool, each_costs: list[int] | None
) -> None:
    buffers = buffers_of(rows)
    allowed = {"0": [len(capacities) - 1]} if bound else {}
    costs = None if each_costs is None else {b.name: each_costs[int(b.name)] for b in buffers}
    found = choose_memories(buffers, capacities, allowed, "auto", LIMITS, costs)
    best = least_cost(buffers, capacities, allowed, costs or {b.name: b.bytes for b in buffers})
    assert found.infeasible == (best is None)
    if best is None:
        assert not found.memory_of
        return
    assert found.cost == found.lower_bound == best
    for index, (capacity, solved) in enumerate(zip(capacities, found.solved, strict=True)):
        inside = tuple(b for b in buffers if found.memory_of[b.name] == index)
        assert check(Problem(inside, capacity), solved.plan) == ()


def test_a_choice_that_has_no_offsets_is_not_taken() -> None:
    """Two of 3 bytes aligned to 4 take 7, though only 6 are alive."""
    buffers = [replace(each, alignment=4) for each in buffers_of([(3, 0, 2), (3, 1, 2)])]
    found = choose_memories(buffers, [6, 9], {}, "auto", LIMITS)
    assert found.cost == found.lower_bound == 3
    assert choose_memories(buffers, [7, 9], {}, "auto", LIMITS).cost == 0


def test_a_packer_that_finds_nothing_proves_nothing() -> None:
    """The choice fits, but no reuse does not: it is excluded, but not as a proof."""
    found = choose_memories(buffers_of([(3, 0, 2), (3, 2, 2)]), [5], {}, "naive", LIMITS)
    assert (dict(found.memory_of), found.infeasible) == ({}, False)


def test_no_buffers_need_no_memory() -> None:
    assert choose_memories([], [8], {}, "auto", LIMITS).solved[0].plan == Plan({})
