"""State search: its costs, and the search against brute force."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import DoesNotFit
from solvers.core.outcome import Limits
from solvers.tiers.actions import STANDARD_RULE, ActionRule
from solvers.tiers.problem import Cost, Tier, TierAccess, TierBlock, TierProblem, TierState, TierStep
from solvers.tiers.search import TierSearchResult, TierWalk, search
from solvers.tiers.settings import ACTIONS
from solvers.tiers.tables import TierTables
from tests.solvers.tiers.oracle import Oracle, cost_of
from tests.support.tiers import initial_state


def affine_cost(latency: int, bytes_per_cycle: int | Fraction) -> Cost:
    """The source's own cost, exactly: ``latency + bytes / bandwidth``."""
    return lambda size: latency + Fraction(size) / bytes_per_cycle


def tier(name: str, capacity: int | None, out: Cost, into: Cost) -> Tier:
    """A tier where an op's access costs as much as a transfer, as in the source."""
    return Tier(name, capacity, out, into, out, into)


def busy(asked: TierProblem, state: TierState, where: int, step: int) -> list[tuple[int, str, int]]:
    """The source's busy list: offset, block and bytes in a tier at a step, by offset."""
    return sorted(
        (stay.offset, block.name, block.bytes)
        for block, stays in zip(asked.blocks, state.stays, strict=True)
        for stay in stays
        if stay.tier == where and stay.start <= step < stay.stop and block.alive(step) and block.bytes
    )


def problem(capacity: int, *blocks: TierBlock, reads: dict[int, list[int]] | None = None) -> TierProblem:
    """Each block is written at its first step; ``reads`` says by which steps what else is read. A byte takes
    a cycle in the fast tier and eight in the slow one, which has a latency of 100."""
    fast = tier("fast", capacity, affine_cost(0, 1), affine_cost(0, 1))
    slow = tier("slow", None, affine_cost(100, Fraction(1, 8)), affine_cost(100, Fraction(1, 8)))
    steps = [
        TierStep(
            (
                *(TierAccess(i, True) for i, b in enumerate(blocks) if b.start == at and b.home is None),
                *(TierAccess(i, False) for i in (reads or {}).get(at, ())),
            )
        )
        for at in range(max(b.stop for b in blocks))
    ]
    return TierProblem((fast, slow), blocks, tuple(steps))


def where(asked: TierProblem, state: TierState, name: str) -> tuple[str, int]:
    """Tier and offset of a block's first stay."""
    index = [b.name for b in asked.blocks].index(name)
    stay = state.stays[index][0]
    return asked.tiers[stay.tier].name, stay.offset


# -- the initial rule --------------------------------------------------------------------------


def test_a_pinned_block_goes_where_it_is_pinned_to() -> None:
    asked = problem(10, TierBlock("a", 6, 0, 2, pinned=1))
    assert where(asked, initial_state(asked), "a") == ("slow", 0)
    full = problem(5, TierBlock("a", 6, 0, 2, pinned=0))
    with pytest.raises(DoesNotFit, match="'a' of 6 B finds no place"):
        initial_state(full)


# -- costs -------------------------------------------------------------------------------------


def test_three_tiers_by_hand() -> None:
    """The tiered-memory patent's cost with three tiers, as it has them: L_in + d / W_in into a tier,
    L_out + d / W_out out of it. Each block fills the fastest tier that is free."""
    tiers = (
        tier("fast", 8, out=affine_cost(1, 8), into=affine_cost(1, 8)),
        tier("middle", 8, out=affine_cost(4, 4), into=affine_cost(6, 2)),
        tier("slow", None, out=affine_cost(20, 1), into=affine_cost(30, Fraction(1, 2))),
    )
    blocks = tuple(TierBlock(name, 8, 0, 2) for name in "abc")
    steps = (
        TierStep(tuple(TierAccess(n, True) for n in range(3))),
        TierStep(tuple(TierAccess(n, False) for n in range(3))),
    )
    asked = TierProblem(tiers, blocks, steps)
    state = initial_state(asked)
    assert [where(asked, state, name) for name in "abc"] == [("fast", 0), ("middle", 0), ("slow", 0)]
    written = (1 + 1) + (6 + 4) + (30 + 16)
    read = (1 + 1) + (4 + 2) + (20 + 8)
    assert state.cycles == written + read
    assert search(asked).state.cycles == state.cycles, "each tier holds one block and all are read alike"


