"""Check the order of steps: positions, labels, the program's nodes, time steps of recurrent layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from chipmodel.model.commands import Anchor, Command, Compute, node_name
from chipmodel.model.program import Node, Op
from chipmodel.model.tree import walk


def sequence_faults(commands: tuple[Command, ...]) -> Iterator[str]:
    """The first step whose position is not its number in linear order, arms one after another, and every step
    whose label is not its op's name and its number among the op's steps."""
    steps = [command for command in walk(commands) if isinstance(command, Compute)]
    for number, step in enumerate(steps):
        if step.position != number:
            yield f"step {step.label!r} has position {step.position}, it is number {number} in linear order"
            break
    total, seen = Counter(step.op for step in steps), Counter[str]()
    for step in steps:
        seen[step.op] += 1
        count = total[step.op]
        label = step.op if count == 1 else f"{step.op} [{seen[step.op]}/{count}]"
        if step.label != label:
            yield f"step {step.position} is called {step.label!r}, expected {label!r}"


def order_faults(
    body: tuple[Node, ...], commands: tuple[Command, ...], first_of: Mapping[str, str]
) -> Iterator[str]:
    """The first node that begins out of the order of ``body``. ``first_of``: the first op of each cascade, by
    op; the ops of a cascade begin with that one."""
    names = [node_name(command) for command in commands if isinstance(command, Anchor)]
    begun = list(dict.fromkeys(first_of.get(name, name) for name in names))
    known = [node.name for node in body if node.name in begun]
    for name, expected in zip((n for n in begun if n in known), known, strict=True):
        if name != expected:
            yield f"{name!r} begins before {expected!r}, which is not the order of the program"
            return


def are_in_time(steps: Sequence[Compute], op: Op) -> bool:
    """Whether ``steps`` of a recurrent layer, which cover it once, compute all of its units at a time step
    before any at the next one."""
    row, units = 0, 0
    for step in steps:
        units += len(step.channels)
        whole = units == op.work.channels
        if step.rows.start != row or (len(step.rows) > 1 and len(step.channels) < op.work.channels):
            return False
        row, units = (step.rows.stop, 0) if whole else (row, units)
    return True
