"""The ways in which one plan runs its ops: they are listed beside those of the ladder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from chipmodel.model.schedule import Schedule, steps


class PartCut(NamedTuple):
    """Rows and channels of a part, and rows of the first stripe if it has fewer."""

    rows: int
    channels: int
    first: int = 0


class Chain(NamedTuple):
    """Rows a step of each op of a cascade, the ops whose weights are loaded again, and bands of columns; the
    tensors whose rows are made again."""

    heights: tuple[int, ...]
    again: tuple[str, ...]
    bands: int
    remade: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanWays:
    """Cuts by the name of an op, and cascades by the names of their ops."""

    cuts: Mapping[str, PartCut] = field(default_factory=dict[str, PartCut])
    chains: Mapping[tuple[str, ...], Chain] = field(default_factory=dict[tuple[str, ...], Chain])


def plan_ways(schedule: Schedule) -> PlanWays:
    """Return the ways of a schedule's ops."""
    cuts: dict[str, PartCut] = {}
    for step in steps(schedule.body):
        rows, channels, first = cuts.get(step.op, PartCut(0, 0))
        first = len(step.rows) if step.rows.start == 0 else first
        cuts[step.op] = PartCut(max(rows, len(step.rows)), max(channels, len(step.channels)), first)
    cuts = {name: cut._replace(first=cut.first * (cut.first < cut.rows)) for name, cut in cuts.items()}
    chains = {
        each.ops: Chain(each.heights, each.reloaded, each.bands, each.again) for each in schedule.cascades
    }
    return PlanWays(cuts, chains)
