"""Plans of cascades that load only new rows into rolling buffers: right ones, and broken ones."""

from dataclasses import replace
from functools import cache

import pytest

from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.geometry.aligned_cuts import aligned_cuts
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Command, Compute, Located
from chipmodel.model.program import Op, Program
from chipmodel.pipeline.by_ways import plan_by_ways
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.verify.commands import verify
from dma.residency.loaded_rings import loaded_ring, may_roll
from tests.dma.residency.test_loaded_rings import SLOW
from tests.support.chips import with_memory
from tests.support.narrowed import some
from tests.support.small_networks import small_network

NAMES = ("first", "second", "last")


@cache
def block() -> Program:
    """A residual block of 32 rows of 32 bytes: its first and its last op read the input."""
    return small_network("block")


def cascade(bands: int = 1, again: tuple[str, ...] = ()) -> Op:
    """The block as a cascade of steps of one row."""
    choice = CascadeChoice(NAMES, (1, 1, 1), bands=bands, again=again)
    return next(with_cascades(block(), [choice]).ops())


@cache
def planned(size: int) -> Planned:
    request = PlanRequest(block(), with_memory(SLOW, size), "large-first", "auto", cascade="auto")
    return some(plan_by_ways(request, {}))


def said(commands: tuple[Command, ...]) -> str:
    members = [each.members for each in planned(900).schedule.cascades]
    return "; ".join(verify(block(), commands, SLOW, members))


@pytest.mark.parametrize(("size", "ahead"), [(768, {0}), (900, {3})])
def test_rows_come_as_soon_as_those_in_their_places_have_been_read(size: int, ahead: set[int]) -> None:
    """Each group of steps reads rows in its first and its last one."""
    found = [
        each for each in planned(size).schedule.transfers if each.touched and each.part.share.rows.start > 3
    ]
    assert {each.due - each.issue for each in found} == ahead


def test_what_a_cascade_makes_for_others_does_not_roll() -> None:
    def rolling(place: Located) -> Located:
        return replace(place, rolls=True) if place.part.name == "last" else place

    wrong = (
        replace(c, writes=tuple(map(rolling, c.writes))) if isinstance(c, Compute) else c
        for c in planned(900).commands
    )
    assert "has 'last' in a rolling buffer, and no such cascade" in said(tuple(wrong))


@pytest.mark.parametrize(
    ("rows", "depth", "held"), [(1, 1, 3), (1, 2, 4), (1, 3, 5), (2, 1, 4), (2, 2, 6), (5, 2, 12)]
)
def test_it_holds_the_rows_up_to_the_one_that_the_last_op_reads(rows: int, depth: int, held: int) -> None:
    op = cascade()
    ring = loaded_ring(op, 0, aligned_cuts(op.work.rows, rows), depth)
    assert ring
    assert (ring.rows, ring.of_rows) == (held, 32)
    assert [new for _, new in ring.new[:3]] == [
        Interval(0, rows + 2),
        Interval(rows + 2, 2 * rows + 2),
        Interval(2 * rows + 2, 3 * rows + 2),
    ]


def test_rows_stay_for_a_later_step_that_goes_back() -> None:
    """Rows that are made again are read again, by steps of which each has a stripe."""
    op = cascade(again=("first",))
    read = [op.reads(0, Interval(n, n + 1), Interval(0, 1)).rows for n in range(6)]
    assert [each.start for each in read] == [0, 1, 0, 0, 1, 2]
    ring = loaded_ring(op, 0, aligned_cuts(op.work.rows, 1), 1)
    assert ring
    assert ring.rows == 4
    assert [new for _, new in ring.new[:4]] == [
        Interval(0, 1),
        Interval(1, 2),
        Interval(2, 3),
        Interval(3, 3),
    ]


def test_steps_at_the_end_may_read_none_of_it() -> None:
    choice = CascadeChoice((*NAMES, "late"), (1, 1, 1, 1))
    op = next(with_cascades(small_network("late"), [choice]).ops())
    assert not len(op.reads(0, Interval(31, 32), Interval(0, 1)).rows)
    ring = loaded_ring(op, 0, aligned_cuts(op.work.rows, 1), 2)
    assert ring
    assert ring.rows < 8


def test_there_is_none_in_bands_or_where_no_row_is_read_twice() -> None:
    op = cascade()
    assert may_roll(op, 0)
    assert not may_roll(cascade(bands=2), 0)
    program = small_network("plain")
    plain = next(with_cascades(program, [CascadeChoice(NAMES[:2], (1, 1))]).ops())
    assert not may_roll(plain, 0)
    assert loaded_ring(op, 0, aligned_cuts(op.work.rows, op.work.rows), 1) is None
    assert loaded_ring(op, 0, aligned_cuts(op.work.rows, 16), 2) is None
