"""The complete search for offsets, compiled: lowest level first, any constraint, one capacity.

**Which plans are enough.** Push the items of any plan that fits down, one at a time, until none can move
to the lowest offset that it may have above what it then rests on. The sum of offsets falls with each
move, so this ends, and in a *settled* plan every item is at the lowest of its offsets (aligned, within a
range of its variant) that is not below the tops of the conflicting items beneath it. Only settled plans
are sought. Moving an item down passes no item above it, so pins, memories, heights that differ by
section, and items that must be apart (each settled within the memory that it has) change nothing here.

**State.** A section's *floor* is the height below which nothing more may be placed in it; an item's
*low* is the greatest floor of its sections, its *level* the lowest offset that it may have from there.
A section's level is the least of those of its items still to come: nothing comes lower, so what is to
come must fit between it and the capacity (rule 1). Where an item has no offset left, the branch ends.

**Branching.** Take a section ``s`` at level ``h`` such that no section of its items at level ``h`` has a
lower level (the lowest section is one, there are others). In any plan that agrees with the state, the
lowest item to come in ``s`` is one of the items at level ``h``, at ``h`` -- and then nothing can come
beneath it any more in its other sections, so it may be put there for good -- or all of ``s`` stays empty
up to the next height at which an item of ``s`` can rest: a section pays for waste from what it has to
spare (the capacity less its level and what is to come), so where nothing is to spare this branch is
closed. The section with the fewest branches is taken, weighed by the failures it was part of.

**Fewer plans yet.** Of a settled plan, two changes give another one that fits: items alike in everything
swap places; an item resting on another with exactly the same sections, of even height and free to be
anywhere, swaps with it. Each makes the list of item ranks by offset smaller, so they end too, and the
plan where they end has twins in order (rule 3) and such stacks in order (rule 4). And an item put at its
level must rest: its level must follow from tops of placed items, not from floors raised by waste
(rule 2).

**Jumping back.** A failure is explained by a set of sections ``E``: no plan agrees with the floors of
these sections and the items to come in them. A frame whose item has no section in ``E`` cannot help, so
the search returns past it. The explanation of a frame is that of all its branches, and of why these are
all: its section, a section with the greatest floor for each of its items that are above the level, all
sections of an item refused by rules 2 or 4 or considered for waste, a section of a placed item from
which another must be apart, and, where a section of an item put at ``h`` has a floor below ``h``, what
keeps the items of that section above it.

The work is a loop over explicit frames, so that it can be paused at any node and resumed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from solvers.search_jit import compiled
Ints = npt.NDArray[np.int64]

Words = npt.NDArray[np.uint64]

RUNNING, FOUND, EXHAUSTED, NO_SPACE = 0, 1, 2, 3
NEVER = 1 << 61
WASTE = -1
MOST_WEIGHT = 1 << 36
"""Of a section in a comparison, so that no product overflows."""
# Places of `c`, the control; LOG and CHOICES are the lengths in use. TASTE: how the section to branch in is
# chosen, one of the three. SNUG: whether items that end level with their neighbours are tried first.
STATUS, DEPTH, NODES, LOG, CHOICES, STAMP, LEFT, CAPACITY, ITEMS, REST, TWINS, STACKS, JUMPS, MOST_CHOICES = range(14)
TASTE, SNUG = 14, 15
BY_WEIGHT, LOW_BY_WEIGHT, BY_WAYS = range(3)
# Columns of `it`, a row for each item. X_BEGIN to X_END are rows of `li`: sections (with the item's height
# there), conflicts (with the item's height where they meet, and the section where it is that high), variants
# (the memory, -1 for any; the first row of its ranges, which end where those of the next row begin), and
# items that must be apart. WITNESS: a section whose floor keeps the item from being lower, -1 for none.
SIZE, ALIGN, TWIN, LOOSE, SLANT, RANK = range(6)
SEC_BEGIN, SEC_END, CON_BEGIN, CON_END, VAR_BEGIN, VAR_END, APART_BEGIN, APART_END = range(6, 14)
LOW, RISE, PLACED, OFFSET, HOME, WITNESS = range(14, 20)
ITEM_COLUMNS = 20
# Columns of `se`, a row for each section. IN_BEGIN to IN_END are rows of `li`: its items and their heights.
# TOP and UPPER: the end of the highest item placed there, and which that is. SUM: what is to come.
IN_BEGIN, IN_END, FLOOR, TOP, UPPER, SUM, COMING, LEVEL, COUNT, SAVED, WEIGHT = range(11)
SECTION_COLUMNS = 11
# Columns of `fr`, a row for each frame: where it branches and at which height, its choices in `ch`, what it
# chose last and the length of the log before that.
SECTION, HEIGHT, FIRST, STOP, NEXT, CHOSEN, BEFORE = range(7)
FRAME_COLUMNS = 7
# Rows of `lo`, the log of what to take back: a kind, an index and three old values.
A_FLOOR, A_LOW, A_LEVEL = range(3)
# `bi`: sets of sections, as bits: a row for each item, one for the explanation at hand, one for each frame.


class State(NamedTuple):
    """Where a search stands; the columns are named above. Weights and ranks outlive a restart."""

    c: Ints
    it: Ints
    se: Ints
    li: Ints
    bi: Words
    fr: Ints
    lo: Ints
    ch: Ints


@compiled
def restart(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, fr: Ints, lo: Ints, ch: Ints) -> None:
    """Nothing placed, no frame; weights, ranks and the number of nodes stay."""
    c[STATUS] = RUNNING
    c[LOG] = 0
    c[CHOICES] = 0
    c[LEFT] = c[ITEMS]
    c[DEPTH] = -1
    for i in range(c[ITEMS]):
        it[i, LOW] = 0
        it[i, WITNESS] = -1
        it[i, PLACED] = 0
        it[i, RISE] = lowest(it, li, i, 0)
        if it[i, RISE] == NEVER:
            c[STATUS] = EXHAUSTED
    for q in range(se.shape[0]):
        se[q, FLOOR] = 0
        se[q, TOP] = 0
        se[q, UPPER] = -1
        se[q, SUM] = 0
        for at in range(se[q, IN_BEGIN], se[q, IN_END]):
            se[q, SUM] += li[at, 1]
        se[q, COMING] = se[q, IN_END] - se[q, IN_BEGIN]
        find_level(it, se, li, q)
    if c[STATUS] == RUNNING and not branch(c, it, se, li, bi, fr, lo, ch):
        c[STATUS] = EXHAUSTED


@compiled
def lifted(it: Ints, li: Ints, i: int, variant: int, low: int) -> int:
    """The lowest offset of a variant of item ``i`` that is not below ``low``."""
    align = it[i, ALIGN]
    for r in range(li[variant, 1], li[variant + 1, 1]):
        offset = max(low, li[r, 0])
        if align > 1:
            offset = (offset + align - 1) // align * align
        if offset <= li[r, 1]:
            return offset
    return NEVER


@compiled
def lowest(it: Ints, li: Ints, i: int, low: int) -> int:
    """The lowest offset of any variant of item ``i`` that is not below ``low``."""
    result = NEVER
    for v in range(it[i, VAR_BEGIN], it[i, VAR_END]):
        result = min(result, lifted(it, li, i, v, low))
    return result


@compiled
def find_level(it: Ints, se: Ints, li: Ints, q: int) -> None:
    """The level of section ``q`` anew, and how many items are at it."""
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
def add(bi: Words, row: int, section: int) -> None:
    """Put a section into a set."""
    bi[row, section >> 6] |= np.uint64(1) << np.uint64(section & 63)


@compiled
def has(bi: Words, row: int, section: int) -> bool:
    """Whether a section is in a set."""
    return (bi[row, section >> 6] >> np.uint64(section & 63)) & np.uint64(1) != 0


@compiled
def clear(bi: Words, row: int) -> None:
    """Empty a set."""
    for w in range(bi.shape[1]):
        bi[row, w] = np.uint64(0)


@compiled
def join(bi: Words, row: int, more: int) -> None:
    """Put a set into a set."""
    for w in range(bi.shape[1]):
        bi[row, w] |= bi[more, w]


@compiled
def meet(bi: Words, row: int, other: int) -> bool:
    """Whether two sets have a section in common."""
    for w in range(bi.shape[1]):
        if bi[row, w] & bi[other, w]:
            return True
    return False


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
def overfull(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words) -> bool:
    """Whether rule 1 is broken; then why, by the floor of a single section where there is one."""
    why = c[ITEMS]
    found = -1
    for q in range(se.shape[0]):
        if se[q, COMING] and se[q, LEVEL] + se[q, SUM] > c[CAPACITY]:
            found = q
            if se[q, FLOOR] + se[q, SUM] > c[CAPACITY]:
                break
    if found < 0:
        return False
    se[found, WEIGHT] += 10
    clear(bi, why)
    if se[found, FLOOR] + se[found, SUM] > c[CAPACITY]:
        add(bi, why, found)
    else:
        add_level(it, se, li, bi, why, found)
    return True


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
def best_section(c: Ints, it: Ints, se: Ints, li: Ints) -> int:
    """The section to branch in: one with a single way on, else the fewest ways for its weight."""
    best, least, most = -1, 1, 0
    for q in range(se.shape[0]):
        if se[q, COMING] == 0:
            continue
        ways = se[q, COUNT]
        if se[q, LEVEL] + se[q, SUM] < c[CAPACITY]:
            ways += 1
        weight = 1
        if c[TASTE] != BY_WAYS:
            weight = min(se[q, WEIGHT], MOST_WEIGHT)
        if c[TASTE] == LOW_BY_WEIGHT:
            weight *= ((c[CAPACITY] - se[q, LEVEL]) * 1024) // c[CAPACITY] + 1
        if ways * most < least * weight and closed_below(it, se, li, q):
            best, least, most = q, ways, weight
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
    if not it[i, LOOSE] or not it[under, LOOSE]:
        return False
    for w in range(bi.shape[1]):
        if bi[i, w] != bi[under, w]:
            return False
    return True


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


@compiled
def room(c: Ints, it: Ints, se: Ints, fr: Ints, lo: Ints, ch: Ints) -> bool:
    """Whether log and lists have space for one more frame, whatever it does."""
    return (
        c[DEPTH] + 2 < fr.shape[0]
        and c[LOG] + 2 * se.shape[0] + it.shape[0] < lo.shape[0]
        and c[CHOICES] + c[MOST_CHOICES] < ch.shape[0]
    )


@compiled
def branch(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, fr: Ints, lo: Ints, ch: Ints) -> bool:
    """A new frame, or the end of the search; False, with the reason, where there is no way on."""
    if c[LEFT] == 0:
        c[STATUS] = FOUND
        return True
    if overfull(c, it, se, li, bi):
        return False
    if not room(c, it, se, fr, lo, ch):
        c[STATUS] = NO_SPACE
        return True
    q = best_section(c, it, se, li)
    frame = c[DEPTH] + 1
    c[DEPTH] = frame
    fr[frame, SECTION] = q
    fr[frame, HEIGHT] = se[q, LEVEL]
    fr[frame, FIRST] = c[CHOICES]
    fr[frame, NEXT] = c[CHOICES]
    row = c[ITEMS] + 1 + frame
    clear(bi, row)
    list_choices(c, it, se, li, bi, ch, q, row)
    if se[q, LEVEL] + se[q, SUM] < c[CAPACITY]:
        ch[c[CHOICES], 0] = WASTE
        c[CHOICES] += 1
    fr[frame, STOP] = c[CHOICES]
    return True


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
def lift_item(
    c: Ints, it: Ints, se: Ints, li: Ints, lo: Ints, i: int, low: int, section: int
) -> bool:
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
    return it[i, RISE] != NEVER


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
def next_rest(
    it: Ints, li: Ints, bi: Words, i: int, q: int, height: int, most: int
) -> int:
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
def waste(
    c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, lo: Ints, q: int, height: int, row: int
) -> bool:
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


@compiled
def touches(c: Ints, bi: Words, fr: Ints, frame: int) -> bool:
    """Whether another choice in this frame could mend the failure at hand."""
    i = fr[frame, CHOSEN]
    if i < 0:
        return has(bi, c[ITEMS], fr[frame, SECTION])
    return meet(bi, c[ITEMS], i)


@compiled
def back(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, fr: Ints, lo: Ints) -> None:
    """Return to the last frame that may mend the failure."""
    while c[DEPTH] >= 0:
        frame = c[DEPTH]
        undo(c, it, se, li, fr, lo, frame)
        if not c[JUMPS] or touches(c, bi, fr, frame):
            join(bi, c[ITEMS] + 1 + frame, c[ITEMS])
            return
        c[CHOICES] = fr[frame, FIRST]
        c[DEPTH] = frame - 1
    c[STATUS] = EXHAUSTED


@compiled
def choose(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, fr: Ints, lo: Ints, ch: Ints) -> bool:
    """The last frame's next choice, and a frame beyond it; False, with the reason, where that fails."""
    frame = c[DEPTH]
    at = fr[frame, NEXT]
    fr[frame, NEXT] = at + 1
    fr[frame, CHOSEN] = ch[at, 0]
    fr[frame, BEFORE] = c[LOG]
    c[STAMP] += 1
    c[NODES] += 1
    height = fr[frame, HEIGHT]
    if ch[at, 0] == WASTE:
        fits = waste(c, it, se, li, bi, lo, fr[frame, SECTION], height, c[ITEMS] + 1 + frame)
    else:
        fits = put(c, it, se, li, bi, lo, ch[at, 0], ch[at, 1], height)
    return fits and branch(c, it, se, li, bi, fr, lo, ch)


@compiled
def run(
    c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, fr: Ints, lo: Ints, ch: Ints, nodes: int
) -> int:
    """Search for at most ``nodes`` more choices; the status, RUNNING where that was not enough."""
    until = c[NODES] + nodes
    while c[STATUS] == RUNNING and c[NODES] < until:
        frame = c[DEPTH]
        if fr[frame, NEXT] < fr[frame, STOP]:
            if not choose(c, it, se, li, bi, fr, lo, ch):
                back(c, it, se, li, bi, fr, lo)
            continue
        row = c[ITEMS] + 1 + frame
        explain(c, it, se, li, bi, fr[frame, SECTION], fr[frame, HEIGHT], row)
        clear(bi, c[ITEMS])
        join(bi, c[ITEMS], row)
        c[CHOICES] = fr[frame, FIRST]
        c[DEPTH] = frame - 1
        back(c, it, se, li, bi, fr, lo)
    return int(c[STATUS])
