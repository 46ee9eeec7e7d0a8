"""The search's arrays, filled from a model; their columns are named in ``solvers.search.columns``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

import numpy as np
import numpy.typing as npt

from solvers.search import columns as col
from solvers.search.model import SearchItem, SearchModel
from solvers.search.state import Ints, SearchState, Words

WORDS_AT_ONCE = 1 << 20
"""Words of sets of sections that are compared in one go, so that memory stays small."""
MAX_ROWS = 3_000_000
"""Rows of the log, and of the choices, beyond which a search is restarted instead: 120 MB and 72 MB."""


class _LinkRows:
    """Rows of up to three numbers, appended one block after the other."""

    def __init__(self) -> None:
        self.blocks: list[Ints] = []
        self.count = 0

    def add(self, rows: Ints) -> int:
        """Append ``rows``; the number of the first of them in the whole."""
        begin = self.count
        self.blocks.append(np.pad(rows, ((0, 0), (0, 3 - rows.shape[1]))))
        self.count += len(rows)
        return begin

    def lists(self, owners: Ints, rows: Ints, count: int) -> Ints:
        """Append ``rows``, sorted by owner; where those of each owner begin, and last where all end."""
        ends = np.cumsum(np.bincount(owners, minlength=count))
        return self.add(rows) + np.concatenate((np.zeros(1, dtype=np.int64), ends))


def search_state(model: SearchModel, capacity: int, rules: int = 15) -> SearchState:
    """Return a search at ``capacity`` bytes, begun by ``restart``; ``rules`` has a bit for each one on."""
    unit, count = model.unit, len(model.items)
    top = min(capacity, model.most) // unit
    size = np.array([item.size // unit for item in model.items], dtype=np.int64)
    owner, section, height = _memberships(model.items, unit)
    heights = np.zeros((count, model.sections), dtype=np.int64)
    heights[owner, section] = height
    alive = np.zeros((count, model.sections), dtype=bool)
    alive[owner, section] = True
    links = _LinkRows()
    items = np.zeros((count, col.ITEM_COLUMNS), dtype=np.int64)
    sections = np.zeros((model.sections, col.SECTION_COLUMNS), dtype=np.int64)
    _set_range(items, col.SECTIONS_BEGIN, links.lists(owner, np.stack((section, height), axis=1), count))
    of_section, member = np.nonzero(alive.T)
    members = np.stack((member, heights[member, of_section]), axis=1)
    _set_range(sections, col.MEMBERS_BEGIN, links.lists(of_section, members, model.sections))
    sets = _section_sets(alive)
    one, conflicts = _conflicts(heights, alive, sets, size)
    _set_range(items, col.CONFLICTS_BEGIN, links.lists(one, conflicts, count))
    pairs = [(i, j) for i, item in enumerate(model.items) for j in item.apart]
    apart = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    _set_range(items, col.APART_BEGIN, links.lists(apart[:, 0], apart[:, ::-1], count))
    _set_range(items, col.VARIANTS_BEGIN, _variants(links, model, size, top))
    items[:, col.SIZE] = size
    items[:, col.ALIGN] = [max(1, item.align // gcd(item.align, unit)) for item in model.items]
    items[:, col.TWIN] = _twins(model.items)
    items[:, col.LOOSE] = [item.loose for item in model.items]
    items[:, col.DROP] = [(item.size - min(h for _, h in item.sections)) // unit for item in model.items]
    items[:, col.RANK] = np.arange(count)
    sections[:, col.WEIGHT] = 10
    control = np.zeros(col.CONTROLS, dtype=np.int64)
    control[col.ITEM_COUNT], control[col.CAPACITY] = count, top
    control[col.RULE_REST : col.RULE_JUMPS + 1] = [rules >> bit & 1 for bit in range(4)]
    filled = (control, items, sections, np.ascontiguousarray(np.concatenate(links.blocks)))
    return _with_stacks(*filled, sets, len(conflicts))


def _with_stacks(
    control: Ints, items: Ints, sections: Ints, links: Ints, sets: Words, conflicts: int
) -> SearchState:
    """The given arrays, with empty ones for frames, log and choices, as large as is sensible."""
    frames = 6 * (len(items) + len(sections)) + 256
    wide = int((sections[:, col.MEMBERS_END] - sections[:, col.MEMBERS_BEGIN]).max(initial=0))
    variants = int((items[:, col.VARIANTS_END] - items[:, col.VARIANTS_BEGIN]).max(initial=1))
    choices = control[col.MAX_CHOICES] = wide * variants + 1
    log = min(conflicts + len(links) + frames * (len(sections) + min(wide, 64)), MAX_ROWS)
    every = np.zeros((len(items) + 1 + frames, sets.shape[1]), dtype=np.uint64)
    every[: len(items)] = sets
    return SearchState(
        control=control,
        items=items,
        sections=sections,
        links=links,
        sets=every,
        frames=np.zeros((frames, col.FRAME_COLUMNS), dtype=np.int64),
        log=np.zeros((log + 2 * len(sections) + len(items), col.LOG_COLUMNS), dtype=np.int64),
        choices=np.zeros((min(frames * choices, MAX_ROWS) + 2 * choices, col.CHOICE_COLUMNS), dtype=np.int64),
    )


def _memberships(items: Sequence[SearchItem], unit: int) -> tuple[Ints, Ints, Ints]:
    """Item, section and height, for each section of each item."""
    rows = [(i, section, h // unit) for i, item in enumerate(items) for section, h in item.sections]
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _set_range(table: Ints, column: int, ends: Ints) -> None:
    """Fill ``column`` with where each row's list begins, and the next column with where it ends."""
    table[:, column] = ends[:-1]
    table[:, column + 1] = ends[1:]


