"""Plans whose stripes load only new rows into rolling buffers: right ones, and broken ones."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Command, Compute, DmaStart, Located
from chipmodel.model.schedule import Part
from chipmodel.pipeline.by_ways import plan_by_ways
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.verify.commands import verify
from chipmodel.verify.plan_file import verify_file
from chipmodel.verify.rolling import load_faults, turn_faults
from reports.export.layout import Ring, layout_of, rings
from tests.dma.residency.test_loaded_rings import SLOW, network
from tests.support.chips import with_memory

PROGRAM = network()[0]
WHOLE = replace(SLOW, npu=replace(SLOW.npu, rolling_buffers=False))
SIZES = [384, 448, 512, 640, 768]
"""Bytes in which stripes have one buffer or two, and of one row to four."""


@cache
def planned(size: int = 512, rolls: bool = True) -> Planned:
    chip = with_memory(SLOW if rolls else WHOLE, size)
    found = plan_by_ways(PlanRequest(PROGRAM, chip, "large-first", "auto"), {})
    assert found is not None
    return found


def loads(commands: tuple[Command, ...]) -> list[DmaStart]:
    return [c for c in commands if isinstance(c, DmaStart) and c.at.rolls]


def said(commands: tuple[Command, ...], chip: Chip = SLOW) -> str:
    return "; ".join(verify(PROGRAM, commands, chip))


def executed(commands: tuple[Command, ...]) -> list[str]:
    run = PlanRun(PROGRAM, [commands], SLOW.shared_memory.bytes)
    return [fault for verdict in check_paths(run, {}) for fault in verdict.faults]


@pytest.mark.parametrize("size", SIZES)
def test_each_row_is_loaded_once(size: int) -> None:
    found = planned(size)
    moved = loads(found.commands)
    assert sum(each.bytes for each in moved) == PROGRAM.tensors["x"].bytes
    assert [each.part.share.rows.start for each in moved[1:]] == [e.part.share.rows.stop for e in moved[:-1]]
    chip = with_memory(SLOW, size)
    assert not verify_file(PROGRAM, plan_of_planned(found, chip, "one", ()), chip)
    assert not executed(found.commands)


@pytest.mark.parametrize("size", [512, 640])
def test_rows_are_loaded_while_the_npu_computes(size: int) -> None:
    transfers = [each for each in planned(size).schedule.transfers if each.touched]
    assert any(each.issue < each.due for each in transfers)


def test_a_chip_that_cannot_go_round_has_no_such_plan() -> None:
    assert not loads(planned(rolls=False).commands)
    assert "the NPU cannot address" in said(planned().commands, WHOLE)


def changed(number: int, change: Callable[[DmaStart], DmaStart]) -> tuple[Command, ...]:
    """The commands with another load of rows."""
    commands = planned().commands
    one = loads(commands)[number]
    return tuple(change(one) if each is one else each for each in commands)


def test_rows_in_another_place_are_noticed_by_both() -> None:
    def lower(start: DmaStart) -> DmaStart:
        assert start.at.touched is not None
        first, stop = start.at.touched.start - 32, start.at.touched.stop - 32
        return replace(start, at=replace(start.at, touched=Interval(first, stop)))

    wrong = changed(1, lower)
    assert "fills bytes [64, 128) of a rolling buffer, expected [96, 160)" in said(wrong)
    assert executed(wrong)


def test_stores_and_weights_do_not_roll() -> None:
    one = loads(planned().commands)[1]
    weights = replace(one.at, part=replace(one.part, weights=True))
    for wrong in (replace(one, direction="store"), replace(one, at=weights)):
        assert "moves rows of a rolling buffer" in "; ".join(load_faults(wrong, 1024))


def test_rows_that_were_never_loaded_are_noticed_by_both() -> None:
    before = loads(planned().commands)[1]
    wrong = changed(2, lambda each: replace(before, name=each.name))
    assert "is not complete" in said(wrong)
    assert executed(wrong)


def test_rows_may_not_come_while_a_step_still_reads_those_in_their_place() -> None:
    """A load one step earlier than it may be, of those that come while the NPU computes."""
    commands = list(planned().commands)
    late = next(
        c for c in loads(tuple(commands))[4:] if not isinstance(commands[commands.index(c) - 1], DmaStart)
    )
    steps = [n for n, c in enumerate(commands) if isinstance(c, Compute) and n < commands.index(late)]
    commands.remove(late)
    commands.insert(steps[-1], late)
    assert "is in flight" in said(tuple(commands))
    assert executed(tuple(commands))


def test_a_row_does_not_lie_across_the_end() -> None:
    def smaller(place: Located) -> Located:
        return replace(place, bytes=place.bytes - 8) if place.rolls else place

    steps = (
        replace(c, reads=tuple(map(smaller, c.reads))) if isinstance(c, Compute) else c
        for c in planned().commands
    )
    assert "lies within a row" in said(tuple(steps))


def test_no_later_turn_ends_within_a_row() -> None:
    """Of rows of 32 bytes from byte 16 on the first turn ends after three, the next one half a row on."""
    place = Located(Part("x"), 0, 112, rolls=True, first=16)
    (fault,) = turn_faults(place, 1024, 32, turns=True, made=False)
    assert "lies within a row" in fault
    assert not list(turn_faults(replace(place, bytes=128, first=32), 1024, 32, turns=True, made=False))


def test_the_header_names_the_rolling_buffer() -> None:
    plan = plan_of_planned(planned(), with_memory(SLOW, 512), "one", ())
    (ring,) = rings(layout_of(plan, "plan.json"))
    assert ring == Ring(ring.buffer, "x", 192, 32)
