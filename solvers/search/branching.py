"""Choose the section to branch in and the items to try there, and explain why no other would do.

``solvers.search.kernel`` states the rules, and what an explanation is.
"""

from __future__ import annotations

from solvers.search import columns as col
from solvers.search.moves import add_level, add_witness
from solvers.search.state import SearchState, add, join, lifted, same


def closed_below(state: SearchState, q: int) -> bool:
    """Whether nothing can still come below the items at the level of section ``q``."""
    items, sections, links = state.items, state.sections, state.links
    level = sections[q, col.LEVEL]
    for at in range(sections[q, col.MEMBERS_BEGIN], sections[q, col.MEMBERS_END]):
        i = links[at, 0]
        if items[i, col.ITEM_LEVEL] != level or items[i, col.PLACED]:
            continue
        for other in range(items[i, col.SECTIONS_BEGIN], items[i, col.SECTIONS_END]):
            if sections[links[other, 0], col.LEVEL] < level:
                return False
    return True


def cost(state: SearchState, q: int, branches: int) -> float:
    """The estimated cost of branching in section ``q`` under the current BRANCH_RULE."""
    control, sections = state.control, state.sections
    if control[col.BRANCH_RULE] == col.FEWEST_THEN_LAST:
        return float(branches - 1e-9 * q)
    if control[col.BRANCH_RULE] == col.FEWEST_THEN_HEAVIEST:
        return float(branches - 1e-10 * min(sections[q, col.WEIGHT], col.TIE_WEIGHT_LIMIT))
    low = 1.0 + 1024.0 * (control[col.CAPACITY] - sections[q, col.LEVEL]) / control[col.CAPACITY]
    return float(branches / (sections[q, col.WEIGHT] * low))


def best_section(state: SearchState) -> int:
    """The section to branch in: the first with at most one branch, else the cheapest."""
    control, sections = state.control, state.sections
    best, least = -1, 1e30
    for q in range(sections.shape[0]):
        if sections[q, col.REST_COUNT] == 0:
            continue
        branches = sections[q, col.AT_LEVEL]
        if sections[q, col.LEVEL] + sections[q, col.REST_HEIGHT] < control[col.CAPACITY]:
            branches += 1
        at = cost(state, q, branches)
        if at < least and closed_below(state, q):
            best, least = q, at
            if branches <= 1:
                return best
    return best


def rests(state: SearchState, i: int, variant: int, height: int) -> bool:
    """Rule 2: whether the tops of placed items alone put item ``i`` at ``height``."""
    items, links = state.items, state.links
    top = 0
    for at in range(items[i, col.SECTIONS_BEGIN], items[i, col.SECTIONS_END]):
        top = max(top, state.sections[links[at, 0], col.TOP])
    return lifted(items, links, i, variant, top) == height


def stacked_wrongly(state: SearchState, i: int, height: int) -> bool:
    """Rule 4: whether ``i`` would rest on an item of higher rank with exactly the same sections."""
    items, sections = state.items, state.sections
    q = state.links[items[i, col.SECTIONS_BEGIN], 0]
    under = sections[q, col.TOP_ITEM]
    if under < 0 or sections[q, col.TOP] != height or items[under, col.RANK] < items[i, col.RANK]:
        return False
    return bool(items[i, col.LOOSE] and items[under, col.LOOSE] and same(state.sets, i, under))


def allowed(state: SearchState, i: int, variant: int, row: int) -> bool:
    """Whether no placed item in the variant's memory must be apart from ``i``; set ``row`` has the reason."""
    items, links = state.items, state.links
    for at in range(items[i, col.APART_BEGIN], items[i, col.APART_END]):
        j = links[at, 0]
        if items[j, col.PLACED] and items[j, col.MEMORY] == links[variant, 0]:
            add(state.sets, row, links[items[j, col.SECTIONS_BEGIN], 0])
            return False
    return True


