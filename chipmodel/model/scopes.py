"""The control flow above the positions of a tree, a program's or a schedule's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from chipmodel.model.interval import Interval
from chipmodel.model.nesting import Fork, Section
from chipmodel.model.program import If, Loop, Node
from chipmodel.model.schedule import StepIf, StepLoop, StepNode


@dataclass(frozen=True, slots=True)
class Scopes:
    """The control flow above the positions of a tree. ``stretch[p]`` numbers the straight-line
    stretch (a Region of S2) that position ``p`` lies in; ``top`` tells which are in no scope."""

    loops: tuple[Interval, ...]
    """Innermost first."""
    stretch: tuple[int, ...]
    top: tuple[bool, ...]
    section: Section


@dataclass
class _Walk:
    loops: list[Interval] = field(default_factory=list[Interval])
    stretch: list[int] = field(default_factory=list[int])
    top: list[bool] = field(default_factory=list[bool])
    stretches: int = 0


def scopes(
    body: Iterable[Node] | Iterable[StepNode], leaves: Callable[[object], int] = lambda _: 1
) -> Scopes:
    """The control flow of a program's or a schedule's body; a leaf has ``leaves(leaf)`` positions."""
    walk = _Walk()
    section = _walk(body, leaves, walk, True)
    return Scopes(tuple(walk.loops), tuple(walk.stretch), tuple(walk.top), section)


def _walk(body: Iterable[object], leaves: Callable[[object], int], walk: _Walk, top: bool) -> Section:
    walk.stretches += 1
    begin = len(walk.stretch)
    forks: list[Fork] = []
    for node in body:
        start = len(walk.stretch)
        if isinstance(node, If | StepIf):
            arms = tuple(_walk(arm.body, leaves, walk, False) for arm in node.arms)
            forks.append(Fork(node.name, Interval(start, len(walk.stretch)), arms))
            walk.stretches += 1
        elif isinstance(node, Loop | StepLoop):
            inside = _walk(node.body, leaves, walk, False)
            walk.loops.append(inside.extent)
            forks.append(Fork(node.name, inside.extent, (inside,), True))
            walk.stretches += 1
        else:
            count = leaves(node)
            walk.stretch += [walk.stretches] * count
            walk.top += [top] * count
    return Section(Interval(begin, len(walk.stretch)), tuple(forks))
