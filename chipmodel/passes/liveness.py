"""Liveness: from the accesses to a buffer to the positions at which its bytes must be kept.

Eq. (1) of Wang et al. 2025 (docs/references.md) made exact on a tree. A value is kept at every access, and at
a position if some path through it writes the value before and reads it afterwards without a write in between.
A path takes any arm of every ``if`` and makes any number of iterations of every loop, or none, because a run
may choose so (``--path loop=0``). A value that neither an ``if`` nor anything after it reads is dead in its
arms; a value that an iteration reads from the one before, or that is read after a loop that may run zero
times, lives through the loop.

Two buffers with a position in common conflict on a single path too: of two values kept at a position, the
later one was written while the earlier one was kept for a read that some path leads to. (This needs a
definition on every path to a read, which ``validate`` demands.) So one set of positions for each buffer is
exact, except where decisions depend on each other: paths are combined freely, even for two branches on the
same condition, and although a loop whose results are needed cannot run zero times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from chipmodel.geometry.interval import Interval, merged
from chipmodel.hardware.chip import Chip
from chipmodel.model.nesting import Fork, Section, in_flight
from chipmodel.model.plan import Buffer, Problem
from chipmodel.model.schedule import Part, Schedule, branches, steps
from chipmodel.model.scopes import Scopes, scopes
from chipmodel.records import dataclass

__all__ = ["Scopes", "Touch", "lifetime", "liveness", "scopes", "touches_of"]


@dataclass(frozen=True, slots=True)
class Touch:
    """One access at a position: a write, after which the old bytes of ``value`` do not matter, or a read.

    ``decides`` names the ``if`` that reads the value to decide, before the first position in it.
    """

    position: int
    writes: bool
    value: str = ""
    """What is accessed: a tensor or an op's weights; one buffer may hold several of them."""
    decides: str = ""


def lifetime(touches: Iterable[Touch], scopes: Scopes) -> tuple[Interval, ...]:
    """Positions at which a buffer with the accesses ``touches`` must keep its bytes. Touches of the same
    position are in the order in which they happen; the order of positions does not matter."""
    ordered = sorted(touches, key=lambda t: t.position)
    values: dict[str, list[Touch]] = {}
    for touch in ordered:
        values.setdefault(touch.value, []).append(touch)
    alive: list[Interval] = []
    for touched in values.values():
        # A value that no access writes may come from any earlier one: it is kept from the start.
        foreign = not any(t.writes for t in touched)
        _ValueLifetime(alive).section(scopes.section, touched, False, foreign and len(values) > 1)
    return merged(alive)


@dataclass(frozen=True, slots=True)
class _Effect:
    """The effect of a part of the tree on a value: some path reads it before writing it (``needs``), some
    path does not write it (``passes``), some path writes it (``writes``)."""

    needs: bool
    passes: bool
    writes: bool


_Item = tuple[Interval, "Fork | None", Sequence[Touch]]


@dataclass(frozen=True, slots=True)
class _ValueLifetime:
    """Adds to ``alive`` the positions at which one value is kept. ``written``: whether some path before
    writes it; ``needed``: whether some path afterwards reads it before writing it."""

    alive: list[Interval]

    def section(self, section: Section, touches: Sequence[Touch], needed: bool, written: bool) -> None:
        items = _items(section, touches)
        effects = [_effect(item) for item in items]
        after = [needed] * (len(items) + 1)
        for index in range(len(items) - 1, -1, -1):
            effect = effects[index]
            after[index] = effect.needs or (effect.passes and after[index + 1])
        at = section.extent.start
        for index, (extent, fork, inside) in enumerate(items):
            if written and after[index]:
                self.alive.append(Interval(at, extent.start))
            if fork is None:
                self.alive.append(extent)
            else:
                self.fork(fork, inside, after[index + 1], written)
            written = written or effects[index].writes
            at = extent.stop
        if written and needed:
            self.alive.append(Interval(at, section.extent.stop))

    def fork(self, fork: Fork, touches: Sequence[Touch], needed: bool, written: bool) -> None:
        for arm, inside in _arms(fork, touches):
            if fork.repeats:
                effect = _section_effect(arm, inside)
                needed, written = needed or effect.needs, written or effect.writes
            self.section(arm, inside, needed, written)


def _items(section: Section, touches: Sequence[Touch]) -> list[_Item]:
    """The touched positions and forks of ``section``, in order."""

    def place(touch: Touch) -> tuple[int, int]:
        index = section.fork_at(touch.position)
        return (touch.position, -1) if index is None else (section.forks[index].extent.start, index)

    result: list[_Item] = []
    for (start, index), group in groupby(touches, place):
        fork = None if index < 0 else section.forks[index]
        result.append((fork.extent if fork else Interval(start, start + 1), fork, tuple(group)))
    return result


