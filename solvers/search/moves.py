"""Place an item, leave part of a section empty, and take either back; with explanations of failures.

``solvers.search.kernel`` defines floors, levels and explanations.
"""

from __future__ import annotations

from solvers.search import columns as col
from solvers.search.state import Ints, SearchState, Words, add, clear, has, join, lifted, lowest


def add_witness(items: Ints, sets: Words, row: int, i: int) -> None:
    """Put into a set what keeps item ``i`` from being lower."""
    if items[i, col.WITNESS] >= 0:
        add(sets, row, items[i, col.WITNESS])


def add_level(state: SearchState, row: int, q: int) -> None:
    """Put into a set what keeps the unplaced items of section ``q`` above its floor."""
    items, sections, links, sets = state.items, state.sections, state.links, state.sets
    add(sets, row, q)
    for at in range(sections[q, col.MEMBERS_BEGIN], sections[q, col.MEMBERS_END]):
        if not items[links[at, 0], col.PLACED]:
            add_witness(items, sets, row, links[at, 0])


def find_level(state: SearchState, q: int) -> None:
    """Compute the level of section ``q``, and how many items are at it."""
    items, sections, links = state.items, state.sections, state.links
    level, count = col.NEVER, 0
    for at in range(sections[q, col.MEMBERS_BEGIN], sections[q, col.MEMBERS_END]):
        i = links[at, 0]
        if items[i, col.PLACED] or items[i, col.ITEM_LEVEL] > level:
            continue
        if items[i, col.ITEM_LEVEL] < level:
            level, count = items[i, col.ITEM_LEVEL], 0
        count += 1
    sections[q, col.LEVEL] = level
    sections[q, col.AT_LEVEL] = count


def log(state: SearchState, kind: int, index: int, x: int, y: int, z: int) -> None:
    """Append old values to the log, to be restored by ``undo``."""
    at = state.control[col.LOG_LENGTH]
    state.log[at, 0] = kind
    state.log[at, 1] = index
    state.log[at, 2] = x
    state.log[at, 3] = y
    state.log[at, 4] = z
    state.control[col.LOG_LENGTH] = at + 1


def leave_level(state: SearchState, i: int, level: int) -> None:
    """Count item ``i`` out of ``level`` in all its sections; ``settle_levels`` must follow."""
    control, items, sections, links = state.control, state.items, state.sections, state.links
    for at in range(items[i, col.SECTIONS_BEGIN], items[i, col.SECTIONS_END]):
        q = links[at, 0]
        if sections[q, col.LEVEL] != level:
            continue
        if sections[q, col.LOGGED] != control[col.STAMP]:
            sections[q, col.LOGGED] = control[col.STAMP]
            log(state, col.LEVEL_CHANGED, q, level, sections[q, col.AT_LEVEL], 0)
        sections[q, col.AT_LEVEL] -= 1


def settle_levels(state: SearchState, begin: int) -> None:
    """Compute new levels of the sections that have no item left at theirs, by the log from ``begin``."""
    for at in range(begin, state.control[col.LOG_LENGTH]):
        if state.log[at, 0] == col.LEVEL_CHANGED and state.sections[state.log[at, 1], col.AT_LEVEL] == 0:
            find_level(state, state.log[at, 1])


def lift_item(state: SearchState, i: int, low: int, section: int) -> bool:
    """Raise item ``i`` to ``low``, the floor of ``section``; False where it has no offset left."""
    items = state.items
    old = items[i, col.ITEM_LEVEL]
    log(state, col.ITEM_CHANGED, i, items[i, col.ITEM_FLOOR], old, items[i, col.WITNESS])
    items[i, col.ITEM_FLOOR] = low
    items[i, col.WITNESS] = section
    if old >= low and items[i, col.VARIANTS_END] - items[i, col.VARIANTS_BEGIN] == 1:
        return True
    items[i, col.ITEM_LEVEL] = lowest(items, state.links, i, low)
    if items[i, col.ITEM_LEVEL] != old:
        leave_level(state, i, old)
    return bool(items[i, col.ITEM_LEVEL] != col.NEVER)


def raise_floor(state: SearchState, q: int, floor: int) -> None:
    """Give a section a new floor."""
    sections = state.sections
    log(state, col.FLOOR_CHANGED, q, sections[q, col.FLOOR], sections[q, col.TOP], sections[q, col.TOP_ITEM])
    sections[q, col.FLOOR] = floor


def no_offset(state: SearchState, i: int) -> bool:
    """Explain that item ``i`` has no offset left; always False."""
    items, why = state.items, state.control[col.ITEM_COUNT]
    clear(state.sets, why)
    add_witness(items, state.sets, why, i)
    if items[i, col.WITNESS] >= 0:
        state.sections[items[i, col.WITNESS], col.WEIGHT] += 10
    return False


