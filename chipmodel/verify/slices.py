"""Check transfers of slices, of which each iteration of a loop moves another one, and of parts in tensors."""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.geometry.share import WHOLE
from chipmodel.model.commands import Command, Compute, DmaStart, DmaWait
from chipmodel.model.program import Op, Program
from chipmodel.verify.cascade_table import CascadeTable
from chipmodel.verify.neighbours import Neighbours, node_name, placed_commands


def slice_faults(program: Program, commands: tuple[Command, ...], cascades: CascadeTable) -> Iterator[str]:
    """Transfers that advance by another number of bytes than a slice has, or for another iteration, and
    parts that are said to lie in their tensor where the buffer has no space for it, or the reverse."""
    placed = list(placed_commands(commands))
    ops = {op.name: op for op in program.ops()}
    due: dict[str, Neighbours] = {}
    for each in placed:
        if isinstance(each.command, DmaWait) and each.command.op == node_name(each.after):
            due[each.command.name] = each
    for each in placed:
        start = each.command
        if not isinstance(start, DmaStart) or start.op not in ops:
            continue
        if start.op not in cascades.of_op:  # a buffer for rows may have as many bytes as the tensor
            yield from _place_faults(program, start)
        loads = start.direction == "load"
        owner = due.get(start.name) if loads else each
        if owner is None:
            continue
        sizes = _advances(program, ops[start.op], start) if owner.loop == each.loop else (0,)
        if start.advance not in sizes:
            yield f"transfer {start.name!r} advances {start.advance} bytes an iteration, expected {sizes[0]}"
        elif start.at.advance != (start.advance if start.at.in_tensor else 0):
            yield f"transfer {start.name!r} advances {start.at.advance} bytes an iteration in its buffer"
        ahead = int(loads and start.advance > 0 and _position(each) > _position(owner))
        if start.ahead != ahead:
            yield f"transfer {start.name!r} is {start.ahead} iterations ahead, expected {ahead}"


def _position(load: Neighbours) -> int:
    """The step to which a load or the wait for one belongs."""
    return load.after.position if isinstance(load.after, Compute) else -1


def _advances(program: Program, op: Op, start: DmaStart) -> tuple[int, ...]:
    """The bytes of a slice, where ``op`` takes another one in each iteration; of a single slice that or 0."""
    part = start.at.part
    if part.weights or part.name != op.sliced:
        return (0,)
    size = program.tensors[part.name].bytes // op.slices
    if op.slices == 1:
        return 0, size
    return (0,) if part.share == WHOLE else (size,)


def _place_faults(program: Program, start: DmaStart) -> Iterator[str]:
    """A part is loaded alone, and stored from its tensor where the buffer has space for all of that."""
    part, tensor = start.at.part, program.tensors.get(start.at.part.name)
    size = tensor.bytes if tensor else 0
    expected = start.direction == "store" and part.share != WHOLE and start.at.bytes >= size
    if start.at.in_tensor != expected:
        where = "in its tensor" if expected else "alone"
        yield f"transfer {start.name!r} does not say that its part lies {where}"
