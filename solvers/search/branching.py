"""In which section to branch, between which items, and why between no others.

``solvers.search.kernel`` says what the rules are, and what an explanation is.
"""

from __future__ import annotations

from solvers.search.jit import compiled
from solvers.search.moves import add_level, add_witness
from solvers.search.state import (
    APART_BEGIN,
    APART_END,
    CAPACITY,
    CHOICES,
    COMING,
    COUNT,
    FEWEST_LAST,
    FEWEST_WEIGHTIEST,
    FLOOR,
    HOME,
    IN_BEGIN,
    IN_END,
    ITEMS,
    LEVEL,
    LOOSE,
    LOW,
    MOST_WEIGHT,
    PLACED,
    RANK,
    REST,
    RISE,
    SEC_BEGIN,
    SEC_END,
    SIZE,
    SNUG,
    STACKS,
    SUM,
    TASTE,
    TOP,
    TWIN,
    TWINS,
    UPPER,
    VAR_BEGIN,
    VAR_END,
    WEIGHT,
    Ints,
    Words,
    add,
    join,
    lifted,
    same,
)


@compiled
def closed_below(it: Ints, se: Ints, li: Ints, q: int) -> bool:
    """Whether nothing can come beneath the items that are at the level of section ``q``."""
    level = se[q, LEVEL]
    for at in range(se[q, IN_BEGIN], se[q, IN_END]):
        i = li[at, 0]
        if it[i, PLACED] or it[i, RISE] != level:
            continue
        for other in range(it[i, SEC_BEGIN], it[i, SEC_END]):
            if se[li[other, 0], LEVEL] < level:
                return False
    return True


@compiled
def cost(c: Ints, se: Ints, q: int, ways: int) -> float:
    """What branching in section ``q`` is thought to cost: by the number of ways on, as taste has it."""
    if c[TASTE] == FEWEST_LAST:
        return float(ways - 1e-9 * q)
    if c[TASTE] == FEWEST_WEIGHTIEST:
        return float(ways - 1e-10 * min(se[q, WEIGHT], MOST_WEIGHT))
    low = 1.0 + 1024.0 * (c[CAPACITY] - se[q, LEVEL]) / c[CAPACITY]
    return float(ways / (se[q, WEIGHT] * low))


@compiled
def best_section(c: Ints, it: Ints, se: Ints, li: Ints) -> int:
    """The section to branch in: the first found with a single way on at most, else the cheapest."""
    best, least = -1, 1e30
    for q in range(se.shape[0]):
        if se[q, COMING] == 0:
            continue
        ways = se[q, COUNT]
        if se[q, LEVEL] + se[q, SUM] < c[CAPACITY]:
            ways += 1
        at = cost(c, se, q, ways)
        if at < least and closed_below(it, se, li, q):
            best, least = q, at
            if ways <= 1:
                return best
    return best


@compiled
def rests(it: Ints, se: Ints, li: Ints, i: int, variant: int, height: int) -> bool:
    """Rule 2: whether the tops of placed items alone put item ``i`` at ``height``."""
    top = 0
    for at in range(it[i, SEC_BEGIN], it[i, SEC_END]):
        top = max(top, se[li[at, 0], TOP])
    return lifted(it, li, i, variant, top) == height


@compiled
def stacked_wrongly(it: Ints, se: Ints, li: Ints, bi: Words, i: int, height: int) -> bool:
    """Rule 4: whether ``i`` would rest on an item of a higher rank with exactly the same sections."""
    q = li[it[i, SEC_BEGIN], 0]
    under = se[q, UPPER]
    if under < 0 or se[q, TOP] != height or it[under, RANK] < it[i, RANK]:
        return False
    return bool(it[i, LOOSE] and it[under, LOOSE] and same(bi, i, under))


@compiled
def allowed(it: Ints, li: Ints, bi: Words, i: int, variant: int, row: int) -> bool:
    """Whether no placed item that must be apart from ``i`` is in the variant's memory; else why."""
    for at in range(it[i, APART_BEGIN], it[i, APART_END]):
        j = li[at, 0]
        if it[j, PLACED] and it[j, HOME] == li[variant, 0]:
            add(bi, row, li[it[j, SEC_BEGIN], 0])
            return False
    return True


@compiled
def snug(it: Ints, se: Ints, li: Ints, i: int) -> int:
    """On how many sides item ``i``, at its level, would end level with the neighbouring section's floor."""
    top = it[i, RISE] + it[i, SIZE]
    left = li[it[i, SEC_BEGIN], 0] - 1
    right = li[it[i, SEC_END] - 1, 0] + 1
    sides = 0
    if left < 0 or se[left, FLOOR] == top:
        sides += 1
    if right >= se.shape[0] or se[right, FLOOR] == top:
        sides += 1
    return sides


@compiled
def insert(c: Ints, it: Ints, se: Ints, li: Ints, ch: Ints, first: int, i: int, variant: int) -> None:
    """One more choice, in its place by rank."""
    key = it[i, RANK]
    if c[SNUG]:
        key -= snug(it, se, li, i) * c[ITEMS]
    to = c[CHOICES]
    while to > first and ch[to - 1, 2] > key:
        for column in range(3):
            ch[to, column] = ch[to - 1, column]
        to -= 1
    ch[to, 0] = i
    ch[to, 1] = variant
    ch[to, 2] = key
    c[CHOICES] += 1


@compiled
def list_choices(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, ch: Ints, q: int, row: int) -> None:
    """What may be the lowest item to come in section ``q``, by rank."""
    first = c[CHOICES]
    height = se[q, LEVEL]
    for at in range(se[q, IN_BEGIN], se[q, IN_END]):
        i = li[at, 0]
        if it[i, PLACED] or it[i, RISE] != height:
            continue
        if c[TWINS] and it[i, TWIN] >= 0 and not it[it[i, TWIN], PLACED]:
            continue
        if c[STACKS] and stacked_wrongly(it, se, li, bi, i, height):
            continue
        for v in range(it[i, VAR_BEGIN], it[i, VAR_END]):
            if lifted(it, li, i, v, it[i, LOW]) != height:
                continue
            if c[REST] and not rests(it, se, li, i, v, height):
                continue
            if allowed(it, li, bi, i, v, row):
                insert(c, it, se, li, ch, first, i, v)


@compiled
def explain(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, q: int, height: int, row: int) -> None:
    """Put into set ``row`` why nothing else than its choices may be lowest in section ``q``.

    To be called when all choices are taken back. It says a little more than it must: all sections of an
    item at the height, unless that is sure to have been a choice.
    """
    add(bi, row, q)
    for at in range(se[q, IN_BEGIN], se[q, IN_END]):
        i = li[at, 0]
        if it[i, PLACED]:
            continue
        if it[i, RISE] != height:
            add_witness(it, bi, row, i)
            continue
        if not plainly_next(c, it, se, li, bi, i, height):
            join(bi, row, i)
        for other in range(it[i, SEC_BEGIN], it[i, SEC_END]):
            if se[li[other, 0], FLOOR] < height:
                add_level(it, se, li, bi, row, li[other, 0])


@compiled
def plainly_next(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, i: int, height: int) -> bool:
    """Whether item ``i``, at ``height``, was a choice, or was not because of its twin."""
    v = it[i, VAR_BEGIN]
    if it[i, VAR_END] - v != 1 or it[i, APART_END] > it[i, APART_BEGIN]:
        return False
    if c[REST] and not rests(it, se, li, i, v, height):
        return False
    return not (c[STACKS] and stacked_wrongly(it, se, li, bi, i, height))