def _arms(fork: Fork, touches: Sequence[Touch]) -> Iterator[tuple[Section, Sequence[Touch]]]:
    inside = [t for t in touches if t.decides != fork.name]
    for arm in fork.arms:
        yield arm, [t for t in inside if t.position in arm.extent]


def _effect(item: _Item) -> _Effect:
    _, fork, touches = item
    if fork is None:
        writes = any(t.writes for t in touches)
        return _Effect(not touches[0].writes, not writes, writes)
    effects = [_section_effect(arm, inside) for arm, inside in _arms(fork, touches)]
    decides = any(t.decides == fork.name for t in touches)
    return _Effect(
        decides or any(e.needs for e in effects),
        fork.repeats or any(e.passes for e in effects),
        any(e.writes for e in effects),
    )


def _section_effect(section: Section, touches: Sequence[Touch]) -> _Effect:
    needs, passes, writes = False, True, False
    for item in _items(section, touches):
        effect = _effect(item)
        needs = needs or (passes and effect.needs)
        passes = passes and effect.passes
        writes = writes or effect.writes
    return _Effect(needs, passes, writes)


def touches_of(schedule: Schedule) -> Mapping[str, list[Touch]]:
    """Every access to every buffer by steps, transfers and branches; those of a position in their order.

    The parts of an op write one value together: only the first of them counts as a write that ends the old
    value, and, of a tensor that is made again, the first one after each read.
    """
    touches: dict[str, list[Touch]] = {name: [] for name in schedule.buffers}
    for transfer in schedule.transfers:
        if transfer.direction == "load":
            touches[transfer.buffer].append(Touch(transfer.due, True, _value(transfer.part)))
    for position, node in branches(schedule.body):
        if node.condition is not None:
            value = _value(node.condition.part)
            touches[node.condition.buffer].append(Touch(position, False, value, node.name))
    begun: dict[str, set[tuple[str, str]]] = {}
    again = dict.fromkeys((name for cascade in schedule.cascades for name in cascade.again), "")
    """For each tensor that is made again, its op."""
    for step in steps(schedule.body):
        for operand in step.reads:
            value = _value(operand.part)
            touches[operand.buffer].append(Touch(step.position, False, value))
            if value in again:
                begun[again[value]].discard((operand.buffer, value))
        for operand in step.writes:
            target = operand.buffer, _value(operand.part)
            first = target not in begun.setdefault(step.op, set())
            begun[step.op].add(target)
            again |= {target[1]: step.op} if target[1] in again else {}
            touches[operand.buffer].append(Touch(step.position, first, target[1]))
    for transfer in schedule.transfers:
        if transfer.direction == "store":
            touches[transfer.buffer].append(Touch(transfer.issue, False, _value(transfer.part)))
    return touches


def _value(part: Part) -> str:
    return f"{part.name} weights" if part.weights else part.name


def liveness(schedule: Schedule, chip: Chip) -> Problem:
    """The packing problem of ``schedule`` on ``chip``: one buffer per name, in order of first use.

    A buffer is alive during the lifetimes of what it holds, while a transfer of it is in flight
    (``nesting.in_flight``), and while its ``BufferSpec`` holds it.
    """
    control = scopes(schedule.body)
    taken: dict[str, list[Interval]] = {name: [spec.held] for name, spec in schedule.buffers.items()}
    for transfer in schedule.transfers:
        taken[transfer.buffer] += in_flight(control.section, transfer.issue, transfer.due)
    for name, touches in touches_of(schedule).items():
        taken[name] += lifetime(touches, control)
    alignment = chip.shared_memory.alignment
    buffers = [
        Buffer(name, spec.bytes, merged(taken[name]), alignment) for name, spec in schedule.buffers.items()
    ]
    buffers.sort(key=lambda b: b.live[0].start if b.live else 0)
    return Problem(tuple(buffers), chip.shared_memory.bytes, colocated=_nested(schedule))


def _nested(schedule: Schedule) -> tuple[tuple[str, ...], ...]:
    """Buffers that begin at one byte, as each has the first bytes of the next."""
    groups: dict[str, list[str]] = {}
    for name, spec in schedule.buffers.items():
        if spec.within:
            groups.setdefault(spec.within, [spec.within]).append(name)
    return tuple(map(tuple, groups.values()))
