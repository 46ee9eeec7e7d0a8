"""State search: each sentence of the initial rule by hand, costs, and the search against brute force."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chipmodel.errors import BadInput, DoesNotFit
from solvers.core.outcome import Limits
from solvers.tiers.actions import ActionRule
from solvers.tiers.placement import TierRun
from solvers.tiers.problem import (
    Cost,
    Tier,
    TierAccess,
    TierBlock,
    TierProblem,
    TierState,
    TierStep,
)
from solvers.tiers.search import TierSearchResult, initial_state, search
from solvers.tiers.settings import ACTIONS
from solvers.tiers.tables import TierTables
from tests.solvers.tiers.oracle import Oracle, cost_of


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


def two_tiers(capacity: int) -> tuple[Tier, Tier]:
    """A byte takes a cycle in the fast tier and eight in the slow one, which has a latency of 100."""
    fast = tier("fast", capacity, affine_cost(0, 1), affine_cost(0, 1))
    return fast, tier("slow", None, affine_cost(100, Fraction(1, 8)), affine_cost(100, Fraction(1, 8)))


def problem(capacity: int, *blocks: TierBlock, reads: dict[int, list[int]] | None = None) -> TierProblem:
    """Each block is written at its first step; ``reads`` says by which steps what else is read."""
    steps = [
        TierStep(
            (
                *(TierAccess(i, True) for i, b in enumerate(blocks) if b.start == at and b.home is None),
                *(TierAccess(i, False) for i in (reads or {}).get(at, ())),
            )
        )
        for at in range(max(b.stop for b in blocks))
    ]
    return TierProblem(two_tiers(capacity), blocks, tuple(steps))


def where(asked: TierProblem, state: TierState, name: str) -> tuple[str, int]:
    """Tier and offset of a block's first stay."""
    index = [b.name for b in asked.blocks].index(name)
    stay = state.stays[index][0]
    return asked.tiers[stay.tier].name, stay.offset


# -- the initial rule --------------------------------------------------------------------------


def test_tiers_are_tried_from_fast_to_slow() -> None:
    asked = problem(10, TierBlock("a", 6, 0, 3), TierBlock("b", 6, 1, 3), TierBlock("c", 4, 2, 3))
    state = initial_state(asked)
    assert where(asked, state, "a") == ("fast", 0)
    assert where(asked, state, "b") == ("slow", 0)
    assert where(asked, state, "c")[0] == "fast"


def test_a_pinned_block_goes_where_it_is_pinned_to() -> None:
    asked = problem(10, TierBlock("a", 6, 0, 2, pinned=1))
    assert where(asked, initial_state(asked), "a") == ("slow", 0)
    full = problem(5, TierBlock("a", 6, 0, 2, pinned=0))
    with pytest.raises(DoesNotFit, match="'a' finds no place"):
        initial_state(full)


def test_free_spaces_are_tried_from_small_to_large() -> None:
    blocks = (
        TierBlock("a", 4, 0, 2),
        TierBlock("b", 5, 0, 1),
        TierBlock("wall", 2, 0, 4),
        TierBlock("new", 3, 2, 4),
    )
    asked = problem(20, *blocks)
    state = initial_state(asked)
    assert where(asked, state, "wall") == ("fast", 4), "then [0, 4) and [6, 20) are free"
    assert where(asked, state, "new") == ("fast", 0)


def test_adjacent_free_spaces_are_joined() -> None:
    asked = problem(
        12,
        TierBlock("a", 4, 0, 1),
        TierBlock("b", 4, 0, 2),
        TierBlock("c", 4, 0, 2),
        TierBlock("d", 8, 2, 3),
        TierBlock("e", 4, 2, 3),
    )
    state = initial_state(asked)
    assert {where(asked, state, n)[0] for n in "abcde"} == {"fast"}
    assert busy(asked, state, 0, 2) == [(0, "d", 8), (8, "e", 4)]


@pytest.mark.parametrize(("below", "above", "offset"), [(9, 5, 4), (5, 9, 13)])
def test_a_block_lies_against_the_neighbour_that_dies_later(below: int, above: int, offset: int) -> None:
    asked = problem(
        20, TierBlock("below", 4, 0, below), TierBlock("above", 4, 0, above), TierBlock("new", 3, 1, 3)
    )
    state = initial_state(asked)
    assert where(asked, state, "above") == ("fast", 16)
    assert where(asked, state, "new") == ("fast", offset)


@pytest.mark.parametrize(("below", "above", "offset"), [(4, 6, 4), (6, 4, 13)])
def test_where_both_die_together_it_lies_towards_the_tiers_border(
    below: int, above: int, offset: int
) -> None:
    asked = problem(
        20, TierBlock("below", below, 0, 5), TierBlock("above", above, 0, 5), TierBlock("new", 3, 1, 3)
    )
    assert where(asked, initial_state(asked), "new") == ("fast", offset)


