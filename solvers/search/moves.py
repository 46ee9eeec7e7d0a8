"""Placing an item, leaving a section empty for a stretch, and taking either back: with reasons to fail.

``solvers.search.kernel`` says what floors, levels and explanations are.
"""

from __future__ import annotations

from solvers.search.jit import compiled
from solvers.search.state import (
    A_FLOOR,
    A_LEVEL,
    A_LOW,
    BEFORE,
    CAPACITY,
    CHOSEN,
    COMING,
    CON_BEGIN,
    CON_END,
    COUNT,
    FLOOR,
    HOME,
    IN_BEGIN,
    IN_END,
    ITEMS,
    LEFT,
    LEVEL,
    LOG,
    LOW,
    NEVER,
    OFFSET,
    PLACED,
    RISE,
    SAVED,
    SEC_BEGIN,
    SEC_END,
    SIZE,
    SLANT,
    STAMP,
    SUM,
    TOP,
    UPPER,
    VAR_BEGIN,
    VAR_END,
    WEIGHT,
    WITNESS,
    Ints,
    Words,
    add,
    clear,
    has,
    join,
    lifted,
    lowest,
)


@compiled
def add_witness(it: Ints, bi: Words, row: int, i: int) -> None:
    """Put into a set what keeps item ``i`` from being lower."""
    if it[i, WITNESS] >= 0:
        add(bi, row, it[i, WITNESS])


@compiled
def add_level(it: Ints, se: Ints, li: Ints, bi: Words, row: int, q: int) -> None:
    """Put into a set what keeps the items to come in section ``q`` above its floor."""
    add(bi, row, q)
    for at in range(se[q, IN_BEGIN], se[q, IN_END]):
        if not it[li[at, 0], PLACED]:
            add_witness(it, bi, row, li[at, 0])


@compiled
def find_level(it: Ints, se: Ints, li: Ints, q: int) -> None:
    """The level of section ``q`` again, and how many items are at it."""
    level, count = NEVER, 0
    for at in range(se[q, IN_BEGIN], se[q, IN_END]):
        i = li[at, 0]
        if it[i, PLACED] or it[i, RISE] > level:
            continue
        if it[i, RISE] < level:
            level, count = it[i, RISE], 0
        count += 1
    se[q, LEVEL] = level
    se[q, COUNT] = count


@compiled
def log(c: Ints, lo: Ints, kind: int, index: int, x: int, y: int, z: int) -> None:
    """Note what to take back."""
    at = c[LOG]
    lo[at, 0] = kind
    lo[at, 1] = index
    lo[at, 2] = x
    lo[at, 3] = y
    lo[at, 4] = z
    c[LOG] = at + 1


@compiled
def leave_level(c: Ints, it: Ints, se: Ints, li: Ints, lo: Ints, i: int, level: int) -> None:
    """Item ``i`` is no longer at ``level``, in any of its sections; ``settle_levels`` must follow."""
    for at in range(it[i, SEC_BEGIN], it[i, SEC_END]):
        q = li[at, 0]
        if se[q, LEVEL] != level:
            continue
        if se[q, SAVED] != c[STAMP]:
            se[q, SAVED] = c[STAMP]
            log(c, lo, A_LEVEL, q, level, se[q, COUNT], 0)
        se[q, COUNT] -= 1


@compiled
def settle_levels(c: Ints, it: Ints, se: Ints, li: Ints, lo: Ints, begin: int) -> None:
    """New levels for the sections that nothing is left at the level of, by the log from ``begin``."""
    for at in range(begin, c[LOG]):
        if lo[at, 0] == A_LEVEL and se[lo[at, 1], COUNT] == 0:
            find_level(it, se, li, lo[at, 1])


@compiled
def lift_item(c: Ints, it: Ints, se: Ints, li: Ints, lo: Ints, i: int, low: int, section: int) -> bool:
    """Item ``i`` not below ``low``, the floor of ``section``; False where it has no offset left."""
    old = it[i, RISE]
    log(c, lo, A_LOW, i, it[i, LOW], old, it[i, WITNESS])
    it[i, LOW] = low
    it[i, WITNESS] = section
    if old >= low and it[i, VAR_END] - it[i, VAR_BEGIN] == 1:
        return True
    it[i, RISE] = lowest(it, li, i, low)
    if it[i, RISE] != old:
        leave_level(c, it, se, li, lo, i, old)
    return bool(it[i, RISE] != NEVER)


@compiled
def raise_floor(c: Ints, se: Ints, lo: Ints, q: int, floor: int) -> None:
    """A new floor of a section."""
    log(c, lo, A_FLOOR, q, se[q, FLOOR], se[q, TOP], se[q, UPPER])
    se[q, FLOOR] = floor


