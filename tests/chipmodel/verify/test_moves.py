"""A right plan with moves between memories off chip, broken in one place: the verifier says where.

The executor, which knows nothing of what it should hold, computes something else for those that break data.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from chipmodel.execute.check import PlanRun, check_path
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Command, Compute, DmaMove, DmaStart, DmaWait
from chipmodel.model.fit import further_addresses
from chipmodel.model.program import Program
from chipmodel.model.schedule import Part
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import PlanRequest
from chipmodel.plan_file.contents import PlanFile
from chipmodel.verify.commands import verify
from chipmodel.verify.plan_file import verify_file
from dma.schedule.further_memories import with_further_memories
from tests.chipmodel.verify.test_memory_state import fresh
from tests.fuzz.further_memories import random_case

INPUT = "move x to second"
Commands = tuple[Command, ...]


@cache
def case() -> tuple[Program, Chip, PlanFile]:
    """A plan that copies the input ``x`` and slices of weights to the memory ``second``."""
    program, chip, packer, streamer = random_case(158)
    planned = plan(PlanRequest(program, replace(chip, memories=()), packer, streamer))
    schedule = with_further_memories(planned.program, planned.schedule, chip)
    planned = replace(planned, schedule=schedule)
    return planned.program, chip, plan_of_planned(planned, chip, "tiny", ())


def faults(commands: Commands) -> str:
    program, chip, _ = case()
    return "; ".join(verify(program, commands, chip))


def moves() -> list[DmaMove]:
    return [each for each in case()[2].commands if isinstance(each, DmaMove)]


def changed(name: str, change: Callable[[DmaMove], Command | None]) -> Commands:
    every = (change(c) if isinstance(c, DmaMove) and c.name == name else c for c in case()[2].commands)
    return tuple(each for each in every if each is not None)


def loads_of_copy() -> list[DmaStart]:
    targets = [move.target for move in moves() if move.name == INPUT]
    return [
        c
        for c in case()[2].commands
        if isinstance(c, DmaStart) and c.home in targets and c.at.part.name == "x"
    ]


def executed(commands: Commands) -> str:
    """What the executor says of other commands."""
    program, chip, _ = case()
    return "; ".join(check_path(PlanRun(program, (commands,), chip.shared_memory.bytes), {}, 1).faults)


def test_a_copy_is_loaded_only_after_the_move_was_waited_for() -> None:
    commands = list(case()[2].commands)
    wait = next(c for c in commands if isinstance(c, DmaWait) and c.name == INPUT)
    commands.remove(wait)
    at = max(i for i, c in enumerate(commands) if isinstance(c, Compute))
    late = (*commands[:at], replace(wait, op=commands[at].op), *commands[at:])  # type: ignore[union-attr]
    said = faults(late)
    assert f"transfer {loads_of_copy()[0].name!r} loads 'x' from {loads_of_copy()[0].home}" in said
    assert f"0 steps wait for transfer {INPUT!r}" in faults(tuple(commands))


def test_without_the_move_there_is_no_copy() -> None:
    said = faults(changed(INPUT, lambda move: None))
    assert "'x' in Psram: at" in said


def test_a_move_is_of_all_of_one_thing_between_two_memories() -> None:
    move = next(each for each in moves() if each.name == INPUT)
    half = Interval(move.target.start, move.target.stop - 1)
    assert "of the" in faults(changed(INPUT, lambda each: replace(each, bytes=each.bytes - 1)))
    assert "of the" in faults(changed(INPUT, lambda each: replace(each, target=half)))
    assert "moves within 'psram'" in faults(changed(INPUT, lambda each: replace(each, memory="psram")))
    assert "out of 'weights'" in faults(changed(INPUT, lambda each: replace(each, source="weights")))
    assert "which the chip does not have" in faults(
        changed(INPUT, lambda each: replace(each, memory="sixth"))
    )
    assert "which the program does not have" in faults(
        changed(INPUT, lambda each: replace(each, part=Part("nothing")))
    )
    assert "which its name does not say" in faults(changed(INPUT, lambda each: replace(each, name="a move")))
    assert "but" in faults(changed(INPUT, lambda each: replace(each, op="nobody")))


def test_a_copy_lies_inside_its_memory() -> None:
    _, chip, _ = case()
    end = further_addresses(chip)["second"].stop
    move = next(each for each in moves() if each.name == INPUT)
    beyond = Interval(end - 1, end - 1 + move.bytes)
    assert "lies beyond 'second'" in faults(changed(INPUT, lambda each: replace(each, target=beyond)))
    there = Interval(0, move.bytes)
    assert "lies beyond 'second'" in faults(changed(INPUT, lambda each: replace(each, target=there)))


def test_the_home_of_a_transfer_lies_in_the_memory_that_it_names() -> None:
    load = loads_of_copy()[0]
    other = tuple(replace(c, memory="") if c is load else c for c in case()[2].commands)
    assert "lies beyond 'psram'" in faults(other)
    absent = tuple(replace(c, memory="sixth") if c is load else c for c in case()[2].commands)
    assert "'sixth', which the chip does not have" in faults(absent)


def test_a_move_to_the_same_bytes_destroys_a_copy() -> None:
    first, other = moves()[0], moves()[1]
    state = fresh()
    assert state.move(first) == state.wait(first.name) == []
    assert state.copies == {first.part: first.target}
    assert state.move(replace(other, target=Interval(first.target.stop - 1, first.target.stop + 9))) == []
    assert state.copies == {}
    assert state.move(other) == [f"transfer {other.name!r} starts again before it has been waited for"]


def test_a_new_definition_ends_a_copy() -> None:
    move = next(each for each in moves() if each.name == INPUT)
    state = fresh("x")
    assert state.move(move) == state.wait(move.name) == []
    assert state.begin("x", "step 'again'") == []
    assert state.copies == {}
    assert state.move(move) == []
    assert state.begin("x", "step 'again'") == [f"step 'again' writes 'x' again while {INPUT!r} is in flight"]


def test_the_executor_finds_data_that_were_never_moved() -> None:
    assert executed(case()[2].commands) == ""
    late = next(each for each in moves() if each.name == INPUT)
    commands = [each for each in case()[2].commands if each is not late]
    end = max(commands.index(load) for load in loads_of_copy())
    commands.insert(end + 1, late)  # its wait finds nothing in flight
    assert "output 'last'" in executed(tuple(commands))


def test_the_table_says_which_memory_a_home_is_in() -> None:
    program, chip, written = case()
    stated = next(each for each in written.psram if each.memory or each.part == Part("x"))
    assert (stated.part, stated.memory) == (Part("x"), "")
    wrong = tuple(replace(each, memory="second") if each is stated else each for each in written.psram)
    assert any(
        "the table does not" in each for each in verify_file(program, replace(written, psram=wrong), chip)
    )