def _conflicts(heights: Ints, alive: npt.NDArray[np.bool_], sets: Words, size: Ints) -> tuple[Ints, Ints]:
    """Pairs of items that share a section: both, the first one's greatest height in one, and that one."""
    pairs: list[Ints] = []
    step = max(1, WORDS_AT_ONCE // max(1, sets.size))
    for begin in range(0, len(sets), step):
        shared = sets[begin : begin + step, None] & sets
        one, other = np.nonzero(shared.any(axis=2))
        pairs.append(np.stack((one + begin, other, _first_bit(shared[one, other]))))
    one, other, where = np.concatenate(pairs, axis=1) if pairs else np.zeros((3, 0), np.int64)
    one, other, where = (each[one != other] for each in (one, other, where))
    tops = size[one]
    for uneven in np.flatnonzero(((heights != size[:, None]) & alive).any(axis=1)):
        own = slice(*np.searchsorted(one, (uneven, uneven + 1)))
        shared_heights = np.where(alive[other[own]], heights[uneven], -1)
        if shared_heights.size:
            tops[own], where[own] = shared_heights.max(axis=1), shared_heights.argmax(axis=1)
    return one, np.stack((other, tops, where), axis=1)


def _first_bit(sets: Words) -> Ints:
    """The lowest member of each set, none of them empty."""
    if not sets.size:
        return np.zeros(len(sets), dtype=np.int64)
    word = (sets != 0).argmax(axis=1)
    bits = sets[np.arange(len(sets)), word]
    lowest = bits & (~bits + np.uint64(1))
    result: Ints = word * 64 + np.log2(lowest.astype(np.float64)).astype(np.int64)
    return result


def _variants(links: _LinkRows, model: SearchModel, size: Ints, top: int) -> Ints:
    """Append the ranges of all variants, the variants, and a row where the last one's ranges end; where the
    variants of each item begin, and last where all end."""
    ranges: list[tuple[int, int]] = []
    variants: list[tuple[int, int]] = []
    counts: list[int] = []
    begin, unit = links.count, model.unit
    for item, height in zip(model.items, size.tolist(), strict=True):
        counts.append(len(item.variants))
        for memory, spans in item.variants:
            variants.append((memory, begin + len(ranges)))
            ranges += [(-(-low // unit), min(high // unit, top - height)) for low, high in spans]
    variants.append((-1, begin + len(ranges)))
    links.add(np.array(ranges, dtype=np.int64).reshape(-1, 2))
    return links.add(np.array(variants, dtype=np.int64)) + np.cumsum(np.array([0, *counts]))


def _twins(items: Sequence[SearchItem]) -> list[int]:
    """For each item the previous one that is equal in everything, or -1: rule 3 keeps such items in order."""
    seen: dict[object, int] = {}
    result: list[int] = []
    for i, item in enumerate(items):
        key = (item.size, item.sections, item.align, item.variants)
        result.append(-1 if item.apart else seen.get(key, -1))
        if not item.apart:
            seen[key] = i
    return result


def _section_sets(alive: npt.NDArray[np.bool_]) -> Words:
    """The set of sections of each item, one bit each."""
    items, sections = alive.shape
    padded = np.zeros((items, (sections + 63) // 64 * 64), dtype=bool)
    padded[:, :sections] = alive
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64)


def rank(state: SearchState, keys: Iterable[float]) -> None:
    """Rank items by rising key, ties by number; twins keep the order of their numbers."""
    order = np.argsort(np.fromiter(keys, dtype=np.float64), kind="stable")
    ranks = state.items[:, col.RANK]
    ranks[order] = np.arange(len(order))
    for i in np.flatnonzero(state.items[:, col.TWIN] >= 0):
        j = i
        while (twin := state.items[j, col.TWIN]) >= 0 and ranks[twin] > ranks[j]:
            ranks[[twin, j]] = ranks[[j, twin]]
            j = twin
