"""The complete search for offsets: lowest level first, any constraint, one capacity.

Source: this project; the branching follows Moffitt 2023 (MiniMalloc), see docs/references.md.

**Which plans are enough.** Take any plan that fits and push its items down, one at a time, each to the lowest
offset it may have above the items below it, until none can move. Each move lowers the sum of offsets, so this
ends. In the resulting *settled* plan every item is at the lowest of its offsets (aligned, within a range of
its variant) that is not below the tops of the conflicting items under it. Only settled plans are searched.
Moving an item down passes no item above it, so the argument also holds with pins, memories, heights that
differ by section, and items that must be in different memories (each settles within its own memory).

**State.** A section's *floor* is the height below which nothing more may be placed in it. An item's *floor*
is the greatest floor of its sections, its *level* the lowest offset that it may have from there. A section's
level is the least level of its unplaced items: all of them must fit between it and the capacity (rule 1).
Where an item has no offset left, the branch ends.

**Branching.** Take a section ``s`` at level ``h`` such that no section of its items at level ``h`` has a
lower level (the lowest section is one; there may be others). In any plan that agrees with the state, one of
two things holds. Either the lowest unplaced item of ``s`` is one of the items at level ``h``, at ``h``: then
nothing can come below it in its other sections any more, so it may be placed there for good. Or ``s`` stays
empty up to the next height at which one of its items can rest: this wastes bytes of the section, which it can
afford only up to the capacity less its level and its unplaced items. The section with the fewest branches is
taken, weighted by the failures it was part of.

**Symmetry.** Two changes turn a settled plan that fits into another: items equal in everything swap places;
an item resting on another with exactly the same sections, both of even height and free to be anywhere, swaps
with it. Each makes the list of item ranks by offset smaller, so repeating them ends, and in the final plan
equal items (rule 3) and such stacks (rule 4) are in order of rank. Also, an item placed at its level must
rest: its level must follow from the tops of placed items, not from floors raised by wasted bytes (rule 2).

**Backjumping.** A failure is explained by a set of sections ``E``: no plan agrees with the floors of these
sections and their unplaced items. A frame whose item has no section in ``E`` cannot help, so the search
returns past it. The explanation of a frame joins those of its branches and the reasons why there are no
others: its section; for each of its items above the level, a section with the item's floor; all sections of
an item refused by rules 2 or 4 or considered when leaving the section empty; a section of a placed item that
another must not share a memory with; and, where a section of an item put at ``h`` has a floor below ``h``,
what keeps the items of that section above it.

The search is a loop over explicit frames, so that it can be paused at any node and resumed.
"""

from __future__ import annotations

from solvers.search import columns as col
from solvers.search.branching import best_section, explain, list_choices
from solvers.search.moves import add_level, find_level, leave_empty, put, undo
from solvers.search.state import SearchState, add, clear, has, join, lowest, overlap


def overfull(state: SearchState) -> bool:
    """Whether rule 1 is broken; if so, explain it, by the floor of a single section where there is one."""
    control, sections = state.control, state.sections
    why, capacity = control[col.ITEM_COUNT], control[col.CAPACITY]
    found = -1
    for q in range(sections.shape[0]):
        rest = sections[q, col.REST_HEIGHT]
        if sections[q, col.REST_COUNT] and sections[q, col.LEVEL] + rest > capacity:
            found = q
            if sections[q, col.FLOOR] + rest > capacity:
                break
    if found < 0:
        return False
    sections[found, col.WEIGHT] += 10
    clear(state.sets, why)
    if sections[found, col.FLOOR] + sections[found, col.REST_HEIGHT] > capacity:
        add(state.sets, why, found)
    else:
        add_level(state, why, found)
    return True


def has_space(state: SearchState) -> bool:
    """Whether the arrays have space for one more frame, whatever it does."""
    control, sections, items = state.control, state.sections, state.items
    return bool(
        control[col.DEPTH] + 2 < state.frames.shape[0]
        and control[col.LOG_LENGTH] + 2 * sections.shape[0] + items.shape[0] < state.log.shape[0]
        and control[col.CHOICES_LENGTH] + control[col.MAX_CHOICES] < state.choices.shape[0]
    )


def branch(state: SearchState) -> bool:
    """Open a new frame, or end the search; False, with an explanation, where the state is a dead end."""
    control, sections, frames = state.control, state.sections, state.frames
    if control[col.UNPLACED_ITEMS] == 0:
        control[col.STATUS] = col.FOUND
        return True
    if overfull(state):
        return False
    if not has_space(state):
        control[col.STATUS] = col.NO_SPACE
        return True
    q = best_section(state)
    frame = control[col.DEPTH] + 1
    control[col.DEPTH] = frame
    frames[frame, col.SECTION] = q
    frames[frame, col.HEIGHT] = sections[q, col.LEVEL]
    frames[frame, col.FIRST] = control[col.CHOICES_LENGTH]
    frames[frame, col.NEXT] = control[col.CHOICES_LENGTH]
    row = control[col.ITEM_COUNT] + 1 + frame
    clear(state.sets, row)
    list_choices(state, q, row)
    if sections[q, col.LEVEL] + sections[q, col.REST_HEIGHT] < control[col.CAPACITY]:
        state.choices[control[col.CHOICES_LENGTH], col.CHOICE_ITEM] = col.LEAVE_EMPTY
        control[col.CHOICES_LENGTH] += 1
    frames[frame, col.STOP] = control[col.CHOICES_LENGTH]
    return True


