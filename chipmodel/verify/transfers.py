"""Check transfers: their names and waits, the parts and slices that they move, and moves off chip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chipmodel.geometry.share import WHOLE
from chipmodel.model.commands import (
    Acquire,
    AnyTransfer,
    Branch,
    Command,
    Compute,
    DmaMove,
    DmaStart,
    DmaWait,
    Release,
    Repeat,
)
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import PSRAM, WEIGHTS
from chipmodel.model.tree import walk
from chipmodel.verify.cascade_table import CascadeTable
from chipmodel.verify.memory_state import of_any_iteration
from chipmodel.verify.neighbours import Neighbours, named, placed_commands
from chipmodel.verify.parts import part_label


def transfer_faults(commands: tuple[Command, ...], cascade_of: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with names and ops of transfers, waits, releases and acquires. ``cascade_of``: the name
    of the cascade of an op, which its transfers are named after."""
    placed = list(placed_commands(commands))
    starts: dict[str, AnyTransfer] = {}
    for each in placed:
        if isinstance(each.command, DmaStart | DmaMove):
            first = starts.setdefault(each.command.name, each.command)
            if of_any_iteration(first) != of_any_iteration(each.command):
                yield f"two different transfers are called {first.name!r}"
    yield from _title_faults(list(starts.values()), cascade_of)
    yield from _nested_moves(commands, starts)
    yield from _start_faults(placed)
    yield from _wait_faults(placed, starts)
    yield from _core_faults(placed)


# -- names -----------------------------------------------------------------------------------------


def _title_faults(starts: Sequence[AnyTransfer], cascade_of: Mapping[str, str]) -> Iterator[str]:
    """Names that do not say what is moved: ``load x``, ``store x from op``, ``load weights of op``, and
    where several are alike, which of them in the order of issue: ``load x for op [2/4]``."""
    alike: dict[str, list[AnyTransfer]] = {}
    for start in starts:
        if start.part.weights and not _loads(start):
            yield f"transfer {start.name!r} stores weights, which never change"
            continue
        titles = _titles(start, cascade_of.get(start.op, start.op))
        title = next((t for t in titles if _has_title(start.name, t)), None)
        if title is None:
            yield f"transfer {start.name!r} is a {titles[-1]!r}, which its name does not say"
        else:
            alike.setdefault(title, []).append(start)
    for title, group in alike.items():
        for number, start in enumerate(group, 1):
            expected = title if len(group) == 1 else f"{title} [{number}/{len(group)}]"
            if start.name != expected:
                yield f"transfer {start.name!r} is number {number} of {len(group)}: expected {expected!r}"


def _titles(start: AnyTransfer, op: str) -> tuple[str, ...]:
    """What a transfer may be called without its number, the longest first."""
    part = start.part
    if isinstance(start, DmaMove):
        return (f"move {part_label(part) if part.weights else part.name} to {start.memory}",)
    if part.weights:
        return (f"load weights of {part.name}",)
    title = f"{start.direction} {part.name}"
    return f"{title} {'for' if start.direction == 'load' else 'from'} {op}", title


def _has_title(name: str, title: str) -> bool:
    return name == title or (name.startswith(f"{title} [") and name.endswith("]"))


# -- the ops that need them ------------------------------------------------------------------------


def _loads(start: AnyTransfer) -> bool:
    """Whether a transfer is waited for before a step, as a move is, too."""
    return isinstance(start, DmaMove) or start.direction == "load"


def _start_faults(placed: Sequence[Neighbours]) -> Iterator[str]:
    """Loads that are issued before no step, stores that are issued after none, or after another op's."""
    for command, before, after, _ in placed:
        if not isinstance(command, DmaStart | DmaMove):
            continue
        if _loads(command):
            if not isinstance(after, Compute):
                yield f"transfer {command.name!r} is issued before no step"
        elif not isinstance(before, Compute):
            yield f"transfer {command.name!r} is issued after no step"
        elif named(before) != command.op:
            yield f"transfer {command.name!r} follows a step of {named(before)!r}, not of {command.op!r}"
        if isinstance(command, DmaStart) and command.at.touched is not None and not command.at.rolls:
            yield f"transfer {command.name!r} touches only a part of its bytes"


