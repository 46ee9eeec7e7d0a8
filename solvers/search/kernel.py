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

from collections.abc import Callable

from solvers.search.branching import best_section, explain, list_choices
from solvers.search.jit import compiled, fingerprint
from solvers.search.moves import add_level, find_level, put, undo, waste
from solvers.search.state import (
    BEFORE,
    CAPACITY,
    CHOICES,
    CHOSEN,
    COMING,
    DEPTH,
    EXHAUSTED,
    FIRST,
    FLOOR,
    FOUND,
    HEIGHT,
    IN_BEGIN,
    IN_END,
    ITEMS,
    JUMPS,
    LEFT,
    LEVEL,
    LOG,
    LOW,
    MOST_CHOICES,
    NEVER,
    NEXT,
    NO_SPACE,
    NODES,
    PLACED,
    RISE,
    RUNNING,
    SECTION,
    SOURCES,
    STAMP,
    STATUS,
    STOP,
    SUM,
    TOP,
    UPPER,
    WASTE,
    WEIGHT,
    WITNESS,
    Ints,
    Words,
    add,
    clear,
    has,
    join,
    lowest,
    meet,
)

Restart = Callable[[Ints, Ints, Ints, Ints, Words, Ints, Ints, Ints], None]
Run = Callable[[Ints, Ints, Ints, Ints, Words, Ints, Ints, Ints, int], int]


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
def room(c: Ints, it: Ints, se: Ints, fr: Ints, lo: Ints, ch: Ints) -> bool:
    """Whether log and lists have space for one more frame, whatever it does."""
    return bool(
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
def touches(c: Ints, bi: Words, fr: Ints, frame: int) -> bool:
    """Whether another choice in this frame could hint the failure at hand."""
    i = fr[frame, CHOSEN]
    if i < 0:
        return has(bi, c[ITEMS], fr[frame, SECTION])
    return meet(bi, c[ITEMS], i)


@compiled
def back(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, fr: Ints, lo: Ints) -> None:
    """Return to the last frame that may hint the failure."""
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


def _entries(sources: int) -> tuple[Restart, Run]:
    """The two functions that are called from outside.

    Machine code on disk is found by its function's own file and by what the function encloses: therefore
    they enclose a number for the text of the modules that they call.
    """

    @compiled
    def restart(c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, fr: Ints, lo: Ints, ch: Ints) -> None:
        """Nothing placed, no frame; weights, ranks and the number of nodes stay."""
        c[SOURCES] = sources
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
    def run(
        c: Ints, it: Ints, se: Ints, li: Ints, bi: Words, fr: Ints, lo: Ints, ch: Ints, nodes: int
    ) -> int:
        """Search for at most ``nodes`` more choices; the status, RUNNING where that was not enough."""
        c[SOURCES] = sources
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

    return restart, run


COMPILED_FROM = ("state", "moves", "branching", "kernel")
"""Modules of this package whose text the machine code on disk depends on."""

restart, run = _entries(fingerprint(*COMPILED_FROM))