def put(state: SearchState, i: int, variant: int, height: int) -> bool:
    """Place item ``i``; False, with an explanation, where another one has no offset left."""
    control, items, sections, links = state.control, state.items, state.sections, state.links
    begin = control[col.LOG_LENGTH]
    items[i, col.PLACED] = 1
    items[i, col.OFFSET] = height
    items[i, col.MEMORY] = links[variant, 0]
    control[col.UNPLACED_ITEMS] -= 1
    for at in range(items[i, col.SECTIONS_BEGIN], items[i, col.SECTIONS_END]):
        q = links[at, 0]
        raise_floor(state, q, height + links[at, 1])
        sections[q, col.TOP] = height + links[at, 1]
        sections[q, col.TOP_ITEM] = i
        sections[q, col.REST_HEIGHT] -= links[at, 1]
        sections[q, col.REST_COUNT] -= 1
    leave_level(state, i, items[i, col.ITEM_LEVEL])
    for at in range(items[i, col.CONFLICTS_BEGIN], items[i, col.CONFLICTS_END]):
        j = links[at, 0]
        top = height + links[at, 1]
        if items[j, col.PLACED] or items[j, col.ITEM_FLOOR] >= top:
            continue
        if not lift_item(state, j, top, links[at, 2]):
            return no_offset(state, j)
    settle_levels(state, begin)
    return True


def next_rest(state: SearchState, i: int, q: int, height: int, most: int) -> int:
    """The lowest offset of item ``i``, or ``most``, if nothing of section ``q`` is at ``height``.

    An item that could be at ``height`` and is not rests on one that is not in ``q`` and is at ``height`` or
    above; or it is of a variant that begins higher.
    """
    items, links = state.items, state.links
    top = col.NEVER
    for at in range(items[i, col.CONFLICTS_BEGIN], items[i, col.CONFLICTS_END]):
        j = links[at, 0]
        if not items[j, col.PLACED] and not has(state.sets, j, q):
            top = min(top, height + items[j, col.SIZE] - items[j, col.DROP])
    for v in range(items[i, col.VARIANTS_BEGIN], items[i, col.VARIANTS_END]):
        offset = lifted(items, links, i, v, items[i, col.ITEM_FLOOR])
        if offset <= height:
            offset = lifted(items, links, i, v, max(top, height + 1)) if top < col.NEVER else col.NEVER
        most = min(most, offset)
    return most


def leave_empty(state: SearchState, q: int, height: int, row: int) -> bool:
    """Keep section ``q`` empty from ``height`` up to the next offset that any of its items can have; False
    where that is too high. What is considered goes into set ``row``."""
    control, items, sections, links = state.control, state.items, state.sections, state.links
    floor = col.NEVER
    for at in range(sections[q, col.MEMBERS_BEGIN], sections[q, col.MEMBERS_END]):
        i = links[at, 0]
        if items[i, col.PLACED]:
            continue
        if items[i, col.ITEM_LEVEL] > height:
            floor = min(floor, items[i, col.ITEM_LEVEL])
        else:
            floor = next_rest(state, i, q, height, floor)
            join(state.sets, row, i)
    if floor + sections[q, col.REST_HEIGHT] > control[col.CAPACITY]:
        sections[q, col.WEIGHT] += 10
        clear(state.sets, control[col.ITEM_COUNT])
        join(state.sets, control[col.ITEM_COUNT], row)
        add_level(state, control[col.ITEM_COUNT], q)
        return False
    begin = control[col.LOG_LENGTH]
    raise_floor(state, q, floor)
    for at in range(sections[q, col.MEMBERS_BEGIN], sections[q, col.MEMBERS_END]):
        i = links[at, 0]
        if items[i, col.PLACED] or items[i, col.ITEM_FLOOR] >= floor:
            continue
        if not lift_item(state, i, floor, q):
            return no_offset(state, i)
    settle_levels(state, begin)
    return True


def undo(state: SearchState, frame: int) -> None:
    """Take back the frame's last choice."""
    control, items, sections, links = state.control, state.items, state.sections, state.links
    frames, old = state.frames, state.log
    i = frames[frame, col.CHOSEN]
    if i >= 0:
        items[i, col.PLACED] = 0
        control[col.UNPLACED_ITEMS] += 1
        for at in range(items[i, col.SECTIONS_BEGIN], items[i, col.SECTIONS_END]):
            sections[links[at, 0], col.REST_HEIGHT] += links[at, 1]
            sections[links[at, 0], col.REST_COUNT] += 1
    for at in range(control[col.LOG_LENGTH] - 1, frames[frame, col.LOG_BEFORE] - 1, -1):
        index = old[at, 1]
        if old[at, 0] == col.LEVEL_CHANGED:
            sections[index, col.LEVEL] = old[at, 2]
            sections[index, col.AT_LEVEL] = old[at, 3]
        elif old[at, 0] == col.ITEM_CHANGED:
            items[index, col.ITEM_FLOOR] = old[at, 2]
            items[index, col.ITEM_LEVEL] = old[at, 3]
            items[index, col.WITNESS] = old[at, 4]
        else:
            sections[index, col.FLOOR] = old[at, 2]
            sections[index, col.TOP] = old[at, 3]
            sections[index, col.TOP_ITEM] = old[at, 4]
    control[col.LOG_LENGTH] = frames[frame, col.LOG_BEFORE]
