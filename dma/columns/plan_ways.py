"""The ways in which one plan runs its ops: they are listed beside those of the ladder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from chipmodel.model.schedule import Schedule, steps


class PartCut(NamedTuple):
    """Rows and channels of a part."""

    rows: int
    channels: int


class Chain(NamedTuple):
    """Rows a step of each op of a cascade, the ops whose weights are loaded again, and bands of columns; the
    tensors whose rows are made again, and the groups of steps a stripe of what passes."""

    heights: tuple[int, ...]
    again: tuple[str, ...]
    bands: int
    remade: tuple[str, ...] = ()
    groups: int = 1


@dataclass(frozen=True, slots=True)
class PlanWays:
    """Cuts by the name of an op, and cascades by the names of their ops."""

    cuts: Mapping[str, PartCut] = field(default_factory=dict[str, PartCut])
    chains: Mapping[tuple[str, ...], Chain] = field(default_factory=dict[tuple[str, ...], Chain])
    in_rows: frozenset[str] = frozenset()
    """The ops whose output takes the memory of an input row by row."""


def plan_ways(schedule: Schedule) -> PlanWays:
    """Return the ways of a schedule's ops."""
    cuts: dict[str, PartCut] = {}
    for step in steps(schedule.body):
        rows, channels = cuts.get(step.op, PartCut(0, 0))
        cuts[step.op] = PartCut(max(rows, len(step.rows)), max(channels, len(step.channels)))
    chains = {
        each.ops: Chain(each.heights, each.reloaded, each.bands, each.again, each.groups)
        for each in schedule.cascades
    }
    return PlanWays(cuts, chains, frozenset(name for name, _ in schedule.in_rows))