def test_an_output_and_scratch_may_lie_on_a_dying_input_and_an_output_on_scratch() -> None:
    blocks = (
        TierBlock("in", 8, 0, 2),
        TierBlock("scratch", 6, 1, 2, overwrites=(0,)),
        TierBlock("out", 5, 1, 3, overwrites=(1, 0)),
        TierBlock("late", 3, 2, 3),
    )
    asked = problem(8, *blocks, reads={1: [0]})
    state = initial_state(asked)
    assert [where(asked, state, n) for n in ("in", "scratch", "out", "late")] == [("fast", 0)] * 3 + [
        ("fast", 5)
    ]
    assert state.under == (None, 0, 1, None)


def test_what_is_not_overwritten_is_freed_only_when_the_op_ends() -> None:
    blocks = (
        TierBlock("in", 8, 0, 2),
        TierBlock("out", 5, 1, 3, overwrites=(0,)),
        TierBlock("more", 3, 1, 3),
    )
    asked = problem(8, *blocks, reads={1: [0]})
    state = initial_state(asked)
    assert where(asked, state, "more")[0] == "slow", "the input's other 3 bytes are still its own"
    later = problem(8, *blocks[:2], replace(blocks[2], start=2), reads={1: [0]})
    assert where(later, initial_state(later), "more") == ("fast", 5)


def test_an_op_that_is_cut_overwrites_nothing_while_something_passes_through() -> None:
    blocks = (TierBlock("in", 4, 0, 2), TierBlock("big", 9, 0, 2), TierBlock("out", 4, 1, 3, overwrites=(0,)))
    asked = problem(8, *blocks, reads={1: [0, 1]})
    assert initial_state(asked).under[2] == 0
    cut = replace(asked, steps=tuple(replace(step, cuts=True) for step in asked.steps))
    assert initial_state(cut).under[2] is None


def test_an_op_keeps_its_reserve_and_staging_bytes() -> None:
    blocks = (TierBlock("a", 6, 0, 2), TierBlock("b", 9, 1, 3, pinned=1))
    tasks = (
        TierStep((TierAccess(0, True),)),
        TierStep((TierAccess(0, False, 1), TierAccess(1, True, 2)), reserve=2),
        TierStep(()),
    )
    fits = TierProblem(two_tiers(10), blocks, tasks)
    assert where(fits, initial_state(fits), "a") == ("fast", 0)
    tight = replace(fits, tiers=two_tiers(9))
    assert where(tight, initial_state(tight), "a")[0] == "slow"
    with pytest.raises(DoesNotFit, match="needs 5 B of fast to run from slow, of 4 B"):
        initial_state(replace(fits, tiers=two_tiers(4)))


# -- costs -------------------------------------------------------------------------------------


def test_the_cost_is_latency_and_bytes_by_bandwidth_of_every_task() -> None:
    fast = tier("fast", 4, out=affine_cost(2, 3), into=affine_cost(1, 2))
    slow = tier("slow", None, out=affine_cost(10, 1), into=affine_cost(20, Fraction(1, 2)))
    blocks = (TierBlock("a", 4, 0, 2), TierBlock("b", 5, 0, 2))
    steps = (
        TierStep((TierAccess(0, True), TierAccess(1, True))),
        TierStep((TierAccess(0, False), TierAccess(1, False)), times=3),
    )
    state = initial_state(TierProblem((fast, slow), blocks, steps))
    write = (1 + Fraction(4, 2)) + (20 + 10)
    assert state.cycles == write + 3 * ((2 + Fraction(4, 3)) + (10 + 5))


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


def test_an_inputs_first_load_is_counted() -> None:
    asked = problem(4, TierBlock("input", 4, 0, 2, home=1), reads={0: [0], 1: [0]})
    assert initial_state(asked).cycles == 4 + 4 + (100 + 8 * 4) + 4


def test_an_output_is_brought_to_where_it_must_end() -> None:
    asked = problem(4, TierBlock("out", 4, 0, 1, ends=1))
    assert initial_state(asked).cycles == 4 + 4 + (100 + 8 * 4)


def test_a_copy_that_is_still_valid_is_not_written_again() -> None:
    # "x" must make way for "wide" twice; the second time its copy in the slow tier is still there.
    blocks = (TierBlock("x", 4, 0, 5), TierBlock("wide", 9, 1, 2), TierBlock("wider", 9, 3, 4))
    reads = {1: [1] * 20, 2: [0] * 90, 3: [2] * 20, 4: [0] * 90}
    asked = problem(10, *blocks, reads=reads)
    found = search(asked, segment=5)
    stays = [asked.tiers[stay.tier].name for stay in found.state.stays[0]]
    assert stays == ["fast", "slow", "fast", "slow", "fast"]
    out, back = 4 + (100 + 32), (100 + 32) + 4
    own = 4 + 90 * 4 + 90 * 4
    assert found.state.cycles == own + 2 * (9 + 20 * 9) + out + 2 * back


# -- the search --------------------------------------------------------------------------------


def test_a_swap_makes_room_for_what_is_read_more_often() -> None:
    """A skip connection: what only lives through the wide op leaves for that while."""
    blocks = (TierBlock("skip", 6, 0, 4), TierBlock("wide", 8, 1, 3))
    asked = problem(10, *blocks, reads={2: [1] * 5, 3: [0]})
    found = search(asked)
    assert where(asked, initial_state(asked), "wide")[0] == "slow"
    assert found.state.tier_at(1, 1) == 0
    assert found.state.tier_at(0, 1) == 1
    assert found.state.cycles < found.initial_cycles


