"""The order of events at a position, and addresses from offsets: schedules written by hand."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import (
    Acquire,
    Branch,
    Command,
    Compute,
    DmaMove,
    DmaStart,
    DmaWait,
    Located,
    Release,
    Repeat,
)
from chipmodel.model.core_parts import CorePart
from chipmodel.model.plan import Plan
from chipmodel.model.program import Program
from chipmodel.model.schedule import (
    BufferSpec,
    Direction,
    Operand,
    Part,
    Schedule,
    Step,
    StepArm,
    StepIf,
    StepLoop,
    StepNode,
    Transfer,
)
from chipmodel.passes.lower import lower
from tests.support.narrowed import of_kind

ONE = Interval(0, 1)
BUFFERS = {"p": BufferSpec("p", 64), "q": BufferSpec("q", 32)}
PLAN = Plan({"p": 128, "q": 16})


def step(position: int, reads: tuple[Operand, ...] = (), writes: tuple[Operand, ...] = ()) -> Step:
    return Step(position, f"op{position}", ONE, ONE, 5 + position, reads, writes, f"step{position}")


def transfer(name: str, direction: Direction, issue: int, due: int, buffer: str = "p") -> Transfer:
    return Transfer(name, direction, Part(name), buffer, 8, issue, due)


def lowered(body: tuple[StepNode, ...], *transfers: Transfer) -> tuple[Command, ...]:
    return lower(Schedule(body, transfers, BUFFERS, "by hand"), PLAN)


def words(commands: Iterable[Command]) -> list[str]:
    result: list[str] = []
    for command in commands:
        match command:
            case DmaStart():
                result.append(f"start {command.name} for {command.op}")
            case DmaWait():
                result.append(f"wait {command.name} by {command.op}")
            case Compute():
                result.append(f"compute {command.label}")
            case Branch() | Repeat():
                result.append(command.name)
            case Release() | Acquire():
                pytest.fail("only a program on several cores releases and acquires")
            case DmaMove():
                pytest.fail("only a chip with further memories moves data between them")
    return result


def test_the_order_of_events_at_one_position() -> None:
    body = (step(0), step(1), step(2))
    commands = lowered(
        body,
        transfer("later", "load", 1, 2),
        transfer("now", "load", 1, 1),
        transfer("before", "load", 0, 1),
        transfer("out", "store", 1, 1),
        transfer("slow out", "store", 0, 1),
        transfer("late out", "store", 1, 2),
    )
    assert words(commands) == [
        "start before for op1",
        "compute step0",
        "start slow out for op0",
        # position 1
        "wait before by op1",
        "start now for op1",
        "wait now by op1",
        "start later for op2",
        "compute step1",
        "start out for op1",
        "start late out for op1",
        "wait out by op1",
        "wait slow out by op1",
        # position 2
        "wait later by op2",
        "compute step2",
        "wait late out by op2",
    ]


def test_addresses_are_the_plans_and_sizes_the_buffers() -> None:
    read, write = Operand(Part("x", weights=True), "p"), Operand(Part("y"), "q")
    load, compute = lowered((step(0, (read,), (write,)),), transfer("x", "load", 0, 0, "q"))[::2]
    assert isinstance(load, DmaStart)
    assert isinstance(compute, Compute)
    assert (load.at, load.bytes, load.direction) == (Located(Part("x"), 16, 32, buffer="q"), 8, "load")
    assert compute.reads == (Located(Part("x", weights=True), 128, 64, buffer="p"),)
    assert compute.writes == (Located(Part("y"), 16, 32, buffer="q"),)
    assert (compute.op, compute.position, compute.cycles) == ("op0", 0, 5)
    assert (compute.rows, compute.channels) == (ONE, ONE)


def test_runs_in_psram_are_the_schedules() -> None:
    moved = replace(transfer("x", "store", 0, 0), psram=40, home=Interval(32, 64), runs=2, pitch=16)
    store = of_kind(DmaStart, lowered((step(0),), moved)[1])
    assert (store.psram, store.home, store.runs, store.pitch) == (40, Interval(32, 64), 2, 16)
    # Eight bytes in two runs of four: the second one begins at 56.
    assert (store.run_bytes, store.psram_end) == (4, 60)


def test_control_flow_keeps_its_shape() -> None:
    condition = Operand(Part("c"), "q")
    inner = StepLoop("loop", 4, (step(1),))
    body = (
        step(0),
        StepIf("if", (StepArm("a", (inner,)), StepArm("b", ())), condition),
        StepIf("outside", (StepArm("c", (step(2),)),)),
    )
    commands = lowered(body, transfer("t", "load", 1, 1), transfer("s", "store", 2, 2))
    _, branch, outside = commands
    assert isinstance(branch, Branch)
    assert isinstance(outside, Branch)
    assert (branch.name, branch.condition) == ("if", Located(Part("c"), 16, 32, buffer="q"))
    assert outside.condition is None
    assert [(arm.name, len(arm.body)) for arm in branch.arms] == [("a", 1), ("b", 0)]
    (loop,) = branch.arms[0].body
    assert isinstance(loop, Repeat)
    assert (loop.name, loop.iterations) == ("loop", 4)
    assert words(loop.body) == ["start t for op1", "wait t by op1", "compute step1"]
    assert words(outside.arms[0].body) == ["compute step2", "start s for op2", "wait s by op2"]


def words_of_a_core(body: tuple[StepNode, ...], *transfers: Transfer) -> list[str]:
    """Of core 0, which reads ``far`` of core 1 and makes ``mine`` for others in ``op0``."""
    part = CorePart(0, Program("cores", {}, {}, (), (), ()), {"far": 1}, {"mine": "op0"})

    def spoken(commands: Iterable[Command]) -> Iterator[str]:
        for command in commands:
            match command:
                case Acquire():
                    yield f"acquire {command.tensor} of core {command.core} for {command.op}"
                case Release():
                    yield f"release {command.tensor} after {command.op}"
                case Branch():
                    for arm in command.arms:
                        yield f"{arm.name} ({', '.join(spoken(arm.body))})"
                case _:
                    yield from words((command,))

    return list(spoken(lower(Schedule(body, transfers, BUFFERS, "by hand"), PLAN, part)))


def test_tensors_of_other_cores_are_loaded_last_after_one_wait_for_their_core() -> None:
    weights = replace(transfer("w", "load", 0, 0), part=Part("far", weights=True))
    again = replace(transfer("far again", "load", 2, 2), part=Part("far"))
    near, far = transfer("near", "load", 1, 1), transfer("far", "load", 1, 1)
    assert words_of_a_core((step(0), step(1), step(2)), far, near, weights, again) == [
        "start w for op0",  # weights of an op that has the tensor's name are this core's own
        "wait w by op0",
        "compute step0",
        "release mine after op0",
        "start near for op1",
        "acquire far of core 1 for op1",
        "start far for op1",
        "wait far by op1",
        "wait near by op1",
        "compute step1",
        "start far again for op2",
        "wait far again by op2",
        "compute step2",
    ]


def test_what_an_arm_has_waited_for_is_waited_for_on_other_paths_too() -> None:
    again = replace(transfer("far again", "load", 2, 2), part=Part("far"))
    body = (step(0), StepIf("if", (StepArm("a", (step(1),)), StepArm("b", ()))), step(2))
    assert words_of_a_core(body, transfer("far", "load", 1, 1), again)[2:] == [
        "a (acquire far of core 1 for op1, start far for op1, wait far by op1, compute step1)",
        "b ()",
        "acquire far of core 1 for op2",
        "start far again for op2",
        "wait far again by op2",
        "compute step2",
    ]


def test_a_tensor_is_released_after_the_last_step_that_makes_it() -> None:
    parts = tuple(replace(step(position), op="op0") for position in (0, 1))
    assert words_of_a_core((*parts, step(2))) == [
        "compute step0",
        "compute step1",
        "release mine after op0",
        "compute step2",
    ]


def test_slices_of_a_loop_move_on_with_its_iterations() -> None:
    """A slice of 8 bytes for each iteration: the first one is loaded before the loop, or each in it; each is
    stored from a buffer that has all slices."""
    load = replace(transfer("in", "load", 1, 2), advance=8)
    once = replace(transfer("first", "load", 0, 1), advance=8)
    store = replace(transfer("out", "store", 2, 2, "q"), in_tensor=True, advance=8)
    body = (step(0), StepLoop("loop", 3, (step(1), step(2))))
    commands = lowered(body, once, load, store)
    (loop,) = (c for c in commands if isinstance(c, Repeat))
    starts = [c for c in (*commands, *loop.body) if isinstance(c, DmaStart)]
    assert [(c.name, c.advance, c.at.advance, c.at.in_tensor) for c in starts] == [
        ("first", 0, 0, False),
        ("in", 8, 0, False),
        ("out", 8, 8, True),
    ]


def test_a_tensor_in_a_concat_keeps_its_runs() -> None:
    inside = Operand(Part("x"), "p", None, 4, 32, runs=4, pitch=16)
    (compute,) = lowered((step(0, (inside,)),))
    assert isinstance(compute, Compute)
    assert compute.reads == (Located(Part("x"), 132, 32, runs=4, pitch=16, buffer="p"),)
    assert compute.reads[0].moved == Interval(132, 132 + 3 * 16 + 8)
