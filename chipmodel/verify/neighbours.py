"""Where in the sequence a command stands: the step, branch or loop before it and after it in its body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chipmodel.model.commands import Anchor, Command, Repeat, node_name
from chipmodel.model.tree import bodies


class Neighbours(NamedTuple):
    """A command, its neighbours in the same body (None at its ends), and the innermost loop around it."""

    command: Command
    before: Anchor | None
    after: Anchor | None
    loop: str = ""


def placed_commands(commands: tuple[Command, ...], loop: str = "") -> Iterator[Neighbours]:
    """Every command below ``commands`` in linear order, with its neighbours."""
    following: list[Anchor | None] = []
    after: Anchor | None = None
    for command in reversed(commands):
        following.append(after)
        after = command if isinstance(command, Anchor) else after
    before: Anchor | None = None
    for command, later in zip(commands, reversed(following), strict=True):
        yield Neighbours(command, before, later, loop)
        before = command if isinstance(command, Anchor) else before
        for body in bodies(command):
            yield from placed_commands(body, command.name if isinstance(command, Repeat) else loop)


def named(anchor: Anchor | None) -> str | None:
    """The op, branch or loop that ``anchor`` runs, where there is one."""
    return node_name(anchor) if anchor else None
