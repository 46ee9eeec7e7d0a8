"""Verify that a certificate proves the lower bound that it claims, by arithmetic on the problem alone."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import gcd

from chipmodel.model.certificate import (
    Certificate,
    Contradiction,
    LiveSet,
    Regions,
    Searched,
    Tallest,
)
from chipmodel.model.plan import Buffer, Memory, Problem

MAX_SUMS = 1 << 22
"""Largest range, in units, in which sums of sizes are listed: one bit each, so 512 KiB."""


def verify_certificate(problem: Problem, certificate: Certificate) -> tuple[str, ...]:
    """Describe the faults of ``certificate``; empty where it proves its ``bytes`` for ``problem``.

    Of a ``Searched`` one only the form can be verified: see ``rests_on``.
    """
    names = _named(certificate)
    by_name = {b.name: b for b in problem.buffers}
    if missing := [name for name in names if name not in by_name]:
        return (f"the problem has no buffer {missing[0]!r}",)
    if len(set(names)) < len(names):
        return ("a buffer is named twice",)
    if any(b.start < a.stop for a, b in pairwise(_memories(problem))):
        return ("the problem's memories overlap",)
    buffers = [by_name[name] for name in names]
    match certificate:
        case LiveSet():
            return _live_set_faults(problem, certificate, buffers)
        case Tallest():
            return _claim_faults(certificate.bytes, _lowest_end(problem, buffers[0]))
        case Regions():
            return _regions_faults(problem, certificate, buffers)
        case Contradiction():
            return _contradiction_faults(problem, buffers)
        case Searched():
            return _searched_faults(certificate)


def _named(certificate: Certificate) -> tuple[str, ...]:
    match certificate:
        case Tallest():
            return (certificate.buffer,)
        case Searched():
            return ()
        case _:
            return certificate.buffers


def _claim_faults(claimed: int | None, proven: int | None) -> tuple[str, ...]:
    """Compare bounds in bytes; None means that there is no plan at all."""
    if proven is None or (claimed is not None and claimed <= proven):
        return ()
    claim = "that there is no plan at all" if claimed is None else f"{claimed} bytes"
    return (f"it claims {claim}, but proves only {proven} bytes",)


def _live_set_faults(problem: Problem, certificate: LiveSet, buffers: list[Buffer]) -> tuple[str, ...]:
    unit = certificate.unit
    if unit < 1:
        return (f"its unit is {unit}",)
    if unaligned := [b.name for b in buffers if b.alignment % unit]:
        return (f"buffer {unaligned[0]!r} is not aligned to {unit}",)
    faults = _sharing_faults(problem, certificate.position, buffers)
    return faults or _claim_faults(certificate.bytes, _stacked_bytes(buffers, unit))


def _stacked_bytes(buffers: list[Buffer], unit: int) -> int:
    """The least peak of ``buffers`` that share no byte and all start at multiples of ``unit``."""
    whole = [-(-b.bytes // unit) * unit for b in buffers]
    spare = max((w - b.bytes for w, b in zip(whole, buffers, strict=True)), default=0)
    return sum(whole) - spare


def _sharing_faults(problem: Problem, position: int, buffers: list[Buffer]) -> tuple[str, ...]:
    """Say why ``buffers`` might share bytes at ``position``; empty where they may not."""
    for buffer in buffers:
        if not any(position in interval for interval in buffer.live):
            return (f"buffer {buffer.name!r} is not alive at {position}",)
    index = {buffer.name: number for number, buffer in enumerate(buffers)}
    pairs = [tuple(sorted(index[n] for n in set(group) if n in index)[:2]) for group in problem.colocated]
    later, earlier = min(((pair[1], pair[0]) for pair in pairs if len(pair) > 1), default=(-1, -1))
    if later < 0:
        return ()
    first, second = buffers[earlier].name, buffers[later].name
    return (f"buffers {first!r} and {second!r} are colocated and may share bytes",)


def _lowest_end(problem: Problem, buffer: Buffer) -> int | None:
    """The least end that ``buffer`` may have; None where its constraints leave it no offset."""
    ends: list[int] = []
    for memory in _memories(problem):
        if problem.memories and buffer.memories and memory.name not in buffer.memories:
            continue
        offset = -(-max(0, memory.start) // buffer.alignment) * buffer.alignment
        if buffer.pinned is not None:
            if buffer.pinned < offset or buffer.pinned % buffer.alignment:
                continue
            offset = buffer.pinned
        if not problem.memories or offset + buffer.bytes <= memory.stop:
            ends.append(offset + buffer.bytes)
    return min(ends, default=None)


def _memories(problem: Problem) -> tuple[Memory, ...]:
    """The memories, lowest first, or the whole address space as one, whose stop has no meaning."""
    if not problem.memories:
        return (Memory("", 0, 0),)
    return tuple(sorted(problem.memories, key=lambda m: m.start))


def _regions_faults(problem: Problem, certificate: Regions, buffers: list[Buffer]) -> tuple[str, ...]:
    faults = _sharing_faults(problem, certificate.position, buffers)
    return faults or _claim_faults(certificate.bytes, _filled_peak(problem, buffers))


def _filled_peak(problem: Problem, buffers: list[Buffer]) -> int | None:
    """A lower bound on a live set's peak from the bytes that each gap can take; None if too few."""
    pinned = [b for b in buffers if b.pinned is not None]
    loose = [b for b in buffers if b.pinned is None and b.bytes]
    peak = max((b.bytes + (b.pinned or 0) for b in pinned), default=0)
    missing = sum(b.bytes for b in loose)
    if not missing:
        return peak
    for memory, start, stop in _gaps(problem, pinned):
        allowed = [b.bytes for b in loose if not problem.memories or not b.memories or memory in b.memories]
        fill = sum(allowed) if stop is None else _largest_sum(allowed, stop - start)
        if fill >= missing:
            return max(peak, start + missing)
        missing -= fill
    return None


