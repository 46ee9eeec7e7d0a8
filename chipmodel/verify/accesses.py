"""Commands as reads and writes of values: what an analysis of lifetimes follows along every path.

A value is a tensor or an op's weights in one buffer, or a transfer in flight there, which its start writes
and its wait reads. A set of values is an integer with a bit for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import reduce

from chipmodel.model.commands import Anchor, Branch, Command, Compute, DmaStart, DmaWait, Located, Repeat
from chipmodel.model.tree import walk
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class ValueAccess:
    """What one command does at a step: first ``reads``, then ``writes``. ``step`` is None for a wait after a
    branch or loop, and for entering a branch, which reads the condition."""

    step: int | None
    reads: int = 0
    writes: int = 0
    ends: int = 0
    """The transfer that is in flight no more."""


@dataclass(frozen=True, slots=True)
class AccessFork:
    """A branch, or a loop (``repeats``) with one arm."""

    arms: tuple[AccessBody, ...]
    repeats: bool = False


AccessBody = tuple["ValueAccess | AccessFork", ...]


class AccessTable:
    """Turns commands into accesses. ``again`` names the op of each tensor that is made again: a step that
    reads it ends its value."""

    def __init__(self, commands: tuple[Command, ...], again: Mapping[str, str]) -> None:
        self.again = again
        self.bits: dict[tuple[str, str, str], int] = {}
        """A bit for each value, in the order in which they come up: its buffer, name and kind."""
        self.starts = {c.name: c for c in walk(commands) if isinstance(c, DmaStart)}
        self.total = sum(isinstance(command, Compute) for command in walk(commands))
        self.steps = 0
        self.written = 0
        self.begun: dict[str, int] = {}

    def never_written(self) -> int:
        """Values that no command writes, in buffers that hold others too: they may be any earlier one's."""
        held = {name: bit for name, bit in self.bits.items() if name[2] != "transfer"}
        count = Counter(buffer for buffer, _, _ in held)
        return sum(1 << bit for name, bit in held.items() if count[name[0]] > 1) & ~self.written

    def body(self, commands: tuple[Command, ...]) -> AccessBody:
        result: list[ValueAccess | AccessFork] = []
        before: Anchor | None = None
        for command in commands:
            match command:
                case DmaStart() | DmaWait():
                    result.append(self.transfer(command, before))
                case Compute():
                    result.append(self.compute(command))
                case Branch():
                    condition = self.value(command.condition) if command.condition else 0
                    arms = tuple(self.body(arm.body) for arm in command.arms)
                    result += [ValueAccess(None, condition), AccessFork(arms)]
                case Repeat():
                    result.append(AccessFork((self.body(command.body),), True))
                case _:
                    pass
            before = command if isinstance(command, Anchor) else before
        return tuple(result)

    def mask(self, *names: tuple[str, str, str]) -> int:
        return sum({1 << self.bits.setdefault(name, len(self.bits)) for name in names})

    def value(self, *places: Located) -> int:
        return self.mask(*((p.buffer, p.part.name, "weights" if p.part.weights else "") for p in places))

    def compute(self, step: Compute) -> ValueAccess:
        """The steps of an op make a value together: only the first of them ends the old one."""
        writes = self.value(*step.writes)
        begun = self.begun.get(step.op, 0)
        self.begun[step.op] = begun | writes
        for place in step.reads:
            maker = None if place.part.weights else self.again.get(place.part.name)
            if maker in self.begun:
                self.begun[maker] &= ~self.value(place)
        self.written |= writes & ~begun
        self.steps += 1
        return ValueAccess(self.steps - 1, self.value(*step.reads) | (writes & begun), writes & ~begun)

    def transfer(self, command: DmaStart | DmaWait, before: Anchor | None) -> ValueAccess:
        """A load belongs to the next step, a store to the one before. A load writes where it is waited for
        at a step, a store reads where it is issued."""
        start = self.starts.get(command.name)
        if start is None:
            return ValueAccess(None)
        flight = self.mask((start.at.buffer, start.name, "transfer"))
        loads = start.direction == "load"
        at = self.steps if loads else self.steps - 1
        step = at if 0 <= at < self.total else None
        if isinstance(command, DmaStart):
            return ValueAccess(step, 0 if loads else self.value(start.at), flight)
        if isinstance(before, Branch | Repeat) and command.op == before.name:
            return ValueAccess(None, flight, ends=flight)
        writes = self.value(start.at) if loads else 0
        self.written |= writes
        return ValueAccess(step, flight, writes, flight)


def forwards(body: AccessBody, state: int, pass_: Callable[[ValueAccess, int], int]) -> int:
    """The state after ``body``, in which each access changes the state."""
    return _flow(body, state, pass_, iter)


def backwards(body: AccessBody, state: int, pass_: Callable[[ValueAccess, int], int]) -> int:
    """The state before ``body``, in which each access changes the state, the last one first."""
    return _flow(body, state, pass_, reversed)


def _flow(
    body: AccessBody,
    state: int,
    pass_: Callable[[ValueAccess, int], int],
    order: Callable[[AccessBody], Iterable[ValueAccess | AccessFork]],
) -> int:
    for each in order(body):
        if isinstance(each, ValueAccess):
            state = pass_(each, state)
            continue
        ends = [_flow(arm, state, pass_, order) for arm in each.arms]
        while each.repeats and ends[0] | state != state:
            state |= ends[0]
            ends = [_flow(each.arms[0], state, pass_, order)]
        state = reduce(int.__or__, ends, state if each.repeats else 0)
    return state
