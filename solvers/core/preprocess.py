"""Properties of a problem that exact planners need before they search: unit, components, legal offsets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from math import gcd, lcm

from chipmodel.errors import BadInput
from chipmodel.geometry.groups import joined
from chipmodel.geometry.interval import merged
from chipmodel.model.plan import Buffer, Problem
from solvers.core.bounds import rigid, rigid_groups

Range = tuple[int, int]
"""Offsets ``low`` to ``high``, both included."""


def validate(problem: Problem) -> None:
    """Raise BadInput for a problem without meaning, such as two buffers of one name."""
    names: set[str] = set()
    for buffer in problem.buffers:
        if buffer.name in names:
            raise BadInput(f"two buffers are named {buffer.name!r}", hint="give each a name of its own")
        names.add(buffer.name)
        if buffer.bytes < 0:
            raise BadInput(f"buffer {buffer.name!r} has {buffer.bytes} bytes", hint="sizes start at 0")
        if buffer.alignment < 1:
            raise BadInput(
                f"buffer {buffer.name!r} is aligned to {buffer.alignment}", hint="alignments start at 1"
            )
    _known(names, "colocated", problem.colocated)
    _known(names, "separated", problem.separated)
    _known(names, "apart", problem.apart)
    memories = {m.name for m in problem.memories}
    for buffer in problem.buffers if memories else ():
        _known(memories, f"the memories of buffer {buffer.name!r}", (buffer.memories,))
    ordered = sorted(problem.memories, key=lambda m: (m.start, m.stop))
    for low, high in pairwise(ordered):
        if high.start < low.stop:
            raise BadInput(
                f"memories {low.name!r} and {high.name!r} overlap", hint="give each its own offsets"
            )


def _known(names: set[str], what: str, groups: Iterable[Sequence[str]]) -> None:
    for name in (name for group in groups for name in group):
        if name not in names:
            raise BadInput(f"{what}: there is no {name!r}", hint="names must be those of the problem")


def offset_unit(problem: Problem) -> int:
    """Return a number that divides every offset of a plan whose buffers lie as low as possible.

    Such offsets are sums of sizes, pins and starts of memories, rounded up to alignments. 1 where there are
    both empty buffers and memories: an empty buffer at a border changes memory when it moves down.
    """
    if problem.memories and any(b.bytes == 0 for b in problem.buffers):
        return 1
    starts = (max(0, m.start) for m in problem.memories)
    pins = (b.pinned for b in problem.buffers if b.pinned is not None)
    unit = gcd(*(b.bytes for b in problem.buffers), *pins, *starts)
    alignments = {lcm(*(problem.buffers[i].alignment for i in group)) for group in rigid_groups(problem)}
    alignments |= {b.alignment for b in problem.buffers}
    while unit:
        odd = [a for a in alignments if unit % a and a % unit]
        if not odd:
            break
        unit = gcd(unit, *odd)
    return max(1, unit)


def legal_offsets(problem: Problem, buffer: Buffer, limit: int) -> dict[int, list[Range]]:
    """Ranges of offsets of ``buffer`` in each memory (by index; 0 where there are none), with end ``limit``.

    Alignment is not considered. An empty buffer at the border of two memories is in the one listed first.
    """
    if not problem.memories:
        return {0: _range(buffer, 0, limit - buffer.bytes)}
    result: dict[int, list[Range]] = {}
    taken: list[Range] = []
    for index, memory in enumerate(problem.memories):
        own = _range(buffer, max(0, memory.start), min(limit, memory.stop) - buffer.bytes)
        left = _without(own, taken)
        taken += own
        if left and (not buffer.memories or memory.name in buffer.memories):
            result[index] = left
    return result


def _range(buffer: Buffer, low: int, high: int) -> list[Range]:
    """``low`` to ``high``, restricted to the buffer's pin; no range where that leaves nothing."""
    if buffer.pinned is not None:
        low, high = max(low, buffer.pinned), min(high, buffer.pinned)
    return [(low, high)] if low <= high else []


def _without(ranges: Iterable[Range], taken: Sequence[Range]) -> list[Range]:
    """The offsets of ``ranges`` that are in none of ``taken``."""
    left = list(ranges)
    for low, high in taken:
        left = [
            part
            for start, stop in left
            for part in ((start, min(stop, low - 1)), (max(start, high + 1), stop))
            if part[0] <= part[1]
        ]
    return left


def highest_end(problem: Problem) -> int:
    """Return an upper bound of the peak of a plan whose buffers lie as low as possible."""
    if problem.memories:
        return max(m.stop for m in problem.memories)
    pins = max((b.pinned for b in problem.buffers if b.pinned is not None), default=0)
    groups = rigid(problem)
    pads = sum(lcm(*(problem.buffers[i].alignment for i in group)) - 1 for group in groups)
    return pins + pads + sum(max(problem.buffers[i].bytes for i in group) for group in groups)


def components(problem: Problem) -> list[Problem]:
    """Independent parts of a problem; its peak is the largest of theirs."""
    parts = joined(len(problem.buffers), _connected(problem))
    if len(parts) <= 1:
        return [problem]
    return [part_of(problem, [problem.buffers[i] for i in part]) for part in parts]


def part_of(problem: Problem, buffers: Sequence[Buffer]) -> Problem:
    """Return the same problem with only these ``buffers``."""
    if not (problem.colocated or problem.separated or problem.apart):
        return replace(problem, buffers=tuple(buffers))
    names = {b.name for b in buffers}
    groups = (tuple(n for n in group if n in names) for group in problem.colocated)
    return replace(
        problem,
        buffers=tuple(buffers),
        colocated=tuple(group for group in groups if len(group) > 1),
        separated=tuple(pair for pair in problem.separated if names.issuperset(pair)),
        apart=tuple(pair for pair in problem.apart if names.issuperset(pair)),
    )


def _connected(problem: Problem) -> list[list[int]]:
    """Return buffers (by index) of one component: of a time without a gap, or named by a constraint."""
    spans = sorted(
        (interval.start, interval.stop, i)
        for i, buffer in enumerate(problem.buffers)
        if buffer.bytes
        for interval in merged(buffer.live)
    )
    links: list[list[int]] = []
    reach = 0
    for start, stop, i in spans:
        if not links or start >= reach:
            links.append([])
            reach = stop
        links[-1].append(i)
        reach = max(reach, stop)
    index = {b.name: i for i, b in enumerate(problem.buffers)}
    link_of = {i: number for number, link in enumerate(links) for i in link}
    for names in (*problem.colocated, *problem.separated, *problem.apart):
        group = [index[name] for name in names if name in index]
        if len({link_of.get(i, -1 - i) for i in group}) > 1:  # others are in one link already
            links.append(group)
    return links
