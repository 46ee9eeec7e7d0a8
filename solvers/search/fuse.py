"""Items that a capacity leaves no choice but to be at one offset.

A section whose items add up to the capacity is filled without a gap. Take two such sections, and the
items that both have, with the same height in both: they lie at the same places in both, so the rest of
the one fills the same places as the rest of the other. Where each rest is a single item, these two are
at one offset, in every plan that fits. They become one item, and so on until no two sections show more.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from solvers.search.model import Contradiction, Group, Model


def fused(model: Model, capacity: int) -> Model:
    """``model`` with such items made one, at ``capacity`` bytes.

    Raises Contradiction where two that have to be at one offset share a section.
    """
    capacity = capacity // model.unit * model.unit
    loads = model.loads()
    bits: dict[tuple[int, int], int] = {}
    full = {section: 0 for section, load in enumerate(loads) if load == capacity}
    owner: dict[int, int] = {}
    for number, group in enumerate(model.groups):
        for section, height in group.sections:
            if section in full:
                bit = bits.setdefault((number, height), 1 << len(bits))
                owner[bit] = number
                full[section] |= bit
    loose = sum(bit for bit, number in owner.items() if model.groups[number].loose)
    pairs = _pairs(list(full.values()), loose)
    return _joined(model, [(owner[a], owner[b]) for a, b in pairs]) if pairs else model


def _pairs(sections: list[int], loose: int) -> list[tuple[int, int]]:
    """Bits of items at one offset, two by two; the second of a pair appears in no later one."""
    result: list[tuple[int, int]] = []
    now: dict[int, int] = {}
    found: set[tuple[int, int]] = {(0, 0)}
    while found:
        sections = list(dict.fromkeys(sections))
        met = (_alone(one, other, loose) for one, other in combinations(sections, 2))
        found = {pair for pair in met if pair is not None}
        for one, other in sorted(found):
            a: int = now.get(one, one)
            b: int = now.get(other, other)
            if a != b:
                result.append((a, b))
                now = {bit: a if last == b else last for bit, last in now.items()} | {b: a}
                sections = [(s & ~b) | a if s & b else s for s in sections]
    return result


def _alone(one: int, other: int, loose: int) -> tuple[int, int] | None:
    """What each of two sections has and the other has not, where that is one loose item each."""
    a, b = one & ~other, other & ~one
    if a & (a - 1) or b & (b - 1) or not (a & loose and b & loose):
        return None
    return min(a, b), max(a, b)


def _joined(model: Model, pairs: list[tuple[int, int]]) -> Model:
    root = list(range(len(model.groups)))
    groups = list(model.groups)
    for a, b in pairs:
        a, b = root[a], root[b]
        if a == b:
            continue
        groups[a] = _union(groups[a], groups[b])
        root = [a if r == b else r for r in root]
    kept = [i for i in range(len(groups)) if root[i] == i]
    place = {old: new for new, old in enumerate(kept)}
    moved = [replace(groups[i], apart=tuple(place[j] for j in groups[i].apart)) for i in kept]
    return replace(model, groups=tuple(moved))


def _union(a: Group, b: Group) -> Group:
    if {section for section, _ in a.sections} & {section for section, _ in b.sections}:
        names = tuple(buffer.name for buffer in a.members + b.members)
        raise Contradiction("full sections leave two buffers one place", names)
    return replace(a, members=a.members + b.members, sections=tuple(sorted(a.sections + b.sections)))
