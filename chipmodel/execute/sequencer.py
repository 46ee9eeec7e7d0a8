"""The commands of one core in the order in which a path runs them, with the number of each iteration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from chipmodel.model.commands import Branch, Command, Plain, Repeat


@dataclass(frozen=True, slots=True)
class Issued:
    """A command, or a branch before its arm is run, in an iteration of the innermost loop around it (0
    outside of all loops)."""

    command: Plain | Branch
    iteration: int


@dataclass(frozen=True, slots=True)
class IterationBegins:
    """The start of an iteration of a loop, numbered from 0."""

    loop: str
    iteration: int


Event = Issued | IterationBegins


def events(commands: tuple[Command, ...], path: Mapping[str, str], iteration: int = 0) -> Iterator[Event]:
    """Everything that happens along ``path``, which gives the arm of each branch and the iterations of each
    loop by name."""
    for command in commands:
        match command:
            case Branch():
                yield Issued(command, iteration)
                taken = next(arm for arm in command.arms if arm.name == path[command.name])
                yield from events(taken.body, path, iteration)
            case Repeat():
                for number in range(int(path[command.name])):
                    yield IterationBegins(command.name, number)
                    yield from events(command.body, path, number)
            case _:
                yield Issued(command, iteration)