def may_help(state: SearchState, frame: int) -> bool:
    """Whether another choice in this frame could avoid the current failure."""
    why, i = state.control[col.ITEM_COUNT], state.frames[frame, col.CHOSEN]
    if i < 0:
        return has(state.sets, why, state.frames[frame, col.SECTION])
    return overlap(state.sets, why, i)


def back(state: SearchState) -> None:
    """Return to the last frame that may avoid the failure."""
    control = state.control
    while control[col.DEPTH] >= 0:
        frame = control[col.DEPTH]
        undo(state, frame)
        if not control[col.RULE_JUMPS] or may_help(state, frame):
            join(state.sets, control[col.ITEM_COUNT] + 1 + frame, control[col.ITEM_COUNT])
            return
        control[col.CHOICES_LENGTH] = state.frames[frame, col.FIRST]
        control[col.DEPTH] = frame - 1
    control[col.STATUS] = col.EXHAUSTED


def choose(state: SearchState) -> bool:
    """Take the last frame's next choice and branch again; False, with an explanation, where that fails."""
    control, frames, choices = state.control, state.frames, state.choices
    frame = control[col.DEPTH]
    at = frames[frame, col.NEXT]
    item = choices[at, col.CHOICE_ITEM]
    frames[frame, col.NEXT] = at + 1
    frames[frame, col.CHOSEN] = item
    frames[frame, col.LOG_BEFORE] = control[col.LOG_LENGTH]
    control[col.STAMP] += 1
    control[col.NODES] += 1
    height = frames[frame, col.HEIGHT]
    if item == col.LEAVE_EMPTY:
        fits = leave_empty(state, frames[frame, col.SECTION], height, control[col.ITEM_COUNT] + 1 + frame)
    else:
        fits = put(state, item, choices[at, col.CHOICE_VARIANT], height)
    return fits and branch(state)


def restart(state: SearchState) -> None:
    """Begin again: nothing placed, no frame; weights, ranks and the number of nodes stay."""
    control, items, sections, links = state.control, state.items, state.sections, state.links
    control[col.STATUS] = col.RUNNING
    control[col.LOG_LENGTH] = 0
    control[col.CHOICES_LENGTH] = 0
    control[col.UNPLACED_ITEMS] = control[col.ITEM_COUNT]
    control[col.DEPTH] = -1
    for i in range(control[col.ITEM_COUNT]):
        items[i, col.ITEM_FLOOR] = 0
        items[i, col.WITNESS] = -1
        items[i, col.PLACED] = 0
        items[i, col.ITEM_LEVEL] = lowest(items, links, i, 0)
        if items[i, col.ITEM_LEVEL] == col.NEVER:
            control[col.STATUS] = col.EXHAUSTED
    for q in range(sections.shape[0]):
        sections[q, col.FLOOR] = 0
        sections[q, col.TOP] = 0
        sections[q, col.TOP_ITEM] = -1
        sections[q, col.REST_HEIGHT] = 0
        for at in range(sections[q, col.MEMBERS_BEGIN], sections[q, col.MEMBERS_END]):
            sections[q, col.REST_HEIGHT] += links[at, 1]
        sections[q, col.REST_COUNT] = sections[q, col.MEMBERS_END] - sections[q, col.MEMBERS_BEGIN]
        find_level(state, q)
    if control[col.STATUS] == col.RUNNING and not branch(state):
        control[col.STATUS] = col.EXHAUSTED


def run(state: SearchState, nodes: int) -> int:
    """Search for at most ``nodes`` more choices; the status, RUNNING where that was not enough."""
    control, frames, sets = state.control, state.frames, state.sets
    until = control[col.NODES] + nodes
    while control[col.STATUS] == col.RUNNING and control[col.NODES] < until:
        frame = control[col.DEPTH]
        if frames[frame, col.NEXT] < frames[frame, col.STOP]:
            if not choose(state):
                back(state)
            continue
        why = control[col.ITEM_COUNT]
        row = why + 1 + frame
        explain(state, frames[frame, col.SECTION], frames[frame, col.HEIGHT], row)
        clear(sets, why)
        join(sets, why, row)
        control[col.CHOICES_LENGTH] = frames[frame, col.FIRST]
        control[col.DEPTH] = frame - 1
        back(state)
    return int(control[col.STATUS])
