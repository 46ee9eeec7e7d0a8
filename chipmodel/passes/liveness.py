"""From what touches a buffer, and where, to the positions at which its bytes must be kept.

Eq. (1) of the control-flow paper (S2) made exact on a tree. A value is kept at a position if on some path
through it something was written before, and is read behind it before anything else is written; and
wherever something touches it. A path takes any arm of every ``if`` and makes any number of iterations of
every loop, none included, because a run may choose so (``--path loop=0``). What an ``if`` does not read and
nothing behind it reads is dead in its arms; what an iteration reads of the iteration before, and what is read
behind a loop that may be left out, lives through the loop.

Two buffers with a position in common then conflict on one single path too: of two values kept at a
position, the later one was written while the earlier one was kept for a read that some path leads to.
(This needs what ``validate`` demands, a definition on every path to a read.) So nothing is lost by giving
a buffer one set of positions, but where what decides is known: paths are combined freely, two branches on
one condition included, and a loop whose results are needed could not be left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from chipmodel.chip.chip import Chip
from chipmodel.model.interval import Interval, merged
from chipmodel.model.nesting import Fork, Section, in_flight
from chipmodel.model.plan import Buffer, Problem
from chipmodel.model.schedule import Part, Schedule, StepIf, StepLoop, StepNode, steps
from chipmodel.model.scopes import Scopes, scopes

__all__ = ["Scopes", "Touch", "conditions", "lifetime", "liveness", "scopes", "touches_of"]


@dataclass(frozen=True, slots=True)
class Touch:
    """One access at a position: a write (the old bytes of ``value`` no longer matter) or a read.

    A read by an ``if`` that ``decides`` by it comes before the first position of the ``if``, which it names.
    """

    position: int
    writes: bool
    value: str = ""
    """What of the buffer is accessed: a tensor or an op's weights, of which one buffer may hold several."""
    decides: str = ""


def lifetime(touches: Iterable[Touch], scopes: Scopes) -> tuple[Interval, ...]:
    """Positions at which a buffer that is accessed by ``touches`` must keep its bytes. Touches of one
    position are in the order in which they happen; those of all positions may be in any."""
    ordered = sorted(touches, key=lambda t: t.position)
    values: dict[str, list[Touch]] = {}
    for touch in ordered:
        values.setdefault(touch.value, []).append(touch)
    alive: list[Interval] = []
    for touched in values.values():
        # A value that nothing in the buffer defines is kept from whatever was written there first.
        foreign = not any(t.writes for t in touched)
        _Value(alive).section(scopes.section, touched, False, foreign and len(values) > 1)
    return merged(alive)


@dataclass(frozen=True, slots=True)
class _Effect:
    """What a part of the tree does to a value: ``needs`` it on some path before writing it; may ``pass``
    it on without a write; ``writes`` it on some path."""

    needs: bool
    passes: bool
    writes: bool


_Item = tuple[Interval, "Fork | None", Sequence[Touch]]


@dataclass(frozen=True, slots=True)
class _Value:
    """Adds to ``alive`` where one value is kept. ``written``: whether some path has written it before;
    ``needed``: whether some path behind reads it before it writes it."""

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
    """Every access to every buffer by steps, transfers and branches, in the order in which they happen at
    a position. The parts of an op write one value: only the first of them makes the old one worthless."""
    touches: dict[str, list[Touch]] = {name: [] for name in schedule.buffers}
    for transfer in schedule.transfers:
        if transfer.direction == "load":
            touches[transfer.buffer].append(Touch(transfer.due, True, _value(transfer.part)))
    for position, node in conditions(schedule.body):
        assert node.condition is not None
        value = _value(node.condition.part)
        touches[node.condition.buffer].append(Touch(position, False, value, node.name))
    begun: dict[str, set[tuple[str, str]]] = {}
    for step in steps(schedule.body):
        for operand in step.reads:
            touches[operand.buffer].append(Touch(step.position, False, _value(operand.part)))
        for operand in step.writes:
            target = operand.buffer, _value(operand.part)
            first = target not in begun.setdefault(step.op, set())
            begun[step.op].add(target)
            touches[operand.buffer].append(Touch(step.position, first, target[1]))
    for transfer in schedule.transfers:
        if transfer.direction == "store":
            touches[transfer.buffer].append(Touch(transfer.issue, False, _value(transfer.part)))
    return touches


def _value(part: Part) -> str:
    return f"{part.name} weights" if part.weights else part.name


def conditions(body: tuple[StepNode, ...]) -> Iterator[tuple[int, StepIf]]:
    """Each ``if`` that decides by a buffer, and its first position, by when that has been read."""
    for node in body:
        if isinstance(node, StepIf):
            inside = next((s.position for arm in node.arms for s in steps(arm.body)), None)
            if node.condition is not None and inside is not None:
                yield inside, node
            for arm in node.arms:
                yield from conditions(arm.body)
        elif isinstance(node, StepLoop):
            yield from conditions(node.body)


def liveness(schedule: Schedule, chip: Chip) -> Problem:
    """The packing problem of ``schedule`` on ``chip``: one buffer per name, in order of first use. Beside
    the lifetime of what it holds, a buffer is taken while a transfer of it is in flight (see
    ``nesting.in_flight``) and while its spec holds it."""
    control = scopes(schedule.body)
    taken: dict[str, list[Interval]] = {name: [spec.held] for name, spec in schedule.buffers.items()}
    for transfer in schedule.transfers:
        for issue in transfer.issues:
            taken[transfer.buffer] += in_flight(control.section, issue, transfer.due)
    for name, touches in touches_of(schedule).items():
        taken[name] += lifetime(touches, control)
    alignment = chip.shared_memory.alignment
    buffers = [
        Buffer(name, spec.bytes, merged(taken[name]), alignment) for name, spec in schedule.buffers.items()
    ]
    buffers.sort(key=lambda b: b.live[0].start if b.live else 0)
    return Problem(tuple(buffers), chip.shared_memory.bytes)
