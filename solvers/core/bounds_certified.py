"""The strongest lower bound available without a search, with its certificate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import combinations, islice, pairwise
from math import gcd
from typing import Any

from chipmodel.model.certificate import Certificate, Contradiction, LiveSet, Regions, Tallest
from chipmodel.model.plan import Buffer, Memory, Problem
from solvers.core.bounds import largest_live_set, rigid_groups
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.live_sets import live_sets_in_time

MAX_PINS = 1500
"""Pinned buffers, every pair of which is checked."""
MAX_LIVE_SETS = 2000
"""Live sets whose gaps are examined, the largest first."""
MAX_SUM_BITS = 1 << 17
"""Length of the bit set of sums of sizes."""
MAX_ALIGNMENTS = 12
"""Alignments, the largest first, each of which gives a bound."""


def best_bound(problem: Problem, deadline: Deadline = NO_DEADLINE) -> Certificate:
    """Return the certificate with the highest bound, or one that shows that there is no plan at all.

    From the ``deadline`` on the largest live set is enough.
    """
    clash = contradiction(problem)
    if clash is not None:
        return clash
    alignments = sorted({b.alignment for b in problem.buffers} - {1}, reverse=True)
    found: list[LiveSet | Tallest | Regions] = [largest_live_set(problem)]
    for unit in alignments[:MAX_ALIGNMENTS]:
        found += [] if deadline.over else [largest_live_set(problem, unit)]
    found.append(tallest(problem))
    for regions in () if deadline.over else gap_bounds(problem):
        found.append(regions)
        if deadline.over:
            break
    return max(found, key=_strength)


def quick_bound(problem: Problem) -> Certificate:
    """Return ``best_bound`` for a problem with memories, else the largest live set, which takes less time."""
    return best_bound(problem) if problem.memories else largest_live_set(problem)


def _strength(certificate: LiveSet | Tallest | Regions) -> tuple[bool, int]:
    """A sort key: "no plan at all" is stronger than every number."""
    return certificate.bytes is None, certificate.bytes or 0


def tallest(problem: Problem) -> Tallest:
    """Return the buffer with the highest end if each lies as low as its pin, memories and alignment allow."""
    best = Tallest(0, problem.buffers[0].name if problem.buffers else "")
    for buffer in problem.buffers:
        end = lowest_end(problem, buffer)
        if end is None:
            return Tallest(None, buffer.name)
        if end > (best.bytes or 0):
            best = Tallest(end, buffer.name)
    return best


def lowest_end(problem: Problem, buffer: Buffer) -> int | None:
    """Return the lowest end that ``buffer`` can have when it is alone; None where it has no legal offset."""
    if not problem.memories and buffer.pinned is None:
        return buffer.bytes
    memories = problem.memories or (Memory("", 0, 1 << 200),)
    if problem.memories and buffer.memories:
        memories = tuple(m for m in problem.memories if m.name in buffer.memories)
    ends: list[int] = []
    for memory in memories:
        low = max(0, memory.start)
        offset = -(-low // buffer.alignment) * buffer.alignment if buffer.pinned is None else buffer.pinned
        good = offset >= low and offset % buffer.alignment == 0 and offset + buffer.bytes <= memory.stop
        ends += [offset + buffer.bytes] if good else []
    return min(ends, default=None)


def contradiction(problem: Problem) -> Contradiction | None:
    """Two buffers, or a chain of colocated ones, whose constraints contradict each other."""
    for group in rigid_groups(problem):
        chain = _broken_chain(problem, group)
        if chain:
            return Contradiction(chain)
    pinned = [b for b in problem.buffers if b.pinned is not None and b.bytes]
    if len(pinned) > MAX_PINS:
        return None
    pinned.sort(key=lambda b: b.pinned or 0)
    for index, a in enumerate(pinned):
        for b in pinned[index + 1 :]:
            if (b.pinned or 0) >= (a.pinned or 0) + a.bytes:
                break
            if excluded(problem, a, b):
                return Contradiction((a.name, b.name))
    return None


def excluded(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Return whether two buffers may share no byte."""
    if any(a.name in group and b.name in group for group in problem.colocated):
        return False
    listed = (a.name, b.name) in problem.separated or (b.name, a.name) in problem.separated
    return listed or a.conflicts(b)


