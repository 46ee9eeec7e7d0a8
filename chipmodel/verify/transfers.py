"""Check what names the transfers of a plan: their titles, the ops that need them, and who waits for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chipmodel.model.commands import (
    Acquire,
    Branch,
    Command,
    Compute,
    DmaStart,
    DmaWait,
    Release,
    Repeat,
    walk,
)
from chipmodel.verify.memory_state import of_any_iteration
from chipmodel.verify.neighbours import Neighbours, node_name, placed_commands


def transfer_faults(commands: tuple[Command, ...], cascade_of: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with names and ops of transfers, waits, releases and acquires. ``cascade_of``: the name
    of the cascade of an op, which its transfers are named after."""
    placed = list(placed_commands(commands))
    starts: dict[str, DmaStart] = {}
    for each in placed:
        if isinstance(each.command, DmaStart):
            first = starts.setdefault(each.command.name, each.command)
            if of_any_iteration(first) != of_any_iteration(each.command):
                yield f"two different transfers are called {first.name!r}"
    yield from _title_faults(list(starts.values()), cascade_of)
    yield from _start_faults(placed)
    yield from _wait_faults(placed, starts)
    yield from _core_faults(placed)


# -- names -----------------------------------------------------------------------------------------


def _title_faults(starts: Sequence[DmaStart], cascade_of: Mapping[str, str]) -> Iterator[str]:
    """Names that do not say what is moved: ``load x``, ``store x from op``, ``load weights of op``, and
    where several are alike, which of them in the order of issue: ``load x for op [2/4]``."""
    alike: dict[str, list[DmaStart]] = {}
    for start in starts:
        if start.at.part.weights and start.direction == "store":
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


def _titles(start: DmaStart, op: str) -> tuple[str, ...]:
    """What a transfer may be called without its number, the longest first."""
    if start.at.part.weights:
        return (f"load weights of {start.at.part.name}",)
    title = f"{start.direction} {start.at.part.name}"
    return f"{title} {'for' if start.direction == 'load' else 'from'} {op}", title


def _has_title(name: str, title: str) -> bool:
    return name == title or (name.startswith(f"{title} [") and name.endswith("]"))


# -- the ops that need them ------------------------------------------------------------------------


def _start_faults(placed: Sequence[Neighbours]) -> Iterator[str]:
    """Loads that are issued before no step, stores that are issued after none, or after another op's."""
    for command, before, after, _ in placed:
        if not isinstance(command, DmaStart):
            continue
        if command.direction == "load" and not isinstance(after, Compute):
            yield f"transfer {command.name!r} is issued before no step"
        if command.direction == "store" and not isinstance(before, Compute):
            yield f"transfer {command.name!r} is issued after no step"
        elif command.direction == "store" and node_name(before) != command.op:
            yield f"transfer {command.name!r} follows a step of {node_name(before)!r}, not of {command.op!r}"
        if command.at.touched is not None:
            yield f"transfer {command.name!r} touches only a part of its bytes"


def _wait_faults(placed: Sequence[Neighbours], starts: dict[str, DmaStart]) -> Iterator[str]:
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
        step = after if start.direction == "load" else before
        if not isinstance(step, Compute) or command.op != step.op:
            yield f"a wait for {command.name!r} names {command.op!r}, but belongs to {node_name(step)!r}"
        if start.direction == "load" and command.op != start.op:
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
                if node_name(before) != op:
                    yield f"the release of {tensor!r} follows {node_name(before)!r}, not {op!r}"
                if tensor in released:
                    yield f"{tensor!r} is released twice"
                released.add(tensor)
            case Acquire(tensor=tensor, op=op):
                if node_name(after) != op:
                    yield f"the acquire of {tensor!r} precedes {node_name(after)!r}, not {op!r}"
            case _:
                pass