def _gaps(problem: Problem, pinned: list[Buffer]) -> Iterable[tuple[str, int, int | None]]:
    """Memory, start and stop (None: no end) of each range free of ``pinned`` buffers, lowest first."""
    taken = sorted((b.pinned or 0, (b.pinned or 0) + b.bytes) for b in pinned if b.bytes)
    for memory in _memories(problem):
        start = max(0, memory.start)
        for low, high in taken:
            if problem.memories and low >= memory.stop:
                break
            if low > start:
                yield memory.name, start, low
            start = max(start, high)
        if not problem.memories:
            yield memory.name, start, None
        elif start < memory.stop:
            yield memory.name, start, memory.stop


def _largest_sum(sizes: list[int], limit: int) -> int:
    """The largest sum of a subset of ``sizes`` of at most ``limit``; beyond ``MAX_SUMS`` an upper bound."""
    if sum(sizes) <= limit:
        return sum(sizes)
    unit = gcd(*sizes)
    if limit // unit > MAX_SUMS:
        return limit // unit * unit
    mask = (1 << (limit // unit + 1)) - 1
    sums = 1
    for size in sizes:
        sums |= (sums << (size // unit)) & mask if size <= limit else 0
    return (sums.bit_length() - 1) * unit


def _contradiction_faults(problem: Problem, buffers: list[Buffer]) -> tuple[str, ...]:
    if len(buffers) < 2:
        return ("it names fewer than two buffers",)
    first, last = buffers[0], buffers[-1]
    if len(buffers) == 2 and first.pinned is not None and last.pinned is not None:
        share = max(first.pinned, last.pinned) < min(first.pinned + first.bytes, last.pinned + last.bytes)
        if share and may_not_share(problem, first, last):
            return ()
    for a, b in pairwise(buffers):
        if not aliased(problem, a, b):
            return (f"buffers {a.name!r} and {b.name!r} are not colocated, and their pins do not overlap",)
    if first.pinned is not None and last.pinned is not None and first.pinned != last.pinned:
        return ()
    apart = bool(problem.memories) and may_not_be_together(problem, first, last)
    if first.bytes and last.bytes and (may_not_share(problem, first, last) or apart):
        return ()
    return (f"buffers {first.name!r} and {last.name!r} may have the same offset",)


def _searched_faults(certificate: Searched) -> tuple[str, ...]:
    if not certificate.solver or not certificate.record:
        return ("it does not name its solver and what that has searched",)
    if certificate.nodes < 0 or (certificate.bytes is not None and certificate.bytes < 0):
        return ("its nodes or bytes are negative",)
    return ()


def aliased(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether both are colocated, so that they may share bytes at any time."""
    return any(a.name in group and b.name in group for group in problem.colocated)


def may_not_share(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether two buffers may share no byte at any offset."""
    if aliased(problem, a, b):
        return False
    return a.conflicts(b) or _names_pair(problem.separated, a, b)


def may_not_be_together(problem: Problem, a: Buffer, b: Buffer) -> bool:
    """Whether two buffers may not lie in one memory."""
    return not aliased(problem, a, b) and _names_pair(problem.apart, a, b)


def _names_pair(pairs: tuple[tuple[str, str], ...], a: Buffer, b: Buffer) -> bool:
    return (a.name, b.name) in pairs or (b.name, a.name) in pairs