def test_a_step_whose_blocks_are_all_in_the_fastest_tier_is_skipped() -> None:
    found = search(problem(20, TierBlock("a", 6, 0, 3), TierBlock("b", 6, 1, 3), reads={2: [0, 1]}))
    assert found.nodes == 3
    assert found.state.cycles == found.initial_cycles


def test_the_rule_of_skipping_may_leave_a_cheap_tier_unused() -> None:
    """ "early" lies in the fast tier at its first step, which is skipped, and has to leave at the next one:
    written 2, moved 12, read 8, and "late" 2 + 4 * 2. Born in the middle tier: written 10, read 8."""
    tiers = (
        tier("fast", 8, affine_cost(0, 4), affine_cost(0, 4)),
        tier("middle", 8, affine_cost(4, 2), affine_cost(6, 2)),
        tier("slow", None, affine_cost(20, 1), affine_cost(30, Fraction(1, 2))),
    )
    blocks = (TierBlock("early", 8, 0, 4), TierBlock("late", 8, 1, 3))
    tasks = (
        (TierAccess(0, True),),
        (TierAccess(1, True),),
        (TierAccess(1, False),) * 4,
        (TierAccess(0, False),),
    )
    asked = TierProblem(tiers, blocks, tuple(TierStep(each) for each in tasks))
    assert initial_state(asked).cycles == 2 + 10 + 4 * 8 + 2
    assert search(asked).state.cycles == 32
    assert search(asked, rule=ActionRule(skips=False)).state.cycles == 28


def test_only_the_given_actions_are_tried() -> None:
    for seed in range(60):
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


def test_a_longer_segment_finds_better_states() -> None:
    """Random problems of which one step at a time is not optimal."""
    longer = [search(asked, segment=9).state.cycles for asked in map(random_problem, range(25))]
    greedy = [search(asked, segment=1).state.cycles for asked in map(random_problem, range(25))]
    assert any(a < b for a, b in zip(longer, greedy, strict=True))


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
@settings(max_examples=120, deadline=None)
def test_one_segment_over_the_whole_program_equals_brute_force(asked: TierProblem, changes: int) -> None:
    if possible(asked) is None:
        return
    found = search(asked, Limits(), segment=len(asked.steps), rule=ActionRule(changes))
    oracle = Oracle(asked)
    assert found.initial_cycles == oracle.initial()
    assert found.state.cycles == oracle.cheapest(changes)


@given(tier_problems(), st.integers(1, 4), st.integers(0, 3))
@settings(max_examples=100, deadline=None)
def test_never_more_expensive_than_the_initial_state_and_always_valid(
    asked: TierProblem, segment: int, changes: int
) -> None:
    if possible(asked) is None:
        return
    found = search(asked, segment=segment, rule=ActionRule(changes))
    assert found.state.cycles <= found.initial_cycles == initial_state(asked).cycles
    assert cost_of(asked, found.state) == found.state.cycles
    assert_sound(asked, found.state)


def test_equal_states_have_equal_futures() -> None:
    """Then the kept state's costs are taken over instead of running the rule on."""
    run = TierRun(TierTables(problem(9, TierBlock("a", 4, 0, 3), TierBlock("b", 9, 1, 3))))
    run.advance(0)
    changes: tuple[Callable[[TierRun], object], ...] = (
        lambda other: other.copied.add(0),
        lambda other: other.stuck.add(0),
        lambda other: other.busy[0].clear(),
        lambda other: other.where.update({0: 1}),
    )
    for differs in changes:
        other = run.copy()
        assert run.same(other)
        differs(other)
        assert not run.same(other)


def test_the_reported_cost_of_a_state_is_its_cost() -> None:
    """Larger problems, where a new state soon goes on like the one before it."""
    for seed in range(150):
        asked = random_problem(seed, count=10, horizon=12)
        found = search(asked)
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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tiers": two_tiers(4)[:1]}, "last tier has a capacity"),
        ({"tiers": (two_tiers(4)[1], two_tiers(4)[1])}, "'slow' has no capacity"),
        ({"blocks": (TierBlock("a", 4, 0, 3),)}, r"lives in \[0, 3\) of 2 steps"),
        ({"blocks": (TierBlock("a", 4, 0, 2, home=2),)}, "names tier 2"),
        (
            {"blocks": (TierBlock("a", 4, 0, 2), TierBlock("b", 4, 0, 2, overwrites=(0,)))},
            "may overwrite 'a'",
        ),
        ({"blocks": (TierBlock("a", 4, 1, 2),)}, "not alive then"),
    ],
)
def test_inconsistent_problems_are_refused(change: dict[str, object], words: str) -> None:
    asked = problem(4, TierBlock("a", 4, 0, 2))
    with pytest.raises(BadInput, match=words):
        replace(asked, **change)  # type: ignore[arg-type]
