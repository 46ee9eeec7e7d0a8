"""The settings of the state search: ``segment=3,actions=move+swap+reuse,cost=bytes``, as a user writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.planner_table import whole_setting
from chipmodel.records import dataclass

Action = Literal["move", "swap", "reuse"]
TierCost = Literal["cycles", "bytes"]
ACTIONS: tuple[Action, ...] = get_args(Action)
LONGEST_SEGMENT = 64
"""The states of a segment grow by a factor of about three for each of its steps."""


Segments = int | tuple[int, ...]
"""Steps that are decided together; of several lengths the last one is repeated."""


@dataclass(frozen=True, slots=True)
class TierSettings:
    """``segment``: how many steps are decided together (1 is greedy); None for what the caller tries.
    ``actions``: those that are tried. ``cost``: what is minimised, cycles or the bytes moved between tiers.
    ``changes``: how many blocks change at a step at most, 1 as in the source.
    """

    segment: Segments | None = None
    actions: frozenset[Action] = frozenset(ACTIONS)
    cost: TierCost = "cycles"
    changes: int = 2


STANDARD = TierSettings()


def tier_settings(packer: str, text: str) -> Mapping[str, object]:
    """Read the text after the packer's name and a colon. Raises BadInput."""
    parts = [part.partition("=") for part in text.split(",")]
    given = {name: value for name, _, value in parts}
    tried = given.get("actions", "+".join(ACTIONS)).split("+")
    costs = [each for each in get_args(TierCost) if each == given.get("cost", "cycles")]
    hint = f"as in {packer}:segment=3,actions=move+swap+reuse,cost=bytes,changes=1"
    known = given.keys() <= {"segment", "actions", "cost", "changes"} and len(given) == len(parts)
    if not known or not costs or len(set(tried)) < len(tried) or not set(tried) <= set(ACTIONS):
        raise BadInput(f"{packer}:{text[:60]} are not settings of the state search", hint=hint)
    segment: Segments | None = None
    changes = STANDARD.changes
    if "segment" in given:
        allowed, what = Interval(1, LONGEST_SEGMENT + 1), f"segment of 1 to {LONGEST_SEGMENT} steps"
        lengths = given["segment"].split("+")
        first, *more = (whole_setting(packer, length, allowed, what, hint) for length in lengths)
        segment = (first, *more) if more else first
    if "changes" in given:
        changes = whole_setting(packer, given["changes"], Interval(1, 3), "number of changes, 1 or 2", hint)
    actions: frozenset[Action] = frozenset(action for action in ACTIONS if action in tried)
    return {"settings": TierSettings(segment, actions, costs[0], changes)}
