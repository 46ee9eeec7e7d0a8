"""Join items that must have the same offset in every plan that fits a capacity.

A section whose items add up to the capacity is filled without a gap. In two such sections, the items common
to both (with the same height in both) occupy the same bytes, so the remaining items of one section fill the
same bytes as those of the other. If each remainder is a single item, these two have the same offset. They
become one item, and the argument is repeated until it joins nothing more.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from solvers.search.model import ConstraintClash, SearchItem, SearchModel


def fused(model: SearchModel, capacity: int) -> SearchModel:
    """``model`` with all items joined that must have one offset at ``capacity`` bytes.

    Raises ConstraintClash where two such items share a section.
    """
    capacity = capacity // model.unit * model.unit
    loads = model.loads()
    bits: dict[tuple[int, int], int] = {}
    full = {section: 0 for section, load in enumerate(loads) if load == capacity}
    owner: dict[int, int] = {}
    for number, item in enumerate(model.items):
        for section, height in item.sections:
            if section in full:
                bit = bits.setdefault((number, height), 1 << len(bits))
                owner[bit] = number
                full[section] |= bit
    loose = sum(bit for bit, number in owner.items() if model.items[number].loose)
    pairs = _pairs(list(full.values()), loose)
    return _join(model, [(owner[a], owner[b]) for a, b in pairs]) if pairs else model


def _pairs(sections: list[int], loose: int) -> list[tuple[int, int]]:
    """Pairs of items (as bits) at one offset; the second of a pair appears in no later pair."""
    result: list[tuple[int, int]] = []
    now: dict[int, int] = {}
    found: set[tuple[int, int]] = {(0, 0)}
    while found:
        sections = list(dict.fromkeys(sections))
        pairs = (_single_difference(one, other, loose) for one, other in combinations(sections, 2))
        found = {pair for pair in pairs if pair is not None}
        for one, other in sorted(found):
            a: int = now.get(one, one)
            b: int = now.get(other, other)
            if a != b:
                result.append((a, b))
                now = {bit: a if last == b else last for bit, last in now.items()} | {b: a}
                sections = [(s & ~b) | a if s & b else s for s in sections]
    return result


def _single_difference(one: int, other: int, loose: int) -> tuple[int, int] | None:
    """The items that each of two sections has and the other has not, if that is one loose item each."""
    a, b = one & ~other, other & ~one
    if a & (a - 1) or b & (b - 1) or not (a & loose and b & loose):
        return None
    return min(a, b), max(a, b)


def _join(model: SearchModel, pairs: list[tuple[int, int]]) -> SearchModel:
    root = list(range(len(model.items)))
    items = list(model.items)
    for a, b in pairs:
        a, b = root[a], root[b]
        if a == b:
            continue
        items[a] = _union(items[a], items[b])
        root = [a if r == b else r for r in root]
    kept = [i for i in range(len(items)) if root[i] == i]
    place = {old: new for new, old in enumerate(kept)}
    moved = [replace(items[i], apart=tuple(place[j] for j in items[i].apart)) for i in kept]
    return replace(model, items=tuple(moved))


def _union(a: SearchItem, b: SearchItem) -> SearchItem:
    if {section for section, _ in a.sections} & {section for section, _ in b.sections}:
        names = tuple(buffer.name for buffer in a.members + b.members)
        raise ConstraintClash("full sections force two live buffers to one offset", names)
    return replace(a, members=a.members + b.members, sections=tuple(sorted(a.sections + b.sections)))
