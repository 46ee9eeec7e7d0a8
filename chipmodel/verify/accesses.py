"""Commands as reads and writes of values: what an analysis of lifetimes follows along every path.

A value is a tensor or an op's weights in one buffer. Sets of values and of transfers are integers, a bit for
each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
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
    starts: int = 0
    ends: int = 0
    enters: str = ""
    """The branch."""


@dataclass(frozen=True, slots=True)
class AccessFork:
    """A branch, or a loop (``repeats``) with one arm."""

    arms: tuple[AccessBody, ...]
    repeats: bool = False


AccessBody = tuple["ValueAccess | AccessFork", ...]


@dataclass
class Numbers:
    """A bit for each thing, in the order in which they come up."""

    bits: dict[tuple[str, str, bool], int] = field(default_factory=dict[tuple[str, str, bool], int])

    def mask(self, *names: tuple[str, str, bool]) -> int:
        return sum({1 << self.bits.setdefault(name, len(self.bits)) for name in names})


class AccessTable:
    """Turns commands into accesses. A value is a tensor or an op's weights in one buffer; ``again``
    names the op of each tensor that is made again: a step that reads it ends its value."""

    def __init__(self, commands: tuple[Command, ...], again: Mapping[str, str]) -> None:
        self.again = again
        self.values, self.transfers = Numbers(), Numbers()
        self.starts = {c.name: c for c in walk(commands) if isinstance(c, DmaStart)}
        self.total = sum(isinstance(command, Compute) for command in walk(commands))
        self.steps = 0
        self.written = 0
        self.begun: dict[str, int] = {}

    def never_written(self) -> int:
        """Values that no command writes, in buffers that hold others too: they may be any earlier one's."""
        values = Counter(buffer for buffer, _, _ in self.values.bits)
        unwritten = (
            (name, bit) for (name, _, _), bit in self.values.bits.items() if not self.written >> bit & 1
        )
        return sum(1 << bit for name, bit in unwritten if values[name] > 1)

    def body(self, commands: tuple[Command, ...]) -> AccessBody:
        result: list[ValueAccess | AccessFork] = []
        before: Anchor | None = None
        for command in commands:
            match command:
                case DmaStart() | DmaWait():
                    result.append(self.transfer(command, before))
                case Compute():
                    result.append(self.compute(command))
                    before = command
                case Branch():
                    condition = self.value(command.condition) if command.condition else 0
                    arms = tuple(self.body(arm.body) for arm in command.arms)
                    result += [ValueAccess(None, condition, enters=command.name), AccessFork(arms)]
                    before = command
                case Repeat():
                    result.append(AccessFork((self.body(command.body),), True))
                    before = command
                case _:
                    pass
        return tuple(result)

    def value(self, *places: Located) -> int:
        return self.values.mask(*((p.buffer, p.part.name, p.part.weights) for p in places))

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
        bit = self.transfers.mask((start.at.buffer, start.name, False))
        loads = start.direction == "load"
        step = self._known(self.steps if loads else self.steps - 1)
        if isinstance(command, DmaStart):
            return ValueAccess(step, 0 if loads else self.value(start.at), starts=bit)
        if isinstance(before, Branch | Repeat) and command.op == before.name:
            return ValueAccess(None, ends=bit)
        writes = self.value(start.at) if loads else 0
        self.written |= writes
        return ValueAccess(step, writes=writes, ends=bit)

    def _known(self, step: int) -> int | None:
        """None for a step before the first or after the last."""
        return step if 0 <= step < self.total else None


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
