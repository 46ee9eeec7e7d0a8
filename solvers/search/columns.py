"""Names of the columns of the search's arrays (``solvers.search.state.SearchState``), and special values."""

from __future__ import annotations

RUNNING, FOUND, EXHAUSTED, NO_SPACE = 0, 1, 2, 3
"""Values of STATUS. NO_SPACE: the arrays are too small for another frame; a restart is needed."""
NEVER = 1 << 61
"""The offset of an item that has none left: above every capacity, and no sum with it overflows."""
LEAVE_EMPTY = -1
"""In place of an item among the choices: leave the section empty up to the next possible offset."""

# ``control``: single numbers. The two lengths are rows in use. UNPLACED_ITEMS: how many. RULE_*: whether one
# of the rules in ``kernel.h`` is on. BRANCH_RULE: how the section to branch in is chosen, one of
# the three below. FLUSH_FIRST: whether items whose end is level with their neighbours' floors are tried
# first. MAX_CHOICES: the most choices that one frame can have.
STATUS, DEPTH, NODES, LOG_LENGTH, CHOICES_LENGTH, STAMP, UNPLACED_ITEMS, CAPACITY, ITEM_COUNT = range(9)
RULE_REST, RULE_TWINS, RULE_STACKS, RULE_JUMPS, MAX_CHOICES, BRANCH_RULE, FLUSH_FIRST = range(9, 16)
CONTROLS = 16
FEWEST_THEN_LAST, FEWEST_THEN_HEAVIEST, WEIGHTED_LOWEST = range(3)
BRANCH_RULES = 3
TIE_WEIGHT_LIMIT = 1 << 30
"""Largest section weight that counts in FEWEST_THEN_HEAVIEST, so that weight never outvotes a choice."""

# ``items``: a row for each item. X_BEGIN to X_END are rows of ``links``: sections (with the item's height
# there), conflicts (other item, this one's height where they overlap, the section where it is that high),
# variants (the memory, -1 for any; the first row of its ranges, which end where those of the next row begin),
# and items that must be in another memory. TWIN: the previous item that is equal in everything, or -1.
# LOOSE: of even height and free to be anywhere. DROP: size less the item's least height in any section.
# ITEM_FLOOR: the greatest floor of its sections. ITEM_LEVEL: the lowest offset it may have from there.
# WITNESS: a section whose floor keeps the item from being lower, or -1.
SIZE, ALIGN, TWIN, LOOSE, DROP, RANK = range(6)
SECTIONS_BEGIN, SECTIONS_END, CONFLICTS_BEGIN, CONFLICTS_END = range(6, 10)
VARIANTS_BEGIN, VARIANTS_END, APART_BEGIN, APART_END = range(10, 14)
ITEM_FLOOR, ITEM_LEVEL, PLACED, OFFSET, MEMORY, WITNESS = range(14, 20)
ITEM_COLUMNS = 20

# ``sections``: a row for each section. MEMBERS_BEGIN to MEMBERS_END are rows of ``links``: its items and
# their heights. TOP and TOP_ITEM: the end of the highest item placed there, and which that is. REST_HEIGHT
# and REST_COUNT: total height and number of its items not placed yet; AT_LEVEL: how many of those are at
# LEVEL. LOGGED: the STAMP at which its level was last logged. WEIGHT: grows with the failures it was part of.
MEMBERS_BEGIN, MEMBERS_END, FLOOR, TOP, TOP_ITEM, REST_HEIGHT, REST_COUNT = range(7)
LEVEL, AT_LEVEL, LOGGED, WEIGHT = range(7, 11)
SECTION_COLUMNS = 11

# ``frames``: a row for each open branching: its section and height, its rows of ``choices``, the next one to
# try, the item chosen last (or LEAVE_EMPTY), and the length of the log before that choice.
SECTION, HEIGHT, FIRST, STOP, NEXT, CHOSEN, LOG_BEFORE = range(7)
FRAME_COLUMNS = 7

# ``log``: what to take back: one of these kinds, an index (of a section, item, section) and three old values.
FLOOR_CHANGED, ITEM_CHANGED, LEVEL_CHANGED = range(3)
LOG_COLUMNS = 5

# ``choices``: item (or LEAVE_EMPTY), variant, sort key.
CHOICE_ITEM, CHOICE_VARIANT, CHOICE_KEY = range(3)
CHOICE_COLUMNS = 3
