"""The ways that a path over the listed ones takes, as a schedule has them: cascades, tilings, what stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.model.program import Op
from dma.residency.tiling import Tiling
from solvers.columns.kernel import Stretch
from solvers.columns.path import PathWay


class ChosenWay(NamedTuple):
    """How neighbours run: one op on its own, or several as a cascade."""

    ops: tuple[str, ...]
    cascade: CascadeChoice | None
    tiling: Tiling | None
    """That of its parts where something passes in stripes; None: any."""
    before: Mapping[str, bool]
    """Whether tensors that are followed are in SharedMemory before it."""
    after: Mapping[str, bool]
    bytes: int
    """At its fullest, with the tensors that are followed; 0 of any way."""


def chosen_way(
    ops: Sequence[Op],
    way: PathWay,
    stretch: Stretch | None,
    before: Mapping[str, bool],
    after: Mapping[str, bool],
    rolls: bool,
) -> ChosenWay:
    """Return a way of the path; ``rolls`` is whether the chip addresses rolling buffers."""
    names = tuple(op.name for op in ops)
    if way.made_by is None or stretch is None:
        return ChosenWay(names, None, None, before, after, 0)
    number, second, third, fourth = way.made_by
    choice = stretch.choices[number].tolist()
    if len(ops) == 1:
        rows, channels, *_ = choice
        tiling = Tiling(rows, channels, True, bool(second), third, rolls)
        return ChosenWay(names, None, tiling, before, after, way.bytes)
    again = int(stretch.again[second])
    reloaded = tuple(name for at, name in enumerate(names) if again >> at & 1)
    *heights, bands, remade = choice
    bands = _bands_of(stretch, bands, len(ops))
    made_again = tuple(op.outputs[0] for at, op in enumerate(ops) if remade >> at & 1)
    cascade = CascadeChoice(names, tuple(heights), rolls, reloaded, bands, made_again)
    return ChosenWay(names, cascade, Tiling(third, 1, True, False, fourth, rolls), before, after, way.bytes)


def _bands_of(stretch: Stretch, number: int, ops: int) -> int:
    """The bands of a set, 1 for set 0."""
    place, tensors = 0, len(stretch.tensors)
    for _ in range(1, number):
        count = int(stretch.bands[place])
        place += 1 + count * (ops + tensors) + tensors
    return int(stretch.bands[place]) if number else 1
