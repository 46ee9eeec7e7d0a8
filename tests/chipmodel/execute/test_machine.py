"""The machine on commands written by hand: it moves the bytes that they name, when they say so."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.machine import Execution, RunOptions, execute
from chipmodel.execute.op_part import OpPart
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.commands import (
    Acquire,
    Command,
    Compute,
    DmaStart,
    DmaWait,
    Located,
    Release,
    Repeat,
    resolve_path,
)
from chipmodel.model.program import Loop, Op, Program, Tensor
from chipmodel.model.schedule import Direction, Part
from chipmodel.model.work import Vector
from tests.support.narrowed import of_kind

SIZE = 8
X = np.arange(SIZE, dtype=np.uint8)
ROWS, ONE = Interval(0, SIZE), Interval(0, 1)
HOME_X, HOME_Y = Interval(16, 16 + SIZE), Interval(32, 32 + SIZE)


def plus_one(
    op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, part: OpPart
) -> Sequence[Bytes]:
    """The first input plus 1 in the rows of the part, 0 elsewhere."""
    made = np.zeros(SIZE, np.uint8)
    own = slice(part.rows.start, part.rows.stop)
    made[own] = inputs[0][own] + np.uint8(1)
    return (made,)


def network() -> Program:
    """``y`` is ``x + 1``, and so is ``z`` of ``y``."""
    tensors = {name: Tensor(name, SIZE, (SIZE,)) for name in "xyz"}
    ops = tuple(Op(f"make {b}", "add", Vector(SIZE, SIZE, SIZE, SIZE), (a,), (b,)) for a, b in ("xy", "yz"))
    return Program("two", tensors, {}, ("x",), ("y",), ops[:1])


def start(direction: Direction, name: str, offset: int, home: Interval, size: int = SIZE) -> DmaStart:
    at = Located(Part(name), offset, size)
    return DmaStart(f"{direction} {name}", direction, size, at, "op", home.start, home)


def compute(reads: Located, writes: Located, rows: Interval = ROWS) -> Compute:
    return Compute("step", "make y", 0, rows, ONE, 1, (reads,), (writes,))


LOAD, STORE = start("load", "x", 0, HOME_X), start("store", "y", 8, HOME_Y)
LOADED, STORED = DmaWait("load x", "op"), DmaWait("store y", "op")
STEP = compute(Located(Part("x"), 0, SIZE), Located(Part("y"), 8, SIZE))


def run(*streams: tuple[Command, ...], program: Program | None = None) -> Execution:
    chosen = network() if program is None else program
    path = resolve_path(tuple(c for stream in streams for c in stream), {})
    options = RunOptions(evaluate=plus_one)
    return execute(chosen, streams, 16, {"x": X}, {}, path, options)


ELSEWHERE = replace(STEP, writes=(Located(Part("y"), 0, 8),))
FROM_ELSEWHERE = replace(STEP, reads=(Located(Part("x"), 1, 8),))
WRONG: dict[str, tuple[Command, ...]] = {
    "step before the load has arrived": (LOAD, STEP, LOADED, STORE, STORED),
    "store before the step": (LOAD, LOADED, STORE, STEP, STORED),
    "store never waited for": (LOAD, LOADED, STEP, STORE),
    "written elsewhere": (LOAD, LOADED, ELSEWHERE, STORE, STORED),
    "read elsewhere": (LOAD, LOADED, FROM_ELSEWHERE, STORE, STORED),
    "wrong Psram address": (replace(LOAD, psram=17), LOADED, STEP, STORE, STORED),
    "store past the home": (LOAD, LOADED, STEP, replace(STORE, psram=33), STORED),
    "wrong direction": (replace(LOAD, direction="store"), LOADED, STEP, STORE, STORED),
    "a row too few": (LOAD, LOADED, replace(STEP, rows=Interval(0, 7)), STORE, STORED),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_plan_computes_something_else(name: str) -> None:
    assert not np.array_equal(run(WRONG[name]).outputs["y"], X + 1)


def test_a_step_that_writes_the_same_again_does_no_harm_to_its_store() -> None:
    again = (LOAD, LOADED, STEP, STORE, LOAD, LOADED, STEP, STORED)
    assert np.array_equal(run(again).outputs["y"], X + 1)


def test_a_buffer_that_changes_while_its_store_is_in_flight_is_stored_as_garbage() -> None:
    other = start("load", "x", 8, HOME_X)
    found = run((LOAD, LOADED, STEP, STORE, replace(other, name="over it"), STORED))
    assert not np.array_equal(found.outputs["y"], X + 1)


@pytest.mark.parametrize(
    "step", [replace(STEP, rows=Interval(0, SIZE + 1)), replace(STEP, channels=Interval(0, 2))]
)
def test_a_step_beyond_its_op_is_a_fault(step: Compute) -> None:
    """The plan of a network for larger images raised IndexError."""
    found = run((LOAD, LOADED, step, STORE, STORED))
    assert found.faults == ["step 'step' computes more than 'make y' has: 8 rows and 1 channels"]


def test_addresses_beyond_a_memory_are_faults() -> None:
    assert "SharedMemory of core 0" in run((replace(LOAD, at=Located(Part("x"), 9, 8)),)).faults[0]
    assert run((LOAD, LOAD)).faults == ["transfer 'load x' starts again before it has been waited for"]


def four_copies(
    op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, part: OpPart
) -> Sequence[Bytes]:
    """The iteration's slice of two bytes, each byte four times."""
    return (np.repeat(inputs[0].reshape(4, 2)[part.iteration], 4),)


