"""Rolling buffers that tensors share row by row: an op's output takes its input's memory as that falls free.

An op runs in stripes of rows, one step after another. No step may write what it or a later one reads, so in
the buffer the output begins some bytes below its input; at the lower end it goes on at the upper one. Buffers
for rows as in vMCU (Zheng et al., MLSys 2024), whose segments are rows here. See docs/references.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import lcm

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.rounding import round_up
from chipmodel.model.program import Op, Program
from chipmodel.records import dataclass
from dma.residency.tiling import Tiling


@dataclass(frozen=True, slots=True)
class SharedRing:
    """A rolling buffer of ``bytes``, and where the ``first`` byte of each tensor in it has its place."""

    bytes: int
    first: Mapping[str, int]


def rings_of(
    ops: Sequence[Op], overwrites: Mapping[str, str], storage: Mapping[str, str]
) -> dict[str, SharedRing]:
    """Return the rolling buffer of each storage, by what its ops say; ``overwrites`` has the outputs that
    take the memory of an input, ``storage`` the tensor whose memory each one shares."""
    size: dict[str, int] = {}
    first: dict[str, dict[str, int]] = {}
    for op in ops:
        old = overwrites.get(op.outputs[0]) if op.by_rows and op.outputs else None
        if op.by_rows is None or old is None:
            continue
        root = storage[old]
        size[root] = op.by_rows.bytes
        first.setdefault(root, {}).update({old: op.by_rows.input_at, op.outputs[0]: op.by_rows.output_at})
    return {root: SharedRing(size[root], places) for root, places in first.items()}


def distance(program: Program, op: Op, name: str, rows: int) -> int:
    """Return by how many bytes the output of ``op`` has to begin below its input ``name`` where steps
    compute ``rows`` rows: no step then writes a byte of the input that it or a later one reads.

    A convolution by 3 x 3 reads a row more than it has computed, so rows of 320 bytes, one at a time, need
    two rows between:

    >>> from chipmodel import load
    >>> program = load("zoo:ds_cnn")
    >>> depthwise = next(op for op in program.ops() if op.kind == "conv" and op.work.depthwise)
    >>> distance(program, depthwise, depthwise.inputs[0], rows=1)
    640
    """
    return RowEdges(program, op, name).distance(rows)


class RowEdges:
    """The bytes of its input ``name`` before a row of ``op``, and of its output up to the end of a row, each
    found once for all numbers of rows a step."""

    def __init__(self, program: Program, op: Op, name: str) -> None:
        self.op, self.index = op, op.inputs.index(name)
        self.size, self.made = program.tensors[name].bytes, program.tensors[op.outputs[0]].bytes
        self.channels = Interval(0, op.work.channels)
        self.read: dict[int, int] = {}
        self.written: dict[int, int] = {}

    def distance(self, rows: int) -> int:
        """``distance`` for so many rows."""
        most, needed = 0, self.size
        for stripe in reversed(list(Tiling(rows, self.op.work.channels).stripes(self.op))):
            if stripe.start not in self.read:
                share = self.op.reads(self.index, stripe, self.channels)
                self.read[stripe.start] = self.size * share.rows.start // share.of_rows
            if stripe.stop not in self.written:
                share = self.op.writes(self.op.outputs[0], stripe, self.channels)
                self.written[stripe.stop] = -(-self.made * share.rows.stop // share.of_rows)
            needed = min(needed, self.read[stripe.start])
            most = max(most, self.written[stripe.stop] - needed)
        return most


@dataclass(frozen=True, slots=True)
class RingMember:
    """A tensor of ``bytes`` that takes the memory of member number ``parent``: its first byte lies at least
    ``below`` bytes below that one's, or, where that is None, at the same place. It may go on at the upper end
    of the buffer after any ``row`` bytes; 0 where it may not."""

    bytes: int
    row: int
    parent: int
    below: int | None


def shared_ring(members: Sequence[RingMember], alignment: int) -> tuple[int, tuple[int, ...]]:
    """Return the bytes of a rolling buffer for tensors each of which, but for the first, takes the memory of
    an earlier one, and where the first byte of each has its place: the smallest of some sizes that are
    tried."""
    for size in _sizes(members, alignment):
        for nearest in (True, False):
            places = _places(members, size, alignment, nearest)
            if places is not None:
                return size, places
    raise AssertionError("the last size has room for all without going round")


def _sizes(members: Sequence[RingMember], alignment: int) -> Iterator[int]:
    """Sizes of a buffer, the smallest first: whole rows beyond what a member and that whose memory it takes
    need at least, room for the two side by side, and room for all without going round."""
    pairs = [(members[each.parent].bytes, each) for each in members[1:]]
    least = max((max(old + (each.below or 0), each.bytes) for old, each in pairs), default=members[0].bytes)
    beside = max((old + each.bytes for old, each in pairs), default=least)
    units = {alignment, *(lcm(each.row, alignment) for each in members if each.row)}
    tried = {round_up(least, unit) + step * unit for unit in units for step in range(SIZES)}
    most = round_up(_straight(members, alignment), alignment)
    yield from sorted(size for size in {*tried, round_up(beside, alignment)} if size < most)
    yield most


def _straight(members: Sequence[RingMember], alignment: int) -> int:
    """Bytes from the first to the last of members of which none goes round."""
    found = [0]
    for member in members[1:]:
        found.append((found[member.parent] - (member.below or 0)) // alignment * alignment)
    return max(at + each.bytes for at, each in zip(found, members, strict=True)) - min(found)


SIZES = 8
"""How many sizes are tried for each length of row (assumed)."""


def _places(
    members: Sequence[RingMember], size: int, alignment: int, nearest: bool
) -> tuple[int, ...] | None:
    """Where the first byte of each member lies in a buffer of ``size`` bytes, as near to that whose memory it
    takes as it may, or as far away; None where one finds no place."""
    found = [(size - members[0].bytes) // alignment * alignment]
    for member in members[1:]:
        at, before = found[member.parent], members[member.parent]
        if member.below is None:
            lower = [at] if _lies(member, at, size) else []
        else:
            top, lowest = at - member.below, at - (size - before.bytes)
            lower = [each for each in _lower(member, top, size, alignment) if each >= lowest]
            lower = [each for each in lower if _lies(member, each % size, size)]
        if not lower or member.bytes > size:
            return None
        found.append((max(lower) if nearest else min(lower)) % size)
    return tuple(found)


def _lower(member: RingMember, top: int, size: int, alignment: int) -> Iterator[int]:
    """Places from ``top`` downwards that a member may have, if it lies there: the nearest one, those from
    which whole rows lead to the end of the buffer, and the first and last ones from which it does not go
    round."""
    yield top // alignment * alignment
    for end in (size, 0, -size):
        if member.row:
            yield end - round_up(max(0, end - top), lcm(member.row, alignment))
        last = (size - member.bytes) // alignment * alignment - size + end
        yield from (each for each in (end - size, last) if each <= top)


def _lies(member: RingMember, at: int, size: int) -> bool:
    """Whether the member may lie at ``at``: it does not go round, or does so between two rows."""
    return at + member.bytes <= size or bool(member.row and (size - at) % member.row == 0)
