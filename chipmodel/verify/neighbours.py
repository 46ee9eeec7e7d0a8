"""Where in the sequence a command stands: the step, branch or loop before it and after it in its body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chipmodel.model.commands import Branch, Command, Compute, Repeat

Anchor = Compute | Branch | Repeat
"""What has a place in the program's tree; every other command belongs to one of these."""


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
        after = command if isinstance(command, Compute | Branch | Repeat) else after
    before: Anchor | None = None
    for command, later in zip(commands, reversed(following), strict=True):
        yield Neighbours(command, before, later, loop)
        match command:
            case Compute():
                before = command
            case Branch():
                before = command
                for arm in command.arms:
                    yield from placed_commands(arm.body, loop)
            case Repeat():
                before = command
                yield from placed_commands(command.body, command.name)
            case _:
                pass


def node_name(anchor: Anchor | None) -> str | None:
    """The op, branch or loop that ``anchor`` runs."""
    return anchor.op if isinstance(anchor, Compute) else anchor.name if anchor else None
