"""From what touches a buffer, and where, to the positions at which it must keep its bytes.

Eq. (1) of the control-flow paper (S2) on a tree: positions number the leaves in linear order, arms
one after another, and a lifetime is the hull of the touches, with one rule more: a buffer that a loop
and something outside of it both touch, or that a trip reads before it writes it, lives through the
whole loop, because the next trip needs it.

This is correct on every path and conservative: what a later arm reads is kept through the earlier
arms too, although only one of them runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from chipmodel.chip import Chip
from chipmodel.interval import Interval, hull
from chipmodel.plan import Buffer, Problem
from chipmodel.program import If, Loop, Node
from chipmodel.schedule import Schedule, StepIf, StepLoop, StepNode, steps


@dataclass(frozen=True, slots=True)
class Touch:
    """One access at a position: a write (the old bytes no longer matter) or a read."""

    position: int
    writes: bool


@dataclass(frozen=True, slots=True)
class Scopes:
    """The control flow above the positions of a tree. ``stretch[p]`` numbers the straight-line
    stretch (a Region of S2) that position ``p`` lies in; ``top`` tells which are in no scope."""

    loops: tuple[Interval, ...]
    """Innermost first."""
    stretch: tuple[int, ...]
    top: tuple[bool, ...]


@dataclass
class _Walk:
    loops: list[Interval] = field(default_factory=list[Interval])
    stretch: list[int] = field(default_factory=list[int])
    top: list[bool] = field(default_factory=list[bool])
    stretches: int = 0


def scopes(
    body: Iterable[Node] | Iterable[StepNode], leaves: Callable[[object], int] = lambda _: 1
) -> Scopes:
    """The control flow of a program's or a schedule's body; a leaf has ``leaves(leaf)`` positions."""
    walk = _Walk()
    _walk(body, leaves, walk, True)
    return Scopes(tuple(walk.loops), tuple(walk.stretch), tuple(walk.top))


def _walk(body: Iterable[object], leaves: Callable[[object], int], walk: _Walk, top: bool) -> None:
    walk.stretches += 1
    for node in body:
        start = len(walk.stretch)
        if isinstance(node, If | StepIf):
            for arm in node.arms:
                _walk(arm.body, leaves, walk, False)
            walk.stretches += 1
        elif isinstance(node, Loop | StepLoop):
            _walk(node.body, leaves, walk, False)
            walk.loops.append(Interval(start, len(walk.stretch)))
            walk.stretches += 1
        else:
            count = leaves(node)
            walk.stretch += [walk.stretches] * count
            walk.top += [top] * count


def lifetime(touches: Iterable[Touch], scopes: Scopes) -> tuple[Interval, ...]:
    """Positions at which a buffer that is accessed by ``touches`` must keep its bytes."""
    ordered = sorted(touches, key=lambda t: t.position)
    if not ordered:
        return ()
    span = Interval(ordered[0].position, ordered[-1].position + 1)
    for loop in scopes.loops:
        inside = [t for t in ordered if t.position in loop]
        crosses = bool(inside) and (len(inside) < len(ordered) or not inside[0].writes)
        if crosses:
            span = hull((span, loop))
    return (span,) if len(span) else ()


def touches_of(schedule: Schedule) -> Mapping[str, list[Touch]]:
    """Every access to every buffer: by steps, by transfers from issue to due, and while held."""
    touches: dict[str, list[Touch]] = {name: [] for name in schedule.buffers}
    for transfer in schedule.transfers:
        loads = transfer.direction == "load"
        touches[transfer.buffer].append(Touch(transfer.issue, loads))
        touches[transfer.buffer].append(Touch(transfer.due, False))
    for step in steps(schedule.body):
        for operand in step.reads:
            touches[operand.buffer].append(Touch(step.position, False))
        for operand in step.writes:
            touches[operand.buffer].append(Touch(step.position, True))
    for position, name in conditions(schedule.body):
        touches[name].append(Touch(position, False))
    for name, spec in schedule.buffers.items():
        if len(spec.held):
            touches[name] += [Touch(spec.held.start, True), Touch(spec.held.stop - 1, True)]
    # Within one position a load arrives before the compute reads, so writes sort first.
    for accesses in touches.values():
        accesses.sort(key=lambda t: (t.position, not t.writes))
    return touches


def conditions(body: tuple[StepNode, ...]) -> Iterator[tuple[int, str]]:
    """Each deciding buffer and the first position of its ``if``, by when it has been read."""
    for node in body:
        if isinstance(node, StepIf):
            inside = next((s.position for arm in node.arms for s in steps(arm.body)), None)
            if node.condition is not None and inside is not None:
                yield inside, node.condition.buffer
            for arm in node.arms:
                yield from conditions(arm.body)
        elif isinstance(node, StepLoop):
            yield from conditions(node.body)


def liveness(schedule: Schedule, chip: Chip) -> Problem:
    """The packing problem of ``schedule`` on ``chip``: one buffer per name, in order of first use."""
    control = scopes(schedule.body)
    touched = touches_of(schedule)
    buffers = [
        Buffer(name, spec.bytes, lifetime(touched[name], control), chip.shared_memory.alignment)
        for name, spec in schedule.buffers.items()
    ]
    buffers.sort(key=lambda b: b.live[0].start if b.live else 0)
    return Problem(tuple(buffers), chip.shared_memory.bytes)
