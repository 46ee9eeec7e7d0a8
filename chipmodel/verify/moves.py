"""Check moves between memories off chip: their names, what they copy, and where they begin and end."""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.geometry.share import WHOLE
from chipmodel.model.commands import Command, Compute, DmaMove, DmaWait, walk
from chipmodel.model.schedule import PSRAM, WEIGHTS
from chipmodel.verify.neighbours import node_name, placed_commands
from chipmodel.verify.parts import part_label


def move_faults(commands: tuple[Command, ...]) -> Iterator[str]:
    """What is wrong with the moves of a plan: each is called after what it copies, which no other one does,
    begins before a step outside of branches and loops, and is waited for once, before a later one."""
    every = [command for command in walk(commands) if isinstance(command, DmaMove)]
    outer = {id(command) for command in commands}
    names = [move.name for move in every]
    waits = [command for command in walk(commands) if isinstance(command, DmaWait) and command.name in names]
    for move in every:
        own = [wait for wait in waits if wait.name == move.name]
        if names.count(move.name) > 1:
            yield f"two transfers are called {move.name!r}"
        if move.name != title(move):
            yield f"transfer {move.name!r} is a {title(move)!r}, which its name does not say"
        if not all(id(command) in outer for command in (move, *own)):
            yield f"transfer {move.name!r} is in a branch or loop"
        if len(own) != 1:
            yield f"{len(own)} steps wait for transfer {move.name!r}, expected 1"
    for command, _, after, _ in placed_commands(commands):
        if isinstance(command, DmaMove) and not isinstance(after, Compute):
            yield f"transfer {command.name!r} is issued before no step"
        if isinstance(command, DmaWait) and command.name in names and node_name(after) != command.op:
            yield f"a wait for {command.name!r} names {command.op!r}, but belongs to {node_name(after)!r}"
        if isinstance(command, DmaWait):
            for move in every:
                if move.name == command.name and move.op != command.op:
                    yield f"transfer {move.name!r} is for {move.op!r}, but {command.op!r} waits for it"


def title(move: DmaMove) -> str:
    """What a move is called."""
    weights = move.part.weights
    return f"move {part_label(move.part) if weights else move.part.name} to {move.memory}"


def moved_faults(move: DmaMove, size: int | None, home_bytes: int) -> Iterator[str]:
    """What is wrong with the bytes of a move. ``size``: those of its part; ``home_bytes``: those that the
    plan keeps for it."""
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
