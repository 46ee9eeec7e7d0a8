"""Loops whose iterations read and make slices: planned, checked and simulated, with costs per slice."""

from dataclasses import replace
from random import Random

import pytest

from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import Command, Compute, DmaStart, Repeat, resolve_path
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Vector
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from dma.stream import streamers
from tests.support.bounds import lower_bound_cycles
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.random_trees import RandomTree
from workloads.build.builder import ProgramBuilder
from workloads.build.loop_tensors import allocate, collect, equally_likely, hand_over, pick
from workloads.build.shapes import Value

SLICE = 64


def stacked(iterations: int = 6, side: int = SLICE) -> Program:
    """Each iteration reads a slice of ``xs`` and makes one of ``ys``; both are inputs and outputs."""
    builder = ProgramBuilder("stacked")
    xs = builder.input("xs", (iterations, side))
    with builder.block() as body:
        y = builder.elementwise("relu", "y", [pick(builder, "x", xs, iterations, (side,))])
        whole = Value("ys", (iterations, side), "int8")
        collect(builder, "y.slice", y, whole, iterations)
    allocate(builder, "ys.room", "ys", (iterations, side), "int8")
    builder.add_loop("loop", iterations, body, ["ys"])
    builder.output(whole)
    return builder.build()


def moved(commands: tuple[Command, ...], direction: str, times: int = 1) -> int:
    """Bytes of all transfers of one direction, every iteration counted."""
    total = 0
    for command in commands:
        match command:
            case DmaStart() if command.direction == direction:
                total += times * command.bytes
            case Repeat():
                total += moved(command.body, direction, times * command.iterations)
            case _:
                pass
    return total


@pytest.mark.parametrize("size", [4096, 2 * SLICE + 16, 96])
@pytest.mark.parametrize("streamer", sorted(streamers()))
def test_whatever_fits_each_slice_moves_once(size: int, streamer: str) -> None:
    program, chip = stacked(), with_memory(LUNA_LIKE, size, 1)
    planned = plan(PlanRequest(program, chip, "large-first", streamer))
    assert not verify(program, planned.commands, chip)
    # Each slice is moved once in its iteration, whether or not everything fits in SharedMemory; `x` and `y`,
    # which may not fit, are not counted.
    own = {"xs", "ys"}
    transfers = [c for c in flat(planned.commands) if isinstance(c, DmaStart) and c.at.part.name in own]
    loaded = sum(c.bytes for c in transfers if c.direction == "load")
    stored = sum(c.bytes for c in transfers if c.direction == "store")
    assert (loaded, stored) == (SLICE, SLICE)


def flat(commands: tuple[Command, ...]) -> list[Command]:
    found: list[Command] = []
    for command in commands:
        found += flat(command.body) if isinstance(command, Repeat) else [command]
    return found


def test_the_npu_pays_for_the_slice_and_not_for_the_whole() -> None:
    program = stacked(iterations=50)
    chip = with_memory(LUNA_LIKE, 1 << 16)
    steps = {
        c.op: c
        for c in flat(plan(PlanRequest(program, chip, "large-first", "sync")).commands)
        if isinstance(c, Compute)
    }
    assert steps["y.slice"].cycles == steps["y"].cycles == SLICE // 8
    assert steps["ys.room"].cycles == 0
    (write,) = steps["y.slice"].writes
    assert len(write.moved) == SLICE


def test_the_bound_counts_the_slices_of_the_iterations_that_run() -> None:
    program, chip = stacked(iterations=8, side=4096), with_memory(LUNA_LIKE, 1 << 20)
    few, all_of_them = ({"loop": str(iterations)} for iterations in (2, 8))
    assert lower_bound_cycles(program, chip, few) < lower_bound_cycles(program, chip, all_of_them) // 2
    commands = plan(PlanRequest(program, chip)).commands
    for path in (few, all_of_them):
        assert simulate(commands, chip, resolve_path(commands, path)).cycles >= lower_bound_cycles(
            program, chip, path
        )


