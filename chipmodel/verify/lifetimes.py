"""Lifetimes of buffers, from the commands alone.

A buffer must keep a value at every step that touches it, and at a step if some path through that writes the
value before and reads it afterwards without writing it in between. A path takes any arm of every branch and
makes any number of iterations of every loop, or none. While a transfer may be in flight its buffer is taken,
too. This is the classical analysis of a compiler's variables: what may have been written flows forwards
through the commands, what may still be read flows backwards, round each loop until nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.commands import Branch, Command, Compute
from chipmodel.model.program import Program
from chipmodel.model.tree import walk
from chipmodel.verify.accesses import AccessBody, AccessTable, ValueAccess, backwards, forwards

NOTHING: Mapping[str, str] = MappingProxyType({})


def lifetimes(
    commands: tuple[Command, ...], again: Mapping[str, str] = NOTHING
) -> dict[str, tuple[Interval, ...]]:
    """The steps at which each buffer that ``commands`` name must keep its bytes, as sorted intervals.
    ``again``: the op of each tensor whose rows are made again for each step that reads some."""
    table = AccessTable(commands, again)
    accesses = table.body(commands)
    values = _Flow(table.total, accesses, table.never_written()).kept()
    flights = _flights(table.total, accesses)
    intervals_of: dict[str, list[Interval]] = {}
    for numbers, kept in ((table.values, values), (table.transfers, flights)):
        names = [name for name, _, _ in numbers.bits]
        for bit, interval in _intervals(kept):
            intervals_of.setdefault(names[bit], []).append(interval)
    return {name: merged(intervals) for name, intervals in intervals_of.items()}


class _Flow:
    """The values that are kept at each step."""

    def __init__(self, steps: int, body: AccessBody, written: int) -> None:
        self.touched = [0] * steps
        self.written = [0] * steps
        self.needed = [0] * steps
        self.written_at: dict[str, int] = {}
        self.needed_at: dict[str, int] = {}
        forwards(body, written, self._write)
        backwards(body, 0, self._read)

    def kept(self) -> list[int]:
        """For each step what it touches, and what may have been written before and may be read after."""
        steps = zip(self.touched, self.written, self.needed, strict=True)
        return [touched | (written & needed) for touched, written, needed in steps]

    def _write(self, access: ValueAccess, written: int) -> int:
        if access.step is not None:
            self.touched[access.step] |= access.reads | access.writes
            self.written[access.step] |= written
        if access.enters:
            self.written_at[access.enters] = self.written_at.get(access.enters, 0) | written
        return written | access.writes

    def _read(self, access: ValueAccess, needed: int) -> int:
        if access.step is not None:
            self.needed[access.step] |= needed
        if access.enters:
            self.needed_at[access.enters] = self.needed_at.get(access.enters, 0) | needed
        return needed & ~access.writes | access.reads


def _flights(steps: int, body: AccessBody) -> list[int]:
    """The transfers that may be in flight at each step."""
    in_flight = [0] * steps

    def move(access: ValueAccess, flying: int) -> int:
        if access.step is not None:
            in_flight[access.step] |= flying | access.starts
        return (flying | access.starts) & ~access.ends

    forwards(body, 0, move)
    return in_flight


def _intervals(kept: Sequence[int]) -> Iterator[tuple[int, Interval]]:
    """Each bit with each longest interval of steps that have it."""
    since: dict[int, int] = {}
    before = 0
    for step, mask in enumerate((*kept, 0)):
        changed = before ^ mask
        while changed:
            bit = (changed & -changed).bit_length() - 1
            changed &= changed - 1
            if mask >> bit & 1:
                since[bit] = step
            else:
                yield bit, Interval(since.pop(bit), step)
        before = mask


def lifetime_faults(
    claimed: Mapping[str, tuple[Interval, ...]],
    commands: tuple[Command, ...],
    again: Mapping[str, str] = NOTHING,
) -> Iterator[str]:
    """Buffers whose ``claimed`` lifetimes are not those that follow from ``commands``."""
    needed_by = lifetimes(commands, again)
    for name, live in claimed.items():
        if name not in needed_by:
            yield f"no command uses buffer {name!r}"
        elif live != needed_by[name]:
            needed = _words(needed_by[name])
            yield f"buffer {name!r} is said to be alive at {_words(live)}, its commands need {needed}"


def condition_faults(program: Program, commands: tuple[Command, ...]) -> Iterator[str]:
    """Branches that read from Psram what a buffer keeps beyond them."""
    deciding = program.conditions
    table = AccessTable(commands, NOTHING)
    accesses = table.body(commands)
    flow = _Flow(table.total, accesses, table.never_written())
    for branch in (c for c in walk(commands) if isinstance(c, Branch) and c.condition is None):
        kept = flow.written_at.get(branch.name, 0) & flow.needed_at.get(branch.name, 0)
        for (buffer, name, weights), bit in table.values.bits.items():
            decides = name == deciding.get(branch.name) and not weights and kept >> bit & 1
            if decides and any(isinstance(c, Compute) for c in walk((branch,))):
                subject = f"if {branch.name!r} does not read its condition"
                yield f"{subject} {name!r}, which buffer {buffer!r} keeps"


def _words(live: Sequence[Interval]) -> str:
    return " ".join(map(str, live)) or "no step"
