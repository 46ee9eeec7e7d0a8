"""Derive the control flow around every position of a program's or a schedule's tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from chipmodel.geometry.interval import Interval
from chipmodel.model.nesting import Fork, Section
from chipmodel.model.program import If, Loop, Node
from chipmodel.model.schedule import StepIf, StepLoop, StepNode
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Scopes:
    """The control flow around the positions of a tree.

    ``region[p]`` numbers the straight-line run (a Region of Wang et al. 2025) that contains position
    ``p``; ``top[p]`` is whether ``p`` is in no branch or loop.
    """

    loops: tuple[Interval, ...]
    """The extents of all loops, an inner one before the outer."""
    region: tuple[int, ...]
    top: tuple[bool, ...]
    section: Section


@dataclass
class _PositionTable:
    loops: list[Interval] = field(default_factory=list[Interval])
    region: list[int] = field(default_factory=list[int])
    top: list[bool] = field(default_factory=list[bool])
    regions: int = 0


def scopes(body: Iterable[Node] | Iterable[StepNode]) -> Scopes:
    """The control flow of a program's or a schedule's body; each op or step has one position."""
    table = _PositionTable()
    section = _section(body, table, True)
    return Scopes(tuple(table.loops), tuple(table.region), tuple(table.top), section)


def _section(body: Iterable[object], table: _PositionTable, top: bool) -> Section:
    table.regions += 1
    begin = len(table.region)
    forks: list[Fork] = []
    for node in body:
        start = len(table.region)
        if isinstance(node, If | StepIf):
            arms = tuple(_section(arm.body, table, False) for arm in node.arms)
            forks.append(Fork(node.name, Interval(start, len(table.region)), arms))
            table.regions += 1
        elif isinstance(node, Loop | StepLoop):
            inside = _section(node.body, table, False)
            table.loops.append(inside.extent)
            forks.append(Fork(node.name, inside.extent, (inside,), True))
            table.regions += 1
        else:
            table.region.append(table.regions)
            table.top.append(top)
    return Section(Interval(begin, len(table.region)), tuple(forks))
