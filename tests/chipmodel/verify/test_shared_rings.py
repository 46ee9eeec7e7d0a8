"""Plans in which tensors share a rolling buffer row by row: right ones, and broken ones that are noticed."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Command, Compute, Located
from chipmodel.model.program import Program
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.commands import verify
from dma.residency.rows_in_place import with_rows_in_place
from tests.support.chips import LUNA_LIKE
from workloads.build.builder import ProgramBuilder


def network(relu: bool = False) -> Program:
    """Three convolutions of images of 8 rows of 16 bytes, between pooling of the input and of the output."""
    builder = ProgramBuilder("chain")
    x = builder.pool("a", builder.input("x", (1, 2, 16, 16)), (2, 2))
    for name in ("b", "c", "d"):
        x = builder.conv(name, x, 2, (3, 3), pad=1)
    if relu:
        x = builder.elementwise("relu", "e", [x])
    builder.output(builder.pool("f", x, None))
    return reuse(builder.build(), "all")


def planned(program: Program, rows: int = 1, chip: Chip = LUNA_LIKE) -> Planned:
    request = PlanRequest(program, chip, "large-first", "sync", spill=False)
    return plan_in_rounds(
        request, cascaded=with_rows_in_place(program, chip, dict.fromkeys(("b", "c", "d"), rows))
    )


def said(program: Program, commands: tuple[Command, ...], chip: Chip = LUNA_LIKE) -> str:
    return "; ".join(verify(program, commands, chip))


def executed(program: Program, commands: tuple[Command, ...]) -> list[str]:
    run = PlanRun(program, [commands], LUNA_LIKE.shared_memory.bytes)
    return [fault for verdict in check_paths(run, {}) for fault in verdict.faults]


@pytest.mark.parametrize("rows", [1, 2, 3, 8])
@pytest.mark.parametrize("relu", [False, True])
def test_each_number_of_rows_is_right(rows: int, relu: bool) -> None:
    program = network(relu)
    made = planned(program, rows)
    assert [rows for _, rows in made.schedule.in_rows] == [rows] * 3
    assert not said(program, made.commands)
    assert not executed(program, made.commands)


def test_tensors_of_128_bytes_share_a_buffer_of_two_rows_more() -> None:
    made = planned(network())
    [ring] = [b for b in made.problem.buffers if b.name == "a"]
    assert ring.bytes == 128 + 2 * 16
    places = {p.part.name: p.first for c in made.commands if isinstance(c, Compute) for p in c.writes}
    assert places == {"a": 32, "b": 0, "c": 128, "d": 96, "f": 0}


Change = Callable[[Located], Located]


def changed(commands: tuple[Command, ...], op: str, change: Change) -> tuple[Command, ...]:
    """The same commands with the places of rolling tensors in the steps of ``op`` changed."""

    def step(command: Command) -> Command:
        if not isinstance(command, Compute) or command.op != op:
            return command
        reads, writes = (
            tuple(change(p) if p.rolls else p for p in each) for each in (command.reads, command.writes)
        )
        return replace(command, reads=reads, writes=writes)

    return tuple(map(step, commands))


def moved(name: str, by: int) -> Change:
    """Let the tensor ``name`` begin ``by`` bytes higher."""

    def change(place: Located) -> Located:
        if place.part.name != name:
            return place
        first = (place.first + by) % place.bytes
        size = len(place.touched) if place.touched else 0
        start = place.touched.start if place.touched else 0
        start = (start + by) % place.bytes
        whole = start + size > place.bytes or size == place.bytes
        return replace(
            place, first=first, touched=Interval(0, place.bytes) if whole else Interval(start, start + size)
        )

    return change


def test_an_output_one_row_too_high_is_noticed_by_both() -> None:
    """``b`` then lies a row below ``a``: its row 1 is written over row 0 of ``a``, which that step reads."""
    program = network()
    commands = planned(program).commands
    for op in ("b", "c"):
        commands = changed(commands, op, moved("b", 16))
    assert "over its own operand 'a'" in said(program, commands)


def test_a_reader_looks_where_the_tensor_begins() -> None:
    program = network()
    commands = changed(planned(program).commands, "c", moved("b", 32))
    assert "'b' is not at 512" in said(program, commands)
    assert executed(program, commands)


def test_a_tensor_goes_round_between_rows_alone() -> None:
    program = network()
    commands = planned(program).commands
    for op in ("c", "d"):
        commands = changed(commands, op, moved("c", -8))
    assert "lies within a row" in said(program, commands)


def test_a_chip_that_cannot_go_round_has_no_such_plan() -> None:
    program = network()
    chip = replace(LUNA_LIKE, npu=replace(LUNA_LIKE.npu, rolling_buffers=False))
    assert "which the NPU cannot address" in said(program, planned(program).commands, chip)
    straight = planned(program, chip=chip)
    assert not said(program, straight.commands, chip)
    assert straight.solved.peak > planned(program).solved.peak


def test_a_buffer_smaller_than_its_tensor_is_noticed() -> None:
    program = network()
    smaller = changed(planned(program).commands, "b", lambda place: replace(place, bytes=112, first=0))
    assert "which has no room for its 128" in said(program, smaller)
