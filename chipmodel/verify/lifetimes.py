"""Lifetimes of buffers, from the commands alone.

A buffer must keep a value at every step that touches it, and at a step if some path through that writes the
value before and reads it afterwards without writing it in between. A path takes any arm of every branch and
makes any number of iterations of every loop, or none. A transfer is a value, too, from its start to its wait.
This is the classical analysis of a compiler's variables: what may have been written flows forwards
through the commands, what may still be read flows backwards, round each loop until nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.commands import Command
from chipmodel.verify.accesses import AccessBody, AccessTable, ValueAccess, backwards, forwards

NOTHING: Mapping[str, str] = MappingProxyType({})


def lifetimes(
    commands: tuple[Command, ...], again: Mapping[str, str] = NOTHING
) -> dict[str, tuple[Interval, ...]]:
    """The steps at which each buffer that ``commands`` name must keep its bytes, as sorted intervals.
    ``again``: the op of each tensor whose rows are made again for each step that reads some."""
    table = AccessTable(commands, again)
    accesses = table.body(commands)
    names = [buffer for buffer, _, _ in table.bits]
    intervals_of: dict[str, list[Interval]] = {}
    for bit, interval in _intervals(_kept(table, accesses)):
        intervals_of.setdefault(names[bit], []).append(interval)
    return {name: merged(intervals) for name, intervals in intervals_of.items()}


def _kept(table: AccessTable, accesses: AccessBody) -> list[int]:
    """For each step what it touches, and what may have been written before and may be read after."""
    touched, written_at, needed_at = ([0] * table.total for _ in range(3))

    def write(access: ValueAccess, written: int) -> int:
        if access.step is not None:
            touched[access.step] |= access.reads | access.writes
            written_at[access.step] |= written
        return (written | access.writes) & ~access.ends

    def read(access: ValueAccess, needed: int) -> int:
        if access.step is not None:
            needed_at[access.step] |= needed
        return needed & ~access.writes | access.reads

    forwards(accesses, table.never_written(), write)
    backwards(accesses, 0, read)
    steps = zip(touched, written_at, needed_at, strict=True)
    return [here | (written & needed) for here, written, needed in steps]


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


def _words(live: Sequence[Interval]) -> str:
    return " ".join(map(str, live)) or "no step"