# -- the search --------------------------------------------------------------------------------


def test_only_the_given_actions_are_tried() -> None:
    for seed in range(20):
        asked = random_problem(seed, 8, 8)
        every = search(asked).state
        for action in ACTIONS:
            found = search(asked, rule=ActionRule(actions=frozenset({action}))).state
            assert found.cycles <= initial_state(asked).cycles
            moved = {len({stay.tier for stay in stays}) > 1 for stays in found.stays}
            assert action == "swap" or moved == {False}
        none = search(asked, rule=ActionRule(actions=frozenset()))
        assert none.state == initial_state(asked)
        assert cost_of(asked, every) == every.cycles


def test_limits_stop_the_search_and_nodes_make_it_repeatable() -> None:
    asked = next(p for p in (random_problem(seed, 12) for seed in range(99)) if search(p).nodes > 60)
    assert search(asked, Limits(nodes=0)).state == initial_state(asked)
    assert search(asked, Limits(seconds=0.0)).state == initial_state(asked)
    some = search(asked, Limits(nodes=40))
    assert (some.state, some.nodes) == (search(asked, Limits(nodes=40)).state, 40)
    costs = [search(asked, Limits(nodes=n)).state.cycles for n in range(0, 70, 6)]
    assert costs == sorted(costs, reverse=True)


def random_problem(seed: int, count: int = 5, horizon: int = 5) -> TierProblem:
    random = Random(seed)
    return tier_problem(random.randint, random.choice, count, horizon)


def tier_problem(
    number: Callable[[int, int], int], pick: Callable[[Sequence[Any]], Any], count: int, horizon: int
) -> TierProblem:
    """``number(low, high)`` and ``pick(values)`` draw; few blocks fit the fast tier together."""
    blocks: list[TierBlock] = []
    for index in range(count):
        start = number(0, horizon - 1)
        stop = number(start + 1, horizon)
        home = pick((None, None, None, 1))
        blocks.append(
            TierBlock(
                str(index),
                number(1, 5),
                start,
                stop,
                home=home,
                pinned=pick((None, None, None, None, None, None, 1)),
                ends=pick((None, None, None, 1)),
                swaps=pick((True, True, True, False)),
            )
        )
    for index, block in enumerate(blocks):
        dying = tuple(i for i, b in enumerate(blocks) if i != index and b.stop == block.start + 1)
        earlier = tuple(i for i in dying if (blocks[i].start, i) < (block.start, index))
        if earlier and pick((False, True)):
            blocks[index] = replace(block, overwrites=earlier[:2])
    steps: list[TierStep] = []
    for at in range(horizon):
        tasks = [
            TierAccess(i, True, number(0, 1))
            for i, b in enumerate(blocks)
            if b.start == at and b.home is None
        ]
        for index, block in enumerate(blocks):
            read = block.start < at < block.stop or (block.start == at and block.home is not None)
            tasks += [TierAccess(index, pick((False, False, False, True)))] * (
                pick((0, 1, 1, 3)) if read else 0
            )
        steps.append(TierStep(tuple(tasks), pick((1, 1, 2)), pick((0, 0, 1)), str(at), pick((False, True))))
    fast = Tier(
        "fast",
        number(5, 9),
        affine_cost(0, 2),
        affine_cost(1, 3),
        affine_cost(0, 4),
        affine_cost(2, 1),
        copies=pick((True, False)),
    )
    slow = Tier(
        "slow", None, affine_cost(5, 1), affine_cost(3, Fraction(1, 2)), affine_cost(4, 1), affine_cost(3, 1)
    )
    middle = Tier(
        "middle", number(1, 6), affine_cost(1, 1), affine_cost(2, 1), affine_cost(1, 2), affine_cost(1, 1)
    )
    tiers = (fast, slow) if pick((True, True, False)) else (fast, middle, slow)
    if len(tiers) == 3:
        blocks = [replace(b, home=b.home and 2, ends=b.ends and 2, pinned=b.pinned) for b in blocks]
        blocks = [b if b.pinned is None else replace(b, pinned=2) for b in blocks]
    return TierProblem(tiers, tuple(blocks), tuple(steps))