@pytest.mark.parametrize(("advance", "wanted"), [(2, 6), (4, 4)])
def test_slices_move_on_with_each_iteration_and_begin_again_at_the_home(advance: int, wanted: int) -> None:
    """The last of four iterations loads bytes 6 and 7 of ``x``; by four bytes each it is 4 and 5 again."""
    (made,) = network().body
    program = replace(network(), body=(Loop("loop", 4, (replace(of_kind(Op, made), sliced="x", slices=4),)),))
    share = Share(Interval(0, 1), 4)
    at = Located(Part("x", share), 0, 2)
    load = replace(start("load", "x", 0, HOME_X, 2), at=at, advance=advance)
    step = compute(at, Located(Part("y"), 8, SIZE))
    commands = (Repeat("loop", 4, (load, LOADED, step)), STORE, STORED)
    options = RunOptions(evaluate=four_copies)
    found = execute(program, (commands,), 16, {"x": X}, {}, resolve_path(commands, {}), options)
    assert found.outputs["y"].tolist() == [*4 * [wanted], *4 * [wanted + 1]]


FAR = Acquire("y", 0, "make z")


def two_cores(second: tuple[Command, ...]) -> Execution:
    program = network()
    tensors = program.tensors
    last = Op("make z", "add", Vector(SIZE, SIZE, SIZE, SIZE), ("y",), ("z",))
    both = replace(program, tensors=tensors, outputs=("z",), body=(*program.body, last))
    return run((LOAD, LOADED, STEP, STORE, Release("y", "make y"), STORED), second, program=both)


HOME_Z = Interval(48, 56)
NEXT = replace(STEP, op="make z", reads=(Located(Part("y"), 0, 8),), writes=(Located(Part("z"), 8, 8),))
READ, WRITE = start("load", "y", 0, HOME_Y), start("store", "z", 8, HOME_Z)
SECOND = (READ, DmaWait("load y", "op"), NEXT, WRITE, DmaWait("store z", "op"))


def test_a_core_that_does_not_wait_finds_garbage() -> None:
    assert not np.array_equal(two_cores(SECOND).outputs["z"], X + 2)


def test_cores_that_wait_forever_are_a_fault() -> None:
    assert two_cores((replace(FAR, tensor="z"), *SECOND)).faults == [
        "core 1 waits forever for 'z' of core 0 before op 'make z'"
    ]
    assert run((replace(FAR, core=3),)).faults == ["'y' is acquired of core 3: there is none"]