def _wait_faults(placed: Sequence[Neighbours], starts: Mapping[str, AnyTransfer]) -> Iterator[str]:
    """Every transfer has one wait at a step, its op's; further ones follow a branch or loop around it."""
    at_step: dict[str, list[DmaWait]] = {}
    after_fork: dict[str, list[str]] = {}
    waited_in: dict[str, set[str]] = {}
    for command, before, after, _ in placed:
        if not isinstance(command, DmaWait) or command.name not in starts:
            continue
        start = starts[command.name]
        if isinstance(before, Branch | Repeat) and command.op == before.name:
            after_fork.setdefault(command.name, []).append(before.name)
            if before.name not in waited_in:
                inside = (c for c in walk((before,)) if isinstance(c, DmaWait))
                waited_in[before.name] = {c.name for c in inside}
            if command.name not in waited_in[before.name]:
                yield f"after {before.name!r} is a wait for {command.name!r}, for which nothing in it waits"
            continue
        at_step.setdefault(command.name, []).append(command)
        step = after if _loads(start) else before
        if not isinstance(step, Compute) or command.op != step.op:
            yield f"a wait for {command.name!r} names {command.op!r}, but belongs to {named(step)!r}"
        if _loads(start) and command.op != start.op:
            yield f"transfer {command.name!r} is for {start.op!r}, but {command.op!r} waits for it"
    for name in starts:
        if len(at_step.get(name, ())) != 1:
            yield f"{len(at_step.get(name, ()))} steps wait for transfer {name!r}, expected 1"
    for name, forks in after_fork.items():
        if len(set(forks)) < len(forks):
            yield f"transfer {name!r} is waited for twice after the same branch or loop"


def _core_faults(placed: Sequence[Neighbours]) -> Iterator[str]:
    """Releases that do not follow what they name, and acquires that do not precede it."""
    released: set[str] = set()
    for command, before, after, _ in placed:
        match command:
            case Release(tensor=tensor, op=op):
                if named(before) != op:
                    yield f"the release of {tensor!r} follows {named(before)!r}, not {op!r}"
                if tensor in released:
                    yield f"{tensor!r} is released twice"
                released.add(tensor)
            case Acquire(tensor=tensor, op=op):
                if named(after) != op:
                    yield f"the acquire of {tensor!r} precedes {named(after)!r}, not {op!r}"
            case _:
                pass


def slice_faults(program: Program, commands: tuple[Command, ...], cascades: CascadeTable) -> Iterator[str]:
    """Transfers that advance by another number of bytes than a slice has, and parts that are said to lie in
    their tensor where the buffer has no space for it, or the reverse."""
    placed = list(placed_commands(commands))
    ops = {op.name: op for op in program.ops()}
    due = {
        each.command.name: each.loop
        for each in placed
        if isinstance(each.command, DmaWait) and each.command.op == named(each.after)
    }
    for each in placed:
        start = each.command
        if not isinstance(start, DmaStart) or start.op not in ops:
            continue
        loads, part = start.direction == "load", start.at.part
        in_tensor = not loads and part.share != WHOLE and cascades.has_tensor(start.op, start.at)
        if start.at.in_tensor != in_tensor:
            where = "in its tensor" if in_tensor else "alone"
            yield f"transfer {start.name!r} does not say that its part lies {where}"
        loop = due.get(start.name) if loads else each.loop
        if loop is None:
            continue
        sizes = _advances(program, ops[start.op], start) if loop == each.loop else (0,)
        if start.advance not in sizes:
            yield f"transfer {start.name!r} advances {start.advance} bytes an iteration, expected {sizes[0]}"
        elif start.at.advance != (start.advance if start.at.in_tensor else 0):
            yield f"transfer {start.name!r} advances {start.at.advance} bytes an iteration in its buffer"


def _advances(program: Program, op: Op, start: DmaStart) -> tuple[int, ...]:
    """The bytes of a slice, where ``op`` takes another one in each iteration; of a single slice that or 0."""
    part = start.at.part
    if part.weights or part.name != op.sliced:
        return (0,)
    size = program.tensors[part.name].bytes // op.slices
    if op.slices == 1:
        return 0, size
    return (0,) if part.share == WHOLE else (size,)


def _nested_moves(commands: tuple[Command, ...], starts: Mapping[str, AnyTransfer]) -> Iterator[str]:
    """Moves that begin or end in a branch or loop."""
    outer = set(map(id, commands))
    for command in (c for c in walk(commands) if isinstance(c, DmaMove | DmaWait)):
        if isinstance(starts.get(command.name), DmaMove) and id(command) not in outer:
            yield f"transfer {command.name!r} is in a branch or loop"


def moved_faults(move: DmaMove, size: int | None, home_bytes: int) -> Iterator[str]:
    """What is wrong with a move's bytes. ``size``: of its part; ``home_bytes``: what the plan keeps."""
    subject, part = f"transfer {move.name!r}", move.part
    if size is None:
        yield f"{subject} moves {part.name!r}, which the program does not have"
    elif not size == move.bytes == home_bytes == len(move.home) == len(move.target):
        yield f"{subject} moves {move.bytes} of the {size} bytes of {part_label(part)}"
    if not part.weights and part.share != WHOLE:
        yield f"{subject} moves {part_label(part)}, not all of the tensor"
    if move.source == move.memory:
        yield f"{subject} moves within {move.memory!r}"
    if part.weights != (move.source == WEIGHTS):
        yield f"{subject} moves {part_label(part)} out of {move.source!r}"
    if move.memory == WEIGHTS or (part.weights and move.memory == PSRAM):
        yield f"{subject} moves {part_label(part)} to {move.memory!r}"
