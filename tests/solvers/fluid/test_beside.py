"""What moves while the NPU is at work has the room that the parts of a run leave."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from solvers.fluid.alone import run_alone
from solvers.fluid.amounts import FluidAmounts
from solvers.fluid.groups import group, through_long_group
from solvers.fluid.problem import FluidOp, FluidProblem, FluidTensor
from solvers.fluid.stripes import UNBOUNDED
from tests.solvers.fluid.parts_oracle import Part, PartsOracle, divisions
from tests.solvers.fluid.test_dynamic_program import (
    between,
    cycles_of,
    evenly,
    launched,
    run_of,
    whole,
)

FEW = (2, 3, 5)
"""Few numbers of parts, so that the least and the most are near."""
LONG = 100_000
"""More cycles than what has room beside a few parts takes."""


def few(cycles: int, weights: int = 0, launch: int = 1000) -> FluidOp:
    further = tuple(launch * (count - 1) for count in FEW)
    return FluidOp(cycles, further, further, weights, counts=FEW)


def beside(problem: FluidProblem, run: int, before: int = 0, after: int = 0) -> dict[int, int]:
    """DMA cycles beside a run on its own, by its NPU cycles, with such tensors there."""
    table = run_alone(FluidAmounts(problem), run).tolist()
    return {row[3]: row[8] for row in table if row[:2] == [before, after]}


def result(size: int, made: int) -> FluidTensor:
    return FluidTensor(size, made, (), (), written=size, stored=size)


def loaded(size: int, *reads: int) -> FluidTensor:
    every = tuple(size for _ in reads)
    return FluidTensor(size, None, reads, every, every, by_every_step=frozenset(reads))


def test_parts_leave_the_room_that_they_do_not_take() -> None:
    """Of 1,000 bytes one part leaves 300, two leave 2,000 - 700, and up to four 4,000 - 700."""
    found = beside(run_of(few(LONG, 700)), 0)
    assert [found[LONG], found[LONG + 1000], found[LONG + 2000]] == [301, 1301, 3301]


def test_more_parts_are_worse_only_in_time_but_leave_more_room() -> None:
    found = beside(run_of(few(LONG)), 0)
    assert [found[LONG], found[LONG + 1000], found[LONG + 2000]] == [1001, 2001, 4001]
    assert beside(run_of(few(1001)), 0) == {1001: UNBOUNDED}
    assert beside(run_of(few(1002)), 0)[1002] == 1001


def test_nothing_of_a_run_is_loaded_beside_its_last_part() -> None:
    """Of 900 bytes of weights one of two slices leaves room for 550 of the other, of 450: none waits. Of
    1,600 each leaves room for 200 of 800, and beside the second one nothing of its own is loaded."""
    assert waited(900) == [450]
    assert waited(1600) == [1400]


def waited(weights: int) -> list[int]:
    """DMA cycles before the second of two runs begins, in two slices."""
    table = run_alone(FluidAmounts(run_of(few(LONG), few(LONG, weights))), 1).tolist()
    return [row[2] for row in table if row[3] == LONG + 1000 and row[8] < UNBOUNDED]


def test_the_slowest_bytes_of_what_may_still_be_loaded_count() -> None:
    slow = FluidOp(10, weights=1000, set_up=100, most_loaded=100)
    assert beside(run_of(few(LONG, 700), slow), 0)[LONG] == 2 * 300 + 1
    assert beside(run_of(slow, few(LONG, 700)), 1)[LONG] == 300 + 1
    own = replace(few(LONG, 700), set_up=100, most_loaded=100)
    assert beside(run_of(own), 0)[LONG] == 2 * 300 + 1


def test_room_of_any_number_of_parts_is_a_number_of_64_bits() -> None:
    huge = replace(run_of(FluidOp(1 << 50), capacity=1 << 30), most_each=Fraction(32))
    assert 32 * UNBOUNDED + 1 in run_alone(FluidAmounts(huge), 0)[:, 8]
    assert run_alone(FluidAmounts(huge), 0)[:, 8].min() > 0


def test_set_ups_are_those_of_what_has_room() -> None:
    """Its own weights, input and result; the result before; and of six later loads those that fit at once."""
    earlier, own = replace(result(150, 0), stored=157), replace(result(150, 1), stored=157)
    read = replace(loaded(150, 1), loads=(157,))
    ops = few(10), few(LONG, 400), *(replace(few(10, 200), set_up=7) for _ in range(6))
    found = beside(replace(run_of(*ops, tensors=(earlier, read, own)), set_up=7), 1)
    assert found[LONG] == 300 + 1 + 7 * (3 + 1 + 1)
    assert found[LONG + 1000] == 1300 + 1 + 7 * (3 + 1 + 5)
    larger = replace(run_of(few(LONG, 1500)), set_up=7)
    assert beside(larger, 0)[LONG + 1000] == 2 * 1000 - 1500 + 1 + 7 * 2


def test_set_ups_of_further_parts_may_be_meanwhile() -> None:
    """Of 5 loads of 800 bytes 2 are counted on their own (``test_set_ups``)."""
    op = FluidOp(LONG, (), (40, 50), weights=4000, set_up=7, counts=(5, 6), single=True)
    assert beside(run_of(op), 0)[LONG + 40] == 5 * 1000 - 4000 + 1 + 2 * 7


def test_what_is_kept_is_loaded_into_its_place() -> None:
    """What is not kept is there before a single part."""
    assert beside(run_of(few(LONG), tensors=(loaded(800, 0),)), 0)[LONG] == 201
    stays = run_of(few(LONG), few(10), tensors=(loaded(800, 0, 1),))
    assert beside(stays, 0, after=0)[LONG] == 201
    assert beside(stays, 0, after=1)[LONG] == 201 + 800


def test_what_is_written_over_is_loaded_into_the_place_of_what_is_made() -> None:
    read = replace(loaded(800, 0), in_place=frozenset((0,)))
    problem = run_of(few(LONG), few(10), tensors=(read, replace(between(800, 0, 1), store=0)))
    assert beside(problem, 0, after=1)[LONG] == 201 + 800


def test_what_is_kept_may_be_stored_meanwhile() -> None:
    problem = run_of(few(10), few(LONG), few(10), tensors=(evenly(800, 0, 1, 2),))
    assert beside(problem, 1, 1, 0)[LONG] == 201 + 800
    assert beside(problem, 1, 1, 1)[LONG] == 201 + 800


def test_results_that_are_read_may_be_stored_meanwhile() -> None:
    """By this run, or by a later one if they are kept."""
    read = replace(evenly(800, 0, 1), store=0, stored=800)
    problem = run_of(few(10), few(LONG), few(10), tensors=(read,))
    assert beside(problem, 1)[LONG] == 201 + 800
    assert beside(problem, 1, 1)[LONG] == 201 + 800
    later = replace(problem, tensors=(replace(evenly(800, 0, 2), store=0, stored=800),))
    assert beside(later, 1, 1, 1)[LONG] == 201 + 800
    assert beside(later, 1)[LONG] == 1001


@pytest.mark.parametrize("count", [1, 2])
def test_what_parts_make_one_after_another_is_not_there_throughout(count: int) -> None:
    made = tuple(between(100, 0, 1) for _ in range(count))
    problem = run_of(few(LONG), few(10), tensors=made)
    assert (beside(problem, 0)[LONG] == UNBOUNDED) == (count > 1)


def test_what_only_some_parts_read_is_not_there_throughout() -> None:
    read = replace(loaded(800, 0), by_every_step=frozenset())
    assert beside(run_of(few(LONG), tensors=(read, loaded(100, 0))), 0)[LONG] == UNBOUNDED


def test_stripes_that_take_the_memory_of_an_input_leave_any_room() -> None:
    read = replace(evenly(600, 0, 1), by_rows=frozenset((1,)))
    ops = few(10), replace(few(LONG), rows=8), few(10)
    problem = run_of(*ops, tensors=(read, between(600, 1, 2)))
    assert set(beside(problem, 1, 1, 1).values()) == {UNBOUNDED}


def test_groups_leave_any_room() -> None:
    problem = run_of(whole(10), whole(10, joins=True), tensors=(evenly(100, 0, 1),))
    assert set(group(FluidAmounts(problem), 0, 2)[:, 8].tolist()) == {UNBOUNDED}
    ops = tuple(whole(10, joins=run > 0) for run in range(8))
    amounts = FluidAmounts(run_of(*ops, tensors=tuple(evenly(100, run, run + 1) for run in range(7))))
    for run, sets in (6, 0), (7, 1):
        assert set(through_long_group(amounts, run, [0], sets)[:, 8].tolist()) == {UNBOUNDED}


def test_what_has_no_room_beside_a_run_is_moved_before() -> None:
    """Two slices of 250 bytes that make 100 each leave 300 for loads and stores of 700, and the run before
    leaves room for the others."""
    ops = whole(5000), few(1000, 500, 10)
    assert cycles_of(run_of(*ops, capacity=500, tensors=(result(200, 1),))) == 5000 + 1010


def test_loads_and_stores_share_the_room_beside_a_run() -> None:
    """Of 1,500 bytes 10 move beside the first run, and 300 beside the second, which leaves so much. The bound
    may be two less, as it rounds room up."""
    ops = whole(10), whole(1000, 700), whole(10)
    found = cycles_of(run_of(*ops, tensors=(evenly(400, 0, 2),)))
    assert 2208 <= found <= 1020 + 1500 - 10 - 300


@given(
    st.integers(0, 4),
    st.integers(0, 4),
    st.integers(1, 4),
    st.integers(1, 2),
    st.integers(2, 9),
    st.integers(0, 5),
)
@settings(max_examples=40, deadline=None)
def test_no_neighbours_beat_the_bound(
    before: int, after: int, rows: int, each: int, capacity: int, launch: int
) -> None:
    """What is stored of the run before and loaded for the one after shares the room that slices leave."""
    found: list[int] = []
    for sizes in divisions(rows):
        parts = [Part(each * size, 0, launch + size) for size in sizes]
        every = [Part(0, before, 1), *parts, Part(after, 0, 1)]
        best = PartsOracle(every, capacity).cycles()
        found += [] if best is None else [best]
    ops = whole(1), launched(launch, rows, each * rows), whole(1, after)
    problem = run_of(*ops, capacity=capacity, tensors=(result(before, 0),) if before else ())
    assert not found or cycles_of(problem) <= min(found)
