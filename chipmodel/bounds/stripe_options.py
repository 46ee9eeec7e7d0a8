"""Ways in which tensors may pass through SharedMemory during an op, each with the least that it costs.

A way stands for all cuts into so many stripes of rows and slices of channels: it takes the bytes of the
smallest of those, and the transfers and NPU cycles of the fewest. So whatever a plan does, one of them needs
no more, and costs no more.

What moves while a tile computes takes memory that the tile's own operands do not. So of a cut that just fits
little moves meanwhile: over n tiles at most n times the memory, less what all tiles take together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import NamedTuple

from chipmodel.bounds.tiling_costs import Case, Cut, Facts, last
from chipmodel.chip.chip import Chip
from chipmodel.model.program import Op, Program
from solvers.residency.problem import PassingOption

COUNTS = (1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 129, 257, 513, 1025, 1 << 40)
"""Stripes and slices are counted from one of these up to the next."""
SLICES = (*range(1, 17), 20, 24, *COUNTS[COUNTS.index(33) :])
"""The same for slices beside no stripes."""
MOST = 8
"""Ways of one set of tensors."""
MOST_PASSING = 3
"""An op of more tensors has no ways: it is then bound by its smallest stripes alone."""


class Way(NamedTuple):
    """``bytes`` for all that passes, and for weights beyond one channel's; what the NPU and the DMA engine do
    more at least. ``meanwhile``: bytes of what is moved once that can move while the op's tiles compute;
    where that is less than 0, even of what is moved again some has to wait."""

    bytes: int
    npu: int
    moved: int
    meanwhile: int


def options(
    program: Program,
    chip: Chip,
    step: int,
    op: Op,
    items: dict[str, int],
    sizes: Sequence[int],
    weights: bool = True,
) -> Iterator[PassingOption]:
    """Of an op at ``step``: for each set of its tensors that may pass, ``items`` by name, ways within
    SharedMemory. ``sizes`` are bytes by item. None for an op whose tensors cannot all be told apart.
    Without ``weights`` the ways say nothing of them: they may be there since a visit before."""
    if len(items) > MOST_PASSING or op.absorbs or not op.work.rows:
        return
    sized = {name: sizes[index] for name, index in items.items()}
    facts = Facts(program, chip, op)
    if weights:
        for way in _sliced_ways(facts, _room(chip, op, sized)):
            yield PassingOption(step, (), way.bytes, way.npu, way.moved, None, way.meanwhile)
    for count in range(1, len(items) + 1):
        for names in combinations(items, count):
            kept = {name: size for name, size in sized.items() if name not in names}
            ending = last(program, op, frozenset(names))
            passing = tuple(items[name] for name in names)
            for way in _few_ways(Case(facts, frozenset(kept), weights, _room(chip, op, kept))):
                yield PassingOption(step, passing, way.bytes, way.npu, way.moved, ending, way.meanwhile)


def _room(chip: Chip, op: Op, kept: Mapping[str, int]) -> int:
    """Bytes beside operands that are ``kept`` whole: of two in place of one another the larger."""
    shared = min(kept.get(op.overwrites, 0), kept.get(op.outputs[0], 0)) if op.overwrites else 0
    return chip.shared_memory.bytes - sum(kept.values()) + shared


def ways(
    program: Program, chip: Chip, op: Op, kept: frozenset[str], room: int, weights: bool = True
) -> list[Way]:
    """At most ``MOST`` ways within ``room`` bytes; of neighbours one stands for both, with the least of each.
    Where there is none, one that does not fit."""
    return _few_ways(Case(Facts(program, chip, op), kept, weights, room))


def sliced_ways(program: Program, chip: Chip, op: Op, room: int) -> list[Way]:
    """The same with no stripes and ever more slices of weights, ``room`` being beside all tensors."""
    return _sliced_ways(Facts(program, chip, op), room)


def _few_ways(case: Case) -> list[Way]:
    return _few(list(_ways(case)), case.room)


def _sliced_ways(facts: Facts, room: int) -> list[Way]:
    case = Case(facts, frozenset((*facts.op.inputs, *facts.op.outputs)), True, room)
    if not case.weights or not case.channels:
        return []
    return _few([_sliced(case, low, high) for low, high in _counts(case.channels, SLICES)], room)


def _sliced(case: Case, slices: int, most: int) -> Way:
    moved = int((slices - 1) * Fraction(case.facts.costs.load_once))
    return Way(case.beside(most), case.facts.npu(1, slices), moved, case.meanwhile(Cut(1, 1, slices, most)))


def _few(found: list[Way], room: int) -> list[Way]:
    found.sort(key=lambda way: (way.bytes, way.npu, way.moved, -way.meanwhile))
    front: list[Way] = []
    for way in found:
        if way.bytes <= room and not any(_no_worse(each, way) for each in front):
            front.append(way)
    while len(front) > MOST:
        losses = [_lost(a, b, room) for a, b in pairwise(front)]
        at = losses.index(min(losses))
        front[at : at + 2] = [_both(front[at], front[at + 1])]
    return front or found[:1]


def _both(a: Way, b: Way) -> Way:
    bytes_, npu, moved, _ = map(min, a, b)
    return Way(bytes_, npu, moved, max(a.meanwhile, b.meanwhile))


def _no_worse(a: Way, b: Way) -> bool:
    return a.npu <= b.npu and a.moved <= b.moved and a.meanwhile >= b.meanwhile


def _lost(a: Way, b: Way, room: int) -> float:
    """How much less two ways say together: a part of the memory counts as that of their cycles."""
    cycles = max(a.npu + a.moved, b.npu + b.moved, 1)
    bytes_ = abs(a.bytes - b.bytes) + abs(a.meanwhile - b.meanwhile)
    return bytes_ / room + abs(a.npu - b.npu) / cycles + abs(a.moved - b.moved) / cycles


def _ways(case: Case) -> Iterator[Way]:
    """With all weights beside; with slices of them that come again for each stripe; and with slices for which
    the inputs come again."""
    each, halo = case.facts.costs.load_each, case.halo()
    for stripes, most_stripes in _counts(case.rows):
        for slices, most_slices in _counts(case.channels):
            cut = Cut(stripes, most_stripes, slices, most_slices)
            held = case.bytes(most_stripes, most_slices)
            npu = case.facts.npu(stripes, slices)
            moved = case.set_ups(stripes, slices) + halo * each * (stripes - 1)
            yield Way(held + case.beside(1), npu, int(moved), case.meanwhile(cut, 0, halo, True))
            if case.weights and most_slices > 1:
                held += case.beside(most_slices)
                for again in (case.weights * (stripes - 1), case.again(slices) if stripes > 1 else 0):
                    yield Way(held, npu, int(moved + again * each), case.meanwhile(cut, again, halo))


def _counts(total: int, counts: Sequence[int] = COUNTS) -> Iterator[tuple[int, int]]:
    """From a number of parts to the last before the next such number."""
    for low, high in pairwise(counts):
        if low <= total:
            yield low, min(total, high - 1)
