"""The search's tables, filled from a model: see ``solvers.search.state`` for their columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

import numpy as np
import numpy.typing as npt

from solvers.search import state as k
from solvers.search.model import Group, Model

Ints = npt.NDArray[np.int64]


class _Links:
    """Rows of up to three numbers, put one after the other."""

    def __init__(self) -> None:
        self.parts: list[Ints] = []
        self.count = 0

    def add(self, rows: Ints) -> int:
        """The number of the first of ``rows`` in the whole."""
        begin = self.count
        self.parts.append(np.pad(rows, ((0, 0), (0, 3 - rows.shape[1]))))
        self.count += len(rows)
        return begin

    def lists(self, owners: Ints, rows: Ints, count: int) -> Ints:
        """Where the rows of each owner begin, and last where all end; ``rows`` are sorted by owner."""
        ends = np.cumsum(np.bincount(owners, minlength=count))
        return self.add(rows) + np.concatenate((np.zeros(1, dtype=np.int64), ends))


def tables(model: Model, capacity: int, rules: int = 15) -> k.State:
    """A search at ``capacity`` bytes, to be begun by ``restart``; ``rules`` has a bit for each that is on."""
    groups, unit = model.groups, model.unit
    items, sections = len(groups), model.sections
    top = min(capacity, model.most) // unit
    size = np.array([group.size // unit for group in groups], dtype=np.int64)
    owner, place, height = _parts(groups, unit)
    heights = np.zeros((items, sections), dtype=np.int64)
    heights[owner, place] = height
    alive = np.zeros((items, sections), dtype=bool)
    alive[owner, place] = True
    links = _Links()
    it = np.zeros((items, k.ITEM_COLUMNS), dtype=np.int64)
    se = np.zeros((sections, k.SECTION_COLUMNS), dtype=np.int64)
    _bounds(it, k.SEC_BEGIN, links.lists(owner, np.stack((place, height), axis=1), items))
    held, inside = np.nonzero(alive.T)
    within = np.stack((inside, heights[inside, held]), axis=1)
    _bounds(se, k.IN_BEGIN, links.lists(held, within, sections))
    masks = _masks(alive)
    one, conflicts = _conflicts(heights, alive, masks, size)
    _bounds(it, k.CON_BEGIN, links.lists(one, conflicts, items))
    apart = [(i, j) for i, group in enumerate(groups) for j in group.apart]
    rows = np.array(apart, dtype=np.int64).reshape(-1, 2)
    _bounds(it, k.APART_BEGIN, links.lists(rows[:, 0], rows[:, ::-1], items))
    _bounds(it, k.VAR_BEGIN, _variants(links, groups, size, top, unit))
    it[:, k.SIZE] = size
    it[:, k.ALIGN] = [max(1, group.align // gcd(group.align, unit)) for group in groups]
    it[:, k.TWIN] = _twins(groups)
    it[:, k.LOOSE] = [group.loose for group in groups]
    it[:, k.SLANT] = [(group.size - min(h for _, h in group.sections)) // unit for group in groups]
    it[:, k.RANK] = np.arange(items)
    se[:, k.WEIGHT] = 10
    return _state(it, se, np.concatenate(links.parts), masks, len(conflicts), top, rules)


def _state(it: Ints, se: Ints, li: Ints, masks: k.Words, conflicts: int, top: int, rules: int) -> k.State:
    items, sections = len(it), len(se)
    frames = 6 * (items + sections) + 256
    wide = int((se[:, k.IN_END] - se[:, k.IN_BEGIN]).max(initial=0))
    variants = int((it[:, k.VAR_END] - it[:, k.VAR_BEGIN]).max(initial=1))
    choices = wide * variants + 1
    log = min(conflicts + len(li) + frames * (sections + min(wide, 64)), 3_000_000) + 2 * sections + items
    c = np.zeros(k.CONTROLS, dtype=np.int64)
    c[k.ITEMS], c[k.CAPACITY], c[k.MOST_CHOICES] = items, top, choices
    c[k.REST : k.JUMPS + 1] = [rules >> bit & 1 for bit in range(4)]
    bits = np.zeros((items + 1 + frames, masks.shape[1]), dtype=np.uint64)
    bits[:items] = masks
    return k.State(
        c=c,
        it=it,
        se=se,
        li=np.ascontiguousarray(li),
        bi=bits,
        fr=np.zeros((frames, k.FRAME_COLUMNS), dtype=np.int64),
        lo=np.zeros((log, 5), dtype=np.int64),
        ch=np.zeros((min(frames * choices, 3_000_000) + 2 * choices, 3), dtype=np.int64),
    )


def _parts(groups: Sequence[Group], unit: int) -> tuple[Ints, Ints, Ints]:
    """Item, section and height, for each section of each item."""
    rows = [(i, section, h // unit) for i, group in enumerate(groups) for section, h in group.sections]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _bounds(table: Ints, column: int, ends: Ints) -> None:
    table[:, column] = ends[:-1]
    table[:, column + 1] = ends[1:]


def _conflicts(heights: Ints, alive: npt.NDArray[np.bool_], masks: k.Words, size: Ints) -> tuple[Ints, Ints]:
    """Pairs that share a section: the one; the other, how high the one reaches where they meet, and where."""
    table = np.zeros((len(size), len(size)), dtype=bool)
    for i, mask in enumerate(masks):
        table[i] = (masks & mask).any(axis=1)
    np.fill_diagonal(table, False)
    one, other = np.nonzero(table)
    tops = size[one]
    where = _first_bit(masks[one] & masks[other])
    uneven = ((heights != size[:, None]) & alive).any(axis=1)
    for at in np.flatnonzero(uneven[one]):
        shared = np.where(alive[other[at]], heights[one[at]], -1)
        tops[at], where[at] = shared.max(), shared.argmax()
    return one, np.stack((other, tops, where), axis=1)


def _first_bit(sets: k.Words) -> Ints:
    """The lowest member of each set, none of them empty."""
    if not sets.size:
        return np.zeros(len(sets), dtype=np.int64)
    word = (sets != 0).argmax(axis=1)
    bits = sets[np.arange(len(sets)), word]
    lowest = bits & (~bits + np.uint64(1))
    result: Ints = word * 64 + np.log2(lowest.astype(np.float64)).astype(np.int64)
    return result


def _variants(links: _Links, groups: Sequence[Group], size: Ints, top: int, unit: int) -> Ints:
    """Variants of all items, then a row where the last one's ranges end; before them the ranges."""
    ranges: list[tuple[int, int]] = []
    variants: list[tuple[int, int]] = []
    counts: list[int] = []
    begin = links.count
    for group, height in zip(groups, size.tolist(), strict=True):
        counts.append(len(group.variants))
        for memory, spans in group.variants:
            variants.append((memory, begin + len(ranges)))
            ranges += [(-(-low // unit), min(high // unit, top - height)) for low, high in spans]
    variants.append((-1, begin + len(ranges)))
    links.add(np.array(ranges, dtype=np.int64).reshape(-1, 2))
    return links.add(np.array(variants, dtype=np.int64)) + np.cumsum(np.array([0, *counts]))


def _twins(groups: Sequence[Group]) -> list[int]:
    """The item before each that is its equal in everything: they may be told to keep their order."""
    seen: dict[object, int] = {}
    result: list[int] = []
    for i, group in enumerate(groups):
        key = (group.size, group.sections, group.align, group.variants)
        result.append(-1 if group.apart else seen.get(key, -1))
        if not group.apart:
            seen[key] = i
    return result


def _masks(alive: npt.NDArray[np.bool_]) -> k.Words:
    """The sections of each item as bits."""
    items, sections = alive.shape
    padded = np.zeros((items, (sections + 63) // 64 * 64), dtype=bool)
    padded[:, :sections] = alive
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64)


def rank(state: k.State, keys: Iterable[float]) -> None:
    """Items with a small key are tried first; ties by number. Twins keep the order of their numbers."""
    order = np.argsort(np.fromiter(keys, dtype=np.float64), kind="stable")
    ranks = state.it[:, k.RANK]
    ranks[order] = np.arange(len(order))
    for i in np.flatnonzero(state.it[:, k.TWIN] >= 0):
        j = i
        while (twin := state.it[j, k.TWIN]) >= 0 and ranks[twin] > ranks[j]:
            ranks[[twin, j]] = ranks[[j, twin]]
            j = twin
