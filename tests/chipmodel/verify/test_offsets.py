"""Violations that the pairwise check finds, against a byte-by-byte oracle, NumPy's and fewer comparisons."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Memory, Plan, Problem
from chipmodel.verify import fast_offsets
from chipmodel.verify.fast_offsets import (
    MIN_BUFFERS,
    check_fast,
    overlapping_owners,
)
from tests.solvers.random_problems import random_problem
from tests.support.plain_check import check

A = Buffer("a", 100, (Interval(0, 2),))
B = Buffer("b", 50, (Interval(1, 3),))
C = Buffer("c", 100, (Interval(2, 4),), alignment=16)


def test_an_overlap_names_both_buffers_their_bytes_and_times() -> None:
    (fault,) = check(Problem((A, B), 200), Plan({"a": 0, "b": 60}))
    assert fault == ("buffers 'a' and 'b' share bytes [60, 100) while both are alive: [0, 2) and [1, 3)")


def test_missing_negative_misaligned_and_too_high_offsets() -> None:
    faults = check(Problem((A, B, C), 150), Plan({"a": -4, "c": 60}))
    assert [fault.split(",")[0] for fault in faults] == [
        "buffer 'b' has no offset",
        "buffer 'a' starts at -4",
        "buffer 'c' at 60 is not aligned to 16",
        "buffer 'c' ends at 160",
    ]


MEMORIES = (Memory("left", 0, 128), Memory("right", 128, 400))


def test_pins_and_memories() -> None:
    pinned = Buffer("p", 8, (Interval(0, 1),), pinned=64, memories=("right",))
    straddling = Buffer("s", 16, (Interval(5, 6),))
    problem = Problem((pinned, straddling), memories=MEMORIES)
    assert check(problem, Plan({"p": 64, "s": 120})) == (
        "buffer 'p' is in memory 'left', not in right",
        "buffer 's' at 120 does not lie within one memory",
    )
    (fault,) = check(Problem((pinned,)), Plan({"p": 0}))
    assert fault == "buffer 'p' is at 0, but is pinned to 64"


def test_aliases_share_an_offset_and_bytes() -> None:
    problem = Problem((A, B), colocated=(("a", "b"),))
    assert check(problem, Plan({"a": 8, "b": 8})) == ()
    (fault,) = check(problem, Plan({"a": 0, "b": 100}))
    assert fault == "buffers 'a' at 0 and 'b' at 100 must have the same offset"


def test_separated_buffers_share_no_byte_and_buffers_apart_no_memory() -> None:
    (fault,) = check(Problem((A, C), separated=(("c", "a"),)), Plan({"a": 0, "c": 96}))
    assert fault == "buffers 'a' and 'c' share bytes [96, 100), but must be separated"
    apart = Problem((A, C), memories=MEMORIES, apart=(("a", "c"),))
    assert check(apart, Plan({"a": 0, "c": 128})) == ()
    (fault,) = check(apart, Plan({"a": 128, "c": 256}))
    assert fault == "buffers 'a' and 'c' are both in memory 'right', but must be apart"


spans = st.tuples(st.integers(0, 6), st.integers(1, 4)).map(lambda pair: Interval(pair[0], sum(pair)))
buffers = st.lists(
    st.tuples(st.integers(0, 6), st.lists(spans, min_size=1, max_size=2), st.integers(0, 12)), max_size=6
)


@given(buffers)
def test_check_finds_a_byte_that_two_live_buffers_hold(items: list[tuple[int, list[Interval], int]]) -> None:
    """The oracle marks every byte at every position."""
    problem = Problem(tuple(Buffer(str(i), n, tuple(live)) for i, (n, live, _) in enumerate(items)))
    plan = Plan({str(i): offset for i, (_, _, offset) in enumerate(items)})
    owners: dict[tuple[int, int], set[str]] = {}
    for buffer in problem.buffers:
        for position in {p for i in buffer.live for p in range(i.start, i.stop)}:
            for byte in range(buffer.bytes):
                owners.setdefault((position, plan.offsets[buffer.name] + byte), set()).add(buffer.name)
    assert bool(check(problem, plan)) == any(len(names) > 1 for names in owners.values())


def random_plan(problem: Problem, random: Random) -> Plan:
    offsets = {b.name: random.randint(-1, 14) for b in problem.buffers if random.random() < 0.97}
    for group in problem.colocated if random.random() < 0.5 else ():
        for name in group:
            if name in offsets:
                offsets[name] = offsets.get(group[0], 3)
    return Plan(offsets)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1000, 250))
def test_numpy_equals_check_on_random_plans(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_offsets, "MIN_BUFFERS", 0)
    faulty = 0
    for seed in range(first, first + 250):
        problem = random_problem(seed, 12)
        for turn in range(4):
            plan = random_plan(problem, Random(seed * 10 + turn))
            expected = check(problem, plan)
            assert check_fast(problem, plan) == expected, seed
            faulty += bool(expected)
    assert faulty > 500


def test_a_large_correct_plan_and_the_same_with_one_buffer_moved_by_a_byte() -> None:
    """Each buffer lies above the one before it, four levels in turn."""
    count = 200 * MIN_BUFFERS
    buffers = tuple(Buffer(str(i), 3, (Interval(i, i + 4),)) for i in range(count))
    offsets = {str(i): i % 4 * 3 for i in range(count)}
    problem = Problem(buffers, 12)
    assert check_fast(problem, Plan(offsets)) == ()
    offsets["700"] += 1
    assert check_fast(problem, Plan(offsets)) == (
        "buffers '697' and '700' share bytes [3, 4) while both are alive: [697, 701) and [700, 704)",
        "buffers '700' and '701' share bytes [3, 4) while both are alive: [700, 704) and [701, 705)",
    )


def random_boxes(random: Random, count: int, side: int) -> list[tuple[int, ...]]:
    def edges() -> tuple[int, int]:
        start = random.randrange(side)
        return start, start + random.randint(1, side)

    return [(random.randrange(count), *edges(), *edges()) for _ in range(count)]


def every_pair(boxes: list[tuple[int, ...]]) -> set[tuple[int, int]]:
    return {
        (max(a[0], b[0]), min(a[0], b[0]))
        for at, a in enumerate(boxes)
        for b in boxes[:at]
        if a[0] != b[0] and a[1] < b[2] and b[1] < a[2] and a[3] < b[4] and b[3] < a[4]
    }


@pytest.mark.parametrize("large", [0, 1 << 70])
def test_equals_every_pair_compared(monkeypatch: pytest.MonkeyPatch, large: int) -> None:
    monkeypatch.setattr(fast_offsets, "MOST_AT_ONCE", 7)
    for seed in range(150):
        random = Random(seed)
        boxes = random_boxes(random, random.randint(1, 30), random.randint(1, 40))
        boxes = [(i, start, stop, low + large, high + large) for i, start, stop, low, high in boxes]
        assert overlapping_owners(np.array(boxes).T) == every_pair(boxes), seed
