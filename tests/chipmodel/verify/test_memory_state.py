"""The verifier's memory state, operation by operation, and damage that only exact bookkeeping finds."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Branch, Command, Compute, DmaStart, DmaWait, Located, Repeat
from chipmodel.model.program import Program
from chipmodel.model.schedule import Direction, Part
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from chipmodel.verify.memory_state import UNKNOWN, MemoryState
from chipmodel.verify.plan_file import verify_file
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network


def share(rows: tuple[int, int], of_rows: int = 8, channels: tuple[int, int] = (0, 1), of: int = 1) -> Share:
    return Share(Interval(*rows), of_rows, Interval(*channels), of)


def start(
    name: str, offset: int, size: int, direction: Direction = "load", part: Part | None = None
) -> DmaStart:
    return DmaStart(name, direction, size, Located(part or Part("t"), offset, size), "op")


def at(offset: int, size: int, part: Part | None = None) -> Located:
    return Located(part or Part("t"), offset, size)


def fresh(*psram: str) -> MemoryState:
    """Tensors of 8 bytes, of which these are in Psram, and 128 bytes of SharedMemory."""
    state = MemoryState.of(dict.fromkeys("tupx", 8), {"op": 8}, 128)
    for name in psram:
        state.fill(name)
    return state


def test_transfers_may_not_overlap_but_two_stores_may_read_the_same_bytes() -> None:
    state = fresh("t")
    assert state.start(start("a", 0, 8, "store")) == []
    assert state.start(start("b", 4, 8, "store")) == []
    (fault,) = state.start(start("c", 11, 4))
    assert fault == "transfer 'c' touches bytes [11, 15) while 'b' is in flight there"
    assert state.start(start("d", 15, 4)) == []
    (fault,) = state.write(at(3, 1, Part("u")), "step 's'")
    assert fault == "step 's' touches bytes [3, 4) while 'a' is in flight there"
    again = state.start(start("d", 40, 4))
    assert again == ["transfer 'd' starts again before it has been waited for"]


def full() -> MemoryState:
    state = fresh("x")
    state.write(at(0, 8), "step")
    state.start(start("store", 0, 8, "store"))
    state.start(start("part", 16, 8, "store", Part("p", share((0, 1), 2))))
    state.wait("part")
    return state


CHANGES: dict[str, Callable[[MemoryState], object]] = {
    "psram": lambda s: s.wait("store"),
    "shared": lambda s: s.shared.fill(UNKNOWN),
    "written": lambda s: s.written.fill(False),
    "in flight": lambda s: s.in_flight.clear(),
    "waited for": lambda s: s.wait("store"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_copy_is_independent_and_compared_field_by_field(name: str) -> None:
    state, other = full(), full().copy()
    assert state == other
    assert other == state.common(other)
    CHANGES[name](other)
    assert state != other
    assert state == full()
    joined = state.common(other)
    assert joined == other or name in ("psram", "written", "in flight", "waited for")
    assert (joined.written == state.written).all()
    assert joined.in_flight == state.in_flight
    assert joined.lost == state.in_flight.keys() - other.in_flight.keys()
    assert (joined.psram == (state.psram & other.psram)).all()
    assert joined == other.common(state)


def test_data_that_only_some_paths_have_waited_for_cannot_be_read_before_all_have() -> None:
    state = fresh("t")
    state.start(start("load t", 0, 8))
    waited = state.copy()
    waited.wait("load t")
    assert waited.same_transfers(state)
    assert state.same_transfers(waited)
    assert not state.same_transfers(fresh("t"))
    used = waited.copy()
    used.write(at(4, 2, Part("u")), "step")
    for past, kept in ((waited, True), (used, False)):
        for joined in (state.common(past), past.common(state), past.after_loop(state, ())):
            assert bool(joined.lost) == (past is used)
            assert joined.missing(at(0, 8)) == "reads 't' at 0 while 'load t' is in flight"
            again = joined.copy()
            assert again.start(start("load t", 0, 8))
            assert joined.wait("load t") == joined.wait("load t") == []
            assert not joined.in_flight
            assert not joined.lost
            assert (joined.missing(at(0, 8)) is None) == kept


# -- with the verifier -------------------------------------------------------------------------------


def striped() -> tuple[Program, Chip, tuple[Command, ...]]:
    program, chip = small_network("memory_state striped"), with_memory(LUNA_LIKE, 64, 1)
    return program, chip, plan(PlanRequest(program, chip, "large-first", "sync")).commands


def test_steps_with_overlapping_work_do_not_cover_an_op() -> None:
    """Three steps of as much work as a 4 x 4 op has, of which the first and the last overlap."""
    program = small_network("clash")
    commands = plan(PlanRequest(program, LUNA_LIKE, "large-first", "sync")).commands
    (whole,) = [c for c in commands if isinstance(c, Compute)]
    tiles = [((0, 4), (0, 2)), ((1, 2), (2, 4)), ((2, 4), (1, 4))]
    steps = [replace(whole, rows=Interval(*r), channels=Interval(*c)) for r, c in tiles]
    index = commands.index(whole)
    wrong = (*commands[:index], *steps, *commands[index + 1 :])
    assert "the steps of op 'm' do not cover its work exactly once" in verify(program, wrong, LUNA_LIKE)


def test_an_operand_with_a_wrong_buffer_size_is_reported() -> None:
    """Otherwise a step could write over the end of its own operand unseen."""
    program, chip, commands = striped()

    def shrunk(command: Command) -> Command:
        if isinstance(command, Compute):
            return replace(command, reads=tuple(replace(r, bytes=1) for r in command.reads))
        return command

    assert verify(program, commands, chip) == ()
    faults = verify(program, tuple(map(shrunk, commands)), chip)
    assert any("bytes, not 1" in fault for fault in faults)


def gated() -> tuple[Program, tuple[Command, ...]]:
    program = small_network("memory_state gated")
    return program, plan(PlanRequest(program, LUNA_LIKE, "large-first", "sync")).commands


def test_the_condition_of_an_if_must_be_in_one_of_the_memories() -> None:
    program, commands = gated()
    assert verify(program, commands, LUNA_LIKE) == ()
    blind = tuple(replace(c, condition=None) if isinstance(c, Branch) else c for c in commands)
    assert verify(program, blind, LUNA_LIKE) == (
        "if 'gate' finds 'decides' neither in SharedMemory nor in Psram",
    )


def test_two_buffers_with_the_same_name_in_a_plan_file_are_reported() -> None:
    program = small_network("memory_state twice")
    planned = plan(PlanRequest(program, LUNA_LIKE, "large-first", "sync"))
    file = plan_of_planned(planned, LUNA_LIKE, "test-chip", ())
    assert verify_file(program, file, LUNA_LIKE) == ()
    doubled = replace(file, buffers=(*file.buffers, replace(file.buffers[0], offset=64)))
    faults = verify_file(program, doubled, LUNA_LIKE)
    assert f"2 buffers of the plan are called {file.buffers[0].name!r}" in faults


def test_arms_that_do_nothing_need_no_condition() -> None:
    """The planner keeps no tensor for the condition, as both arms do the same."""
    program = small_network("idle")
    commands = plan(PlanRequest(program, LUNA_LIKE, "large-first", "sync")).commands
    (gate,) = [c for c in commands if isinstance(c, Branch)]
    assert gate.condition is None
    assert verify(program, commands, LUNA_LIKE) == ()


def test_rows_of_a_buffer_that_begins_with_others_are_not_where_they_are_read() -> None:
    """A stripe of rows 16 to 19 has rows 17 to 19 as well, one row further. ``check`` took a plan that
    read them at its start (seed 41 of ``python -m tests.fuzz broken-plans``)."""

    def place(*rows: int) -> Located:
        return Located(Part("x", Share(Interval(*rows), 30)), 96, 12)

    state = MemoryState.of({"x": 90}, {}, 128)
    state.write(place(16, 20), "step")
    assert state.missing(place(16, 20)) is None
    assert state.missing(place(16, 19)) is None
    assert state.missing(place(17, 20)) is not None
    assert state.missing(replace(place(17, 20), offset=99)) is None


def test_what_a_loop_loads_is_not_there_if_it_makes_no_iteration() -> None:
    """``check`` took a plan that read it after the loop, without the load there."""
    program = small_network("loop")
    loop, _, _, last, *after = plan(PlanRequest(program, LUNA_LIKE, "large-first", "sync")).commands
    assert isinstance(loop, Repeat)
    assert isinstance(last, Compute)
    load, _, inside = loop.body
    assert isinstance(load, DmaStart)
    assert isinstance(inside, Compute)
    body = (replace(load, name="load x"), DmaWait("load x", "y"), inside)
    commands = (replace(loop, body=body), replace(last, reads=inside.reads), *after)
    assert verify(program, commands, LUNA_LIKE) == ("step 'z': 'x' is not at 0",)
