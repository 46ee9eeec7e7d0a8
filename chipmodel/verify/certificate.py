"""Whether a certificate proves what it claims: arithmetic on the problem alone, no planner involved."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from math import gcd

from chipmodel.model.certificate import (
    Certificate,
    Contradiction,
    Core,
    LiveSet,
    Reachable,
    Regions,
    Searched,
    Tallest,
)
from chipmodel.model.plan import Buffer, Memory, Problem
from chipmodel.verify.exhaustive import (
    STEPS,
    TooManyPlans,
    aliased,
    exhaust,
    may_not_be_together,
    may_not_share,
)

MAX_SUMS = 1 << 22
"""Largest number of units of which sums of sizes are listed, one bit each."""


def verify_certificate(problem: Problem, certificate: Certificate, steps: int = STEPS) -> tuple[str, ...]:
    """Every fault of ``certificate``, in words; empty where it proves its ``bytes`` for ``problem``.

    A ``Searched`` one has no fault but that of its form: see ``rests_on``. ``steps`` limits the partial
    plans that a ``Core`` may cost.
    """
    names = _named(certificate)
    by_name = {b.name: b for b in problem.buffers}
    missing = [name for name in names if name not in by_name]
    if missing:
        return (f"the problem has no buffer {missing[0]!r}",)
    if len(set(names)) < len(names):
        return ("a buffer is named twice",)
    rooms = _rooms(problem)
    if any(b.start < a.stop for a, b in pairwise(rooms)):
        return ("the problem's memories overlap",)
    buffers = [by_name[name] for name in names]
    match certificate:
        case LiveSet():
            return _live_set(problem, certificate, buffers)
        case Tallest():
            return _compare(certificate.bytes, _lowest_end(problem, buffers[0]))
        case Regions():
            return _regions(problem, certificate, buffers)
        case Reachable():
            return _reachable(problem, certificate)
        case Contradiction():
            return _contradiction(problem, buffers)
        case Core():
            return _core(problem, certificate, buffers, steps)
        case Searched():
            return _searched(certificate)


def _named(certificate: Certificate) -> tuple[str, ...]:
    match certificate:
        case Tallest():
            return (certificate.buffer,)
        case Reachable() | Searched():
            return ()
        case _:
            return certificate.buffers


def _compare(claimed: int | None, proven: int | None) -> tuple[str, ...]:
    if proven is None or (claimed is not None and claimed <= proven):
        return ()
    claim = "that there is no plan at all" if claimed is None else f"{claimed}"
    return (f"it claims {claim}, and proves {proven}",)


def _live_set(problem: Problem, certificate: LiveSet, buffers: list[Buffer]) -> tuple[str, ...]:
    unit = certificate.unit
    if unit < 1:
        return (f"its unit is {unit}",)
    odd = [b.name for b in buffers if b.alignment % unit]
    if odd:
        return (f"buffer {odd[0]!r} is not aligned to {unit}",)
    faults = _not_together(problem, certificate.position, buffers)
    return faults or _compare(certificate.bytes, _stacked(buffers, unit))


def _stacked(buffers: list[Buffer], unit: int) -> int:
    """The least end of ``buffers`` that share no byte and all start at multiples of ``unit``."""
    whole = [-(-b.bytes // unit) * unit for b in buffers]
    spare = max((w - b.bytes for w, b in zip(whole, buffers, strict=True)), default=0)
    return sum(whole) - spare


def _not_together(problem: Problem, position: int, buffers: list[Buffer]) -> tuple[str, ...]:
    """In words, why ``buffers`` might share bytes; empty where they may not."""
    for buffer in buffers:
        if not any(position in interval for interval in buffer.live):
            return (f"buffer {buffer.name!r} is not alive at {position}",)
    for index, a in enumerate(buffers):
        for b in buffers[:index]:
            if problem.colocated and aliased(problem, a, b):
                return (f"buffers {b.name!r} and {a.name!r} are colocated and may share bytes",)
    return ()


def _lowest_end(problem: Problem, buffer: Buffer) -> int | None:
    """The least end that ``buffer`` may have; None where its constraints leave it no offset."""
    ends: list[int] = []
    for room in _rooms(problem):
        if problem.memories and buffer.memories and room.name not in buffer.memories:
            continue
        offset = -(-max(0, room.start) // buffer.alignment) * buffer.alignment
        if buffer.pinned is not None:
            if buffer.pinned < offset or buffer.pinned % buffer.alignment:
                continue
            offset = buffer.pinned
        if not problem.memories or offset + buffer.bytes <= room.stop:
            ends.append(offset + buffer.bytes)
    return min(ends, default=None)


def _rooms(problem: Problem) -> tuple[Memory, ...]:
    """The memories, lowest first, or all of the address space as one (whose stop is not used)."""
    if not problem.memories:
        return (Memory("", 0, 0),)
    return tuple(sorted(problem.memories, key=lambda m: m.start))


def _regions(problem: Problem, certificate: Regions, buffers: list[Buffer]) -> tuple[str, ...]:
    faults = _not_together(problem, certificate.position, buffers)
    return faults or _compare(certificate.bytes, _filled(problem, buffers))


def _filled(problem: Problem, buffers: list[Buffer]) -> int | None:
    """The least peak of a live set, from the sums that its gaps can take; None where they cannot."""
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
    """What ``pinned`` buffers leave free of the memories, lowest first; a stop of None is no end."""
    taken = sorted((b.pinned or 0, (b.pinned or 0) + b.bytes) for b in pinned if b.bytes)
    for room in _rooms(problem):
        start = max(0, room.start)
        for low, high in taken:
            if problem.memories and low >= room.stop:
                break
            if low > start:
                yield room.name, start, low
            start = max(start, high)
        if not problem.memories:
            yield room.name, start, None
        elif start < room.stop:
            yield room.name, start, room.stop


def _largest_sum(sizes: list[int], room: int) -> int:
    """The largest sum of some of ``sizes`` of at most ``room``, or an upper bound where it is too long."""
    if sum(sizes) <= room:
        return sum(sizes)
    unit = gcd(*sizes)
    if room // unit > MAX_SUMS:
        return room // unit * unit
    mask = (1 << (room // unit + 1)) - 1
    sums = 1
    for size in sizes:
        sums |= (sums << (size // unit)) & mask if size <= room else 0
    return (sums.bit_length() - 1) * unit


def _reachable(problem: Problem, certificate: Reachable) -> tuple[str, ...]:
    faults = verify_certificate(problem, certificate.floor)
    if faults:
        return faults
    if certificate.floor.bytes is None:
        return ()
    if problem.memories:
        return ("sums of sizes prove nothing where there are several memories",)
    sums = _tops(problem, certificate.bytes)
    if isinstance(sums, str):
        return (sums,)
    between = [s for s in sums if certificate.floor.bytes <= s < certificate.bytes]
    return (f"a peak of {min(between)} is a sum of sizes",) if between else ()


def _tops(problem: Problem, below: int) -> set[int] | str:
    """All sums below ``below`` that may be the end of a buffer in a plan that is slid down."""
    rigid = _rigid_groups(problem)
    pins = [b.pinned for b in problem.buffers if b.pinned is not None]
    alignments = {b.alignment for b in problem.buffers}
    unit = gcd(*(b.bytes for b in problem.buffers), *pins)
    round_to = 1
    if any(unit % a for a in alignments):
        if len(alignments) > 1:
            return "buffers of several alignments, and not all sizes are multiples of them"
        round_to = alignments.pop()
        unit = gcd(unit, round_to)
    if not unit or below // unit > MAX_SUMS:
        return "there are too many sums to list"
    starts = sum(1 << s for s in {p // unit for p in (0, *pins) if p < below})
    mask = (1 << (below // unit + 1)) - 1
    for group in rigid:
        grown = starts
        for size in {-(-b.bytes // round_to) * round_to for b in group}:
            grown |= (starts << (size // unit)) & mask if size <= below else 0
        starts = grown
    ends = 0
    for size in {b.bytes for b in problem.buffers if b.bytes <= below}:
        ends |= (starts << (size // unit)) & mask
    return {i * unit for i, bit in enumerate(bin(ends)[:1:-1]) if bit == "1" and i * unit < below}


def _rigid_groups(problem: Problem) -> list[list[Buffer]]:
    groups: list[set[str]] = [{b.name} for b in problem.buffers]
    for names in problem.colocated:
        met = [g for g in groups if g & set(names)]
        groups = [g for g in groups if g not in met] + [set[str]().union(*met)]
    by_name = {b.name: b for b in problem.buffers}
    return [[by_name[name] for name in group] for group in groups if group]


def _contradiction(problem: Problem, buffers: list[Buffer]) -> tuple[str, ...]:
    if len(buffers) < 2:
        return ("it names fewer than two buffers",)
    first, last = buffers[0], buffers[-1]
    if len(buffers) == 2 and first.pinned is not None and last.pinned is not None:
        share = max(first.pinned, last.pinned) < min(first.pinned + first.bytes, last.pinned + last.bytes)
        if share and may_not_share(problem, first, last):
            return ()
    for a, b in pairwise(buffers):
        if not aliased(problem, a, b):
            return (f"buffers {a.name!r} and {b.name!r} are not colocated, and their pins do not collide",)
    if first.pinned is not None and last.pinned is not None and first.pinned != last.pinned:
        return ()
    apart = bool(problem.memories) and may_not_be_together(problem, first, last)
    if first.bytes and last.bytes and (may_not_share(problem, first, last) or apart):
        return ()
    return (f"buffers {first.name!r} and {last.name!r} may lie at one offset",)


def _core(problem: Problem, certificate: Core, buffers: list[Buffer], steps: int) -> tuple[str, ...]:
    alone = Problem(
        tuple(buffers), None, problem.memories, problem.colocated, problem.separated, problem.apart
    )
    limit = None if certificate.bytes is None else certificate.bytes - 1
    try:
        plan = exhaust(alone, limit, steps)
    except TooManyPlans:
        return (f"its {len(buffers)} buffers have more than {steps} partial plans: not verified",)
    if plan is None:
        return ()
    peak = max((plan.offsets[b.name] + b.bytes for b in buffers if b.bytes), default=0)
    return (f"its buffers fit in {peak} bytes",)


def _searched(certificate: Searched) -> tuple[str, ...]:
    if not certificate.solver or not certificate.record:
        return ("it does not say who searched what",)
    if certificate.nodes < 0 or (certificate.bytes is not None and certificate.bytes < 0):
        return ("it has a negative number",)
    return ()