@compiled
def no_offset(c: Ints, it: Ints, se: Ints, bi: Words, i: int) -> bool:
    """The explanation where item ``i`` has no offset left; always False."""
    clear(bi, c[ITEMS])
    add_witness(it, bi, c[ITEMS], i)
    if it[i, WITNESS] >= 0:
        se[it[i, WITNESS], WEIGHT] += 10
    return False


@compiled
def put(
    c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, lo: Ints, i: int, variant: int, height: int
) -> bool:
    """Place item ``i``; False, with the reason, where another one has no offset left."""
    begin = c[LOG]
    it[i, PLACED] = 1
    it[i, OFFSET] = height
    it[i, HOME] = li[variant, 0]
    c[LEFT] -= 1
    for at in range(it[i, SEC_BEGIN], it[i, SEC_END]):
        q = li[at, 0]
        raise_floor(c, se, lo, q, height + li[at, 1])
        se[q, TOP] = height + li[at, 1]
        se[q, UPPER] = i
        se[q, SUM] -= li[at, 1]
        se[q, COMING] -= 1
    leave_level(c, it, se, li, lo, i, it[i, RISE])
    for at in range(it[i, CON_BEGIN], it[i, CON_END]):
        j = li[at, 0]
        top = height + li[at, 1]
        if it[j, PLACED] or it[j, LOW] >= top:
            continue
        if not lift_item(c, it, se, li, lo, j, top, li[at, 2]):
            return no_offset(c, it, se, bi, j)
    settle_levels(c, it, se, li, lo, begin)
    return True


@compiled
def next_rest(it: Ints, li: Ints, bi: Words, i: int, q: int, height: int, most: int) -> int:
    """The lowest offset of item ``i``, or ``most``, where nothing of section ``q`` is at ``height``.

    An item that could be at ``height`` and is not rests on one that does not belong to ``q``, and is at
    ``height`` or above; or it is of a variant that begins higher.
    """
    top = NEVER
    for at in range(it[i, CON_BEGIN], it[i, CON_END]):
        j = li[at, 0]
        if not it[j, PLACED] and not has(bi, j, q):
            top = min(top, height + it[j, SIZE] - it[j, SLANT])
    for v in range(it[i, VAR_BEGIN], it[i, VAR_END]):
        offset = lifted(it, li, i, v, it[i, LOW])
        if offset <= height:
            offset = lifted(it, li, i, v, max(top, height + 1)) if top < NEVER else NEVER
        most = min(most, offset)
    return most


@compiled
def waste(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, lo: Ints, q: int, height: int, row: int) -> bool:
    """Nothing of section ``q`` is at ``height``: up to what can be next; False where that is too high."""
    floor = NEVER
    for at in range(se[q, IN_BEGIN], se[q, IN_END]):
        i = li[at, 0]
        if it[i, PLACED]:
            continue
        if it[i, RISE] > height:
            floor = min(floor, it[i, RISE])
        else:
            floor = next_rest(it, li, bi, i, q, height, floor)
            join(bi, row, i)
    if floor + se[q, SUM] > c[CAPACITY]:
        se[q, WEIGHT] += 10
        clear(bi, c[ITEMS])
        join(bi, c[ITEMS], row)
        add_level(it, se, li, bi, c[ITEMS], q)
        return False
    begin = c[LOG]
    raise_floor(c, se, lo, q, floor)
    for at in range(se[q, IN_BEGIN], se[q, IN_END]):
        i = li[at, 0]
        if it[i, PLACED] or it[i, LOW] >= floor:
            continue
        if not lift_item(c, it, se, li, lo, i, floor, q):
            return no_offset(c, it, se, bi, i)
    settle_levels(c, it, se, li, lo, begin)
    return True


@compiled
def undo(c: Ints, it: Ints, se: Ints, li: Ints, fr: Ints, lo: Ints, frame: int) -> None:
    """Take back what the frame chose."""
    i = fr[frame, CHOSEN]
    if i >= 0:
        it[i, PLACED] = 0
        c[LEFT] += 1
        for at in range(it[i, SEC_BEGIN], it[i, SEC_END]):
            se[li[at, 0], SUM] += li[at, 1]
            se[li[at, 0], COMING] += 1
    for at in range(c[LOG] - 1, fr[frame, BEFORE] - 1, -1):
        index = lo[at, 1]
        if lo[at, 0] == A_LEVEL:
            se[index, LEVEL] = lo[at, 2]
            se[index, COUNT] = lo[at, 3]
        elif lo[at, 0] == A_LOW:
            it[index, LOW] = lo[at, 2]
            it[index, RISE] = lo[at, 3]
            it[index, WITNESS] = lo[at, 4]
        else:
            se[index, FLOOR] = lo[at, 2]
            se[index, TOP] = lo[at, 3]
            se[index, UPPER] = lo[at, 4]
    c[LOG] = fr[frame, BEFORE]