def in_place(size: int = 240, rows: int = 12) -> Program:
    """A carried tensor that an op of the loop reads and writes."""
    builder = ProgramBuilder("in place")
    x = builder.input("x", (rows, size // rows))
    h = builder.elementwise("copy", "first", [x], outputs=["h"])
    with builder.block() as body:
        builder.elementwise("relu", "step", [h], outputs=["h"])
    builder.add_loop("loop", 3, body, ["h"])
    builder.output(h)
    return builder.build()


@pytest.mark.parametrize("size", [4096, 256, 128, 64, 48])
@pytest.mark.parametrize("streamer", sorted(streamers()))
def test_an_op_may_read_and_write_one_carried_tensor(size: int, streamer: str) -> None:
    program, chip = in_place(), with_memory(LUNA_LIKE, size, 1)
    validate_program(program)
    planned = plan(PlanRequest(program, chip, "large-first", streamer))
    assert not verify(program, planned.commands, chip)
    if size < 240:
        # Once in and once out for the copy, and for each of the three iterations.
        assert moved(planned.commands, "load") == moved(planned.commands, "store") == 4 * 240


def late_read(program: Program, chip: Chip) -> tuple[Command, ...]:
    """A plan whose second stripe reads the first one's input again, which is overwritten by then."""
    commands = plan(PlanRequest(program, chip, "large-first", "sync")).commands

    def spoil(body: tuple[Command, ...]) -> tuple[Command, ...]:
        first: DmaStart | None = None
        result: list[Command] = []
        for command in body:
            match command:
                case Repeat():
                    command = replace(command, body=spoil(command.body))
                case DmaStart() if command.direction == "load" and command.op == "step":
                    first = first or command
                    part = replace(command.at.part, share=first.at.part.share)
                    command = replace(command, at=replace(command.at, part=part))
                case _:
                    pass
            result.append(command)
        return tuple(result)

    return spoil(commands)


def test_a_stripe_that_is_read_after_it_was_written_is_caught() -> None:
    program, chip = in_place(), with_memory(LUNA_LIKE, 128, 1)
    assert any(
        "not completely in Psram" in fault for fault in verify(program, late_read(program, chip), chip)
    )


def test_a_slice_that_is_not_stored_is_caught() -> None:
    program, chip = stacked(), with_memory(LUNA_LIKE, 160, 1)
    commands = plan(PlanRequest(program, chip, "large-first", "sync")).commands

    def without(body: tuple[Command, ...]) -> tuple[Command, ...]:
        kept = [c for c in body if not ("store" in getattr(c, "name", "") and "ys" in getattr(c, "name", ""))]
        return tuple(replace(c, body=without(c.body)) if isinstance(c, Repeat) else c for c in kept)

    assert verify(program, without(commands), chip)


class LoopTree(RandomTree):
    """Random nests of loops with slices, stacks, carried tensors in place or copied, and ops on them."""

    branches, loops = 0.1, 0.6

    def __init__(self, seed: int) -> None:
        super().__init__(Random(seed), 3)
        self.seed = seed

    def program(self) -> Program:
        builder = ProgramBuilder(f"iterations-{self.seed}")
        sides = self.random.randint(1, 5)
        shapes = [(self.random.randint(1, 4), self.random.randint(1, 4), sides) for _ in range(2)]
        values = [builder.input(f"x{i}", shape) for i, shape in enumerate(shapes)]
        self.block(builder, values, 2)
        made = values[2:] or [builder.elementwise("relu", "last", [values[0]])]
        for value in self.random.sample(made, min(2, len(made))):
            builder.output(value)
        return builder.build()

    def op(self, builder: ProgramBuilder, values: list[Value]) -> tuple[Value, ...]:
        value = self.random.choice(values)
        twins = [v for v in values if v.shape == value.shape]
        if self.random.random() < 0.3:
            return (builder.dense(self.name("t"), value, self.random.randint(1, 5)),)
        return (builder.elementwise("add", self.name("t"), [value, self.random.choice(twins)]),)

    def arm_count(self) -> int:
        return 2

    def joined(self) -> str | None:
        return None

    def loop(self, builder: ProgramBuilder, values: list[Value], depth: int) -> None:
        """One that may also read slices of a tensor, and stack those that it makes."""
        name, source = self.name("loop"), self.random.choice(values)
        slices = source.shape[0] if len(source.shape) > 1 else 1
        iterations = self.random.randint(1, slices) if slices > 1 else self.random.randint(1, 3)
        start = self.random.choice(values)
        state = builder.elementwise("copy", self.name("copy"), [start], outputs=[self.name("h")])
        whole: Value | None = None
        carried = [state.name]
        with builder.block() as body:
            inside = [*values, state]
            if slices > 1:
                inside.append(pick(builder, self.name("slice"), source, slices, source.shape[1:]))
            self.block(builder, inside, depth)
            if iterations > 1 and self.random.random() < 0.8:
                piece = self.random.choice(inside)
                whole = Value(self.name("ys"), (iterations, *piece.shape), piece.dtype)
                collect(builder, self.name("collect"), piece, whole, iterations)
                carried.append(whole.name)
            self.carry(builder, inside, state)
        if whole:
            allocate(builder, self.name("room"), whole.name, whole.shape, whole.dtype)
            values.append(whole)
        chances = equally_likely(1, iterations) if self.random.random() < 0.3 else ()
        builder.add_loop(name, iterations, body, carried, chances)
        values.append(state)

    def carry(self, builder: ProgramBuilder, inside: list[Value], carried: Value) -> None:
        same = [v for v in inside if v.shape == carried.shape and v.name != carried.name]
        if not same or self.random.random() < 0.4:
            builder.elementwise("relu", self.name("t"), [carried], outputs=[carried.name])
        else:
            hand_over(builder, self.name("l"), {carried.name: self.random.choice(same)})


def test_shares_of_slices() -> None:
    op = Op("c", "collect", Vector(8, 8, 8, rows=4), ("y", "ys"), ("ys",), sliced="ys", slices=3)
    from chipmodel.geometry.interval import Interval

    rows, one = Interval(2, 4), Interval(0, 1)
    assert op.reads(0, rows, one).bytes(8) == 4
    assert op.reads(1, rows, one).bytes(24) == 0
    assert op.writes("ys", rows, one).bytes(24) == 4
    assert op.writes("ys", Interval(0, 4), one).bytes(24) == 8
