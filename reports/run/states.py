"""The states of a search over memory tiers: in words, and as JSON values step by step."""

from __future__ import annotations

from chipmodel.model.tier_states import BlockStates, StateSearch
from reports.words import count, percent, ratio


def search_words(search: StateSearch) -> str:
    """What tensors cost in the state found, in that of the initial rule, and in that of the plan."""
    saved = percent(ratio(search.initial.cost - search.found.cost, search.initial.cost))
    cost = f"{count(search.found.cost)} {search.unit} for tensors"
    plan = "" if search.planned == search.found.cost else f"; {count(search.planned)} next to weights"
    return f"{cost}, {saved} less than by the initial rule, {count(search.initial.cost)}{plan}"


def search_document(search: StateSearch) -> dict[str, object]:
    """``search`` as JSON values, its states step by step."""
    return {
        "initial": search.initial.cost,
        "found": search.found.cost,
        "planned": search.planned,
        "unit": search.unit,
        "tiers": [{"name": name, "bytes": size} for name, size in search.tiers],
        "before": _by_step(search, search.initial),
        "after": _by_step(search, search.found),
    }


def _by_step(search: StateSearch, states: BlockStates) -> list[dict[str, object]]:
    """The busy list of every tier at each step; what is not listed is free."""
    return [
        {
            "op": op,
            "busy": {
                name: [
                    {
                        "block": stay.block,
                        "offset": stay.offset,
                        "bytes": stay.bytes,
                        **({"over": stay.over} if stay.over and stay.start == step else {}),
                    }
                    for stay in states.busy(step, tier)
                ]
                for tier, (name, _) in enumerate(search.tiers)
            },
        }
        for step, op in enumerate(search.steps)
    ]
