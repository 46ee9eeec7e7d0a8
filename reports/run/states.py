"""The states of a search over memory tiers: in words, as JSON values step by step, and as maps.

Source of the maps: the tiered-memory patent (CN, 2022), figures 3 and 4 (docs/references.md).
"""

from __future__ import annotations

from itertools import pairwise

from chipmodel.geometry.interval import Interval
from chipmodel.model.tier_states import BlockStates, BlockStay, StateSearch
from reports.colours import BLUE, GREEN, ORANGE, PALE
from reports.run.bars import MOST_BARS
from reports.run.figures import (
    LABELLED,
    Category,
    MapBox,
    RunChart,
    box_trace,
    bytes_at,
    figure,
    level_trace,
    memory_axis,
)
from reports.words import KIB, count, percent, ratio

ALLOCATED = Category("allocated", "where it was allocated", PALE)
OVER = Category("reuse", "over a block that ended (reuse)", BLUE)
MOVED = Category("move", "from another place of the tier (move)", GREEN)
SWAPPED = Category("swap", "from another tier (swap)", ORANGE)


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


def state_maps(search: StateSearch, most: int = MOST_BARS) -> list[tuple[str, str, RunChart]]:
    """A map of each tier that holds anything, before the search and after it with the same scale: an id, a
    title and the chart, of at most the ``most`` blocks with the most bytes times steps."""
    maps: list[tuple[str, str, RunChart]] = []
    for tier, (name, capacity) in enumerate(search.tiers):
        states = {"before": search.initial, "after": search.found}
        ends = [s.offset + s.bytes for state in states.values() for s in state.stays if s.tier == tier]
        top = max(capacity or 0, max(ends, default=0))
        for when, state in states.items() if ends else ():
            title = f"{name}, {when} the search: {count(state.cost)} {search.unit}"
            maps.append((f"states-{when}-{tier}", title, _map(search, state, tier, top, most)))
    return maps


def _map(search: StateSearch, state: BlockStates, tier: int, top: int, most: int) -> RunChart:
    groups: dict[Category, list[BlockStay]] = {c: [] for c in (ALLOCATED, OVER, MOVED, SWAPPED)}
    shown = sorted(_arrivals(state), key=lambda each: -each[1].bytes * (each[1].stop - each[1].start))
    inside = [each for each in shown if each[1].tier == tier]
    for category, stay in inside[:most]:
        groups[category].append(stay)
    legend = tuple(category for category, stays in groups.items() if stays)
    named = len(inside) <= LABELLED
    traces = [box_trace(c, [_box(search, stay) for stay in groups[c]], named) for c in legend]
    capacity, last = search.tiers[tier][1], len(search.steps)
    if capacity is not None:
        traces.append(level_trace("capacity", capacity / KIB, last, f"capacity {capacity:,} B"))
    left = len(inside) - most
    remark = f"The {left:,} blocks with the fewest bytes times steps are not drawn." if left > 0 else ""
    drawn = figure(traces, last, memory_axis(top * 1.05), {"title": {"text": "step"}})
    return RunChart(drawn, legend, min(most, len(inside)), remark)


def _arrivals(state: BlockStates) -> list[tuple[Category, BlockStay]]:
    """Every stay, with how its block came there; those of a block follow one another."""
    arrivals = [(OVER if stay.over else ALLOCATED, stay) for stay in state.stays[:1]]
    for before, stay in pairwise(state.stays):
        came = OVER if stay.over else ALLOCATED
        if before.block == stay.block:
            came = MOVED if before.tier == stay.tier else SWAPPED
        arrivals.append((came, stay))
    return arrivals


def _box(search: StateSearch, stay: BlockStay) -> MapBox:
    at = Interval(stay.offset, stay.offset + stay.bytes)
    over = f" over {stay.over}" if stay.over else ""
    life = f"from step {stay.start:,} ({search.steps[stay.start]}) to before step {stay.stop:,}"
    return MapBox(stay.block, at, Interval(stay.start, stay.stop), f"{over}\n{bytes_at(at)}\n{life}")