def flush_sides(state: SearchState, i: int) -> int:
    """On how many sides (0 to 2) item ``i``, at its level, would end level with the next section's floor."""
    items, sections, links = state.items, state.sections, state.links
    top = items[i, col.ITEM_LEVEL] + items[i, col.SIZE]
    left = links[items[i, col.SECTIONS_BEGIN], 0] - 1
    right = links[items[i, col.SECTIONS_END] - 1, 0] + 1
    sides = 0
    if left < 0 or sections[left, col.FLOOR] == top:
        sides += 1
    if right >= sections.shape[0] or sections[right, col.FLOOR] == top:
        sides += 1
    return sides


def insert(state: SearchState, first: int, i: int, variant: int) -> None:
    """Insert a choice in order of rank, among those from row ``first`` on."""
    control, choices = state.control, state.choices
    key = state.items[i, col.RANK]
    if control[col.FLUSH_FIRST]:
        key -= flush_sides(state, i) * control[col.ITEM_COUNT]
    to = control[col.CHOICES_LENGTH]
    while to > first and choices[to - 1, col.CHOICE_KEY] > key:
        for column in range(col.CHOICE_COLUMNS):
            choices[to, column] = choices[to - 1, column]
        to -= 1
    choices[to, col.CHOICE_ITEM] = i
    choices[to, col.CHOICE_VARIANT] = variant
    choices[to, col.CHOICE_KEY] = key
    control[col.CHOICES_LENGTH] += 1


def list_choices(state: SearchState, q: int, row: int) -> None:
    """List the items that may be the lowest unplaced one of section ``q``, by rank."""
    control, items, sections, links = state.control, state.items, state.sections, state.links
    first = control[col.CHOICES_LENGTH]
    height = sections[q, col.LEVEL]
    for at in range(sections[q, col.MEMBERS_BEGIN], sections[q, col.MEMBERS_END]):
        i = links[at, 0]
        if items[i, col.ITEM_LEVEL] != height or items[i, col.PLACED]:
            continue
        twin = items[i, col.TWIN]
        if control[col.RULE_TWINS] and twin >= 0 and not items[twin, col.PLACED]:
            continue
        if control[col.RULE_STACKS] and stacked_wrongly(state, i, height):
            continue
        for v in range(items[i, col.VARIANTS_BEGIN], items[i, col.VARIANTS_END]):
            if lifted(items, links, i, v, items[i, col.ITEM_FLOOR]) != height:
                continue
            if control[col.RULE_REST] and not rests(state, i, v, height):
                continue
            if allowed(state, i, v, row):
                insert(state, first, i, v)


def explain(state: SearchState, q: int, height: int, row: int) -> None:
    """Put into set ``row`` why only its choices may be lowest in section ``q``.

    Call it when all choices are taken back. The set is a little larger than it must be: it has all sections
    of an item at the height, unless that is sure to have been a choice.
    """
    items, sections, links, sets = state.items, state.sections, state.links, state.sets
    add(sets, row, q)
    for at in range(sections[q, col.MEMBERS_BEGIN], sections[q, col.MEMBERS_END]):
        i = links[at, 0]
        if items[i, col.PLACED]:
            continue
        if items[i, col.ITEM_LEVEL] != height:
            add_witness(items, sets, row, i)
            continue
        if not was_choice(state, i, height):
            join(sets, row, i)
        for other in range(items[i, col.SECTIONS_BEGIN], items[i, col.SECTIONS_END]):
            if sections[links[other, 0], col.FLOOR] < height:
                add_level(state, row, links[other, 0])


def was_choice(state: SearchState, i: int, height: int) -> bool:
    """Whether item ``i``, at ``height``, is sure to have been a choice, or left out only for its twin."""
    control, items = state.control, state.items
    v = items[i, col.VARIANTS_BEGIN]
    if items[i, col.VARIANTS_END] - v != 1 or items[i, col.APART_END] > items[i, col.APART_BEGIN]:
        return False
    if control[col.RULE_REST] and not rests(state, i, v, height):
        return False
    return not (control[col.RULE_STACKS] and stacked_wrongly(state, i, height))