def _broken_chain(problem: Problem, group: Sequence[int]) -> tuple[str, ...]:
    """Names of a chain of colocated buffers whose first and last cannot have one offset; empty if none."""
    members = [problem.buffers[i] for i in group]
    for index, a in enumerate(members):
        for b in members[:index]:
            pins = None not in (a.pinned, b.pinned) and a.pinned != b.pinned
            if pins or (a.bytes and b.bytes and _exclude(problem, a, b)):
                return _chain(problem, a.name, b.name)
    return ()


def _exclude(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether two buffers cannot have one offset: they may share no byte, or no memory."""
    pairs = ((a.name, b.name), (b.name, a.name))
    apart = bool(problem.memories) and any(pair in problem.apart for pair in pairs)
    aliased = any(a.name in group and b.name in group for group in problem.colocated)
    return excluded(problem, a, b) or (apart and not aliased)


def _chain(problem: Problem, start: str, goal: str) -> tuple[str, ...]:
    """The shortest chain of colocated buffers between two of one rigid group."""
    networkx: Any = import_module("networkx")  # slow to import, needed only for this message
    known = {b.name for b in problem.buffers}
    graph = networkx.Graph()
    for group in problem.colocated:
        graph.add_edges_from(combinations([name for name in group if name in known], 2))
    return tuple(networkx.single_source_shortest_path(graph, start)[goal])


def gap_bounds(problem: Problem) -> Iterator[Regions]:
    """Bounds from the gaps that pinned buffers, or separate memories, leave for each live set."""
    ordered = sorted(problem.memories, key=lambda m: m.start)
    if any(b.start < a.stop for a, b in pairwise(ordered)):
        return
    if not problem.memories and all(b.pinned is None for b in problem.buffers):
        return
    memories = ordered or [Memory("", 0, 1 << 200)]
    for position, members in _live_sets(problem):
        peak = _least_peak(problem, memories, members)
        yield Regions(peak, position, tuple(b.name for b in members))
        if peak is None:
            return


def _live_sets(problem: Problem) -> list[tuple[int, list[Buffer]]]:
    """The live sets and their first positions, the largest first; no two members colocated."""
    group_of = {i: number for number, group in enumerate(rigid_groups(problem)) for i in group}
    sets = islice(live_sets_in_time(problem.buffers), 4 * MAX_LIVE_SETS)
    chosen = [(position, _one_each(problem, live, group_of)) for position, live in sets]
    return sorted(chosen, key=lambda s: -sum(b.bytes for b in s[1]))[:MAX_LIVE_SETS]


def _one_each(problem: Problem, live: Iterable[int], group_of: dict[int, int]) -> list[Buffer]:
    """The live buffers; of each rigid group only a pinned member, or else the largest."""
    best: dict[int, Buffer] = {}
    for i in sorted(live):
        buffer, group = problem.buffers[i], group_of.get(i, -1 - i)
        kept = best.get(group)
        if kept is None or _rank(buffer) > _rank(kept):
            best[group] = buffer
    return list(best.values())


def _rank(buffer: Buffer) -> tuple[bool, int]:
    return buffer.pinned is not None, buffer.bytes


def _least_peak(problem: Problem, memories: Sequence[Memory], members: Sequence[Buffer]) -> int | None:
    """A lower bound of a live set's peak, as gaps are filled as well as may be; None if it does not fit."""
    pinned = sorted((b.pinned, b.bytes) for b in members if b.pinned is not None)
    loose = [b for b in members if b.pinned is None]
    peak = max((low + size for low, size in pinned), default=0)
    missing = sum(b.bytes for b in loose)
    for memory in memories:
        sizes = [b.bytes for b in loose if not (problem.memories and b.memories) or memory.name in b.memories]
        bottom = max(0, memory.start)
        for low, size in [*pinned, (memory.stop, 0)]:
            length = min(low, memory.stop) - bottom
            if missing and length > 0:
                best = largest_sum(sizes, length)
                if best >= missing:
                    return max(peak, bottom + missing)
                missing -= best
            bottom = max(bottom, low + size)
    return None if missing else peak


def largest_sum(sizes: Sequence[int], space: int) -> int:
    """Return the largest sum of some ``sizes`` of at most ``space``, or a bound above if that is costly."""
    total = sum(sizes)
    if total <= space:
        return total
    unit = gcd(*sizes)
    if space // unit > MAX_SUM_BITS:
        return space // unit * unit
    mask = (1 << (space // unit + 1)) - 1
    sums = 1
    for size in sizes:
        if size <= space:
            sums |= (sums << (size // unit)) & mask
    return (sums.bit_length() - 1) * unit