@st.composite
def tier_problems(draw: st.DrawFn) -> TierProblem:
    def number(low: int, high: int) -> int:
        return draw(st.integers(low, high))

    def pick(values: Sequence[Any]) -> Any:
        return draw(st.sampled_from(values))

    return tier_problem(number, pick, number(1, 5), number(1, 5))


def possible(asked: TierProblem) -> TierSearchResult | None:
    try:
        return search(asked)
    except DoesNotFit:
        return None


@given(tier_problems(), st.integers(1, 2))
def test_one_segment_over_the_whole_program_equals_brute_force(asked: TierProblem, changes: int) -> None:
    if possible(asked) is None:
        return
    found = search(asked, Limits(), segment=len(asked.steps), rule=ActionRule(changes))
    oracle = Oracle(asked)
    assert found.initial.cycles == oracle.initial()
    assert found.state.cycles == oracle.cheapest(changes)


@given(tier_problems(), st.integers(1, 4), st.integers(0, 3))
def test_never_more_expensive_than_the_initial_state_and_always_valid(
    asked: TierProblem, segment: int, changes: int
) -> None:
    if possible(asked) is None:
        return
    found = search(asked, segment=segment, rule=ActionRule(changes))
    assert found.state.cycles <= found.initial.cycles == initial_state(asked).cycles
    assert cost_of(asked, found.state) == found.state.cycles
    assert_sound(asked, found.state)


@pytest.mark.slow
def test_the_reported_cost_of_a_state_is_its_cost() -> None:
    """Larger problems, where a new state soon goes on like the one before it, or ends as its rest costs too
    much; with nothing known of the rest the state is the same."""
    for seed in range(150):
        asked = random_problem(seed, count=10, horizon=12)
        found = search(asked)
        walk = TierWalk(TierTables(asked), Limits(), 1, STANDARD_RULE)
        walk.tables.rest = [0] * len(walk.tables.rest)
        walk.run()
        assert found.state == walk.state(), seed
        assert cost_of(asked, found.state) == found.state.cycles, seed
        assert_sound(asked, found.state)


def assert_sound(asked: TierProblem, state: TierState) -> None:
    """Every block has a place at every step of its life, which no other block has except one that it
    overwrites."""
    for index, (block, stays) in enumerate(zip(asked.blocks, state.stays, strict=True)):
        assert [stay.start for stay in stays] == [block.start, *(stay.stop for stay in stays[:-1])]
        assert stays[-1].stop == block.stop
        assert block.pinned is None or {stay.tier for stay in stays} == {block.pinned}
        assert may_move(asked, state, index) or len(stays) == 1
        for stay in stays:
            capacity = asked.tiers[stay.tier].capacity
            assert stay.offset >= 0
            assert capacity is None or stay.offset + block.bytes <= capacity
        assert state.under[index] is None or state.under[index] in block.overwrites
    for step in range(len(asked.steps)):
        for where_ in range(len(asked.tiers)):
            rows = busy(asked, state, where_, step)
            for a, (offset, name, size) in enumerate(rows):
                for start, other, length in rows[:a]:
                    if start < offset + size and offset < start + length:
                        assert overwrites(asked, state, name, other) or overwrites(asked, state, other, name)


def may_move(asked: TierProblem, state: TierState, index: int) -> bool:
    under = state.under[index]
    return asked.blocks[index].swaps and (under is None or may_move(asked, state, under))


def overwrites(asked: TierProblem, state: TierState, name: str, other: str) -> bool:
    names = [b.name for b in asked.blocks]
    under = state.under[names.index(name)]
    return under is not None and (
        asked.blocks[under].name == other or overwrites(asked, state, asked.blocks[under].name, other)
    )
