"""Streamer ``one-ahead``: each slice of weights is loaded while the one before is read, if it fits."""

from __future__ import annotations

from chipmodel.plugins import StraightRun, WeightSlice

title = "each slice during the step that reads the one before"
source = "chipmodel-example"


def issue(run: StraightRun) -> list[int]:
    """The step at which each load is issued."""
    positions: list[int] = []
    for before, each in zip((None, *run.slices), run.slices, strict=False):
        position = run.first if before is None else before.first
        while position < each.first and not _fits(run, before, each, position):
            position += 1
        positions.append(position)
    return positions


def _fits(run: StraightRun, before: WeightSlice | None, each: WeightSlice, position: int) -> bool:
    """Whether every step from ``position`` to the slice's first reader has room for it."""
    for step in range(position, each.first):
        other = before.bytes if before and step <= before.last else 0
        if each.bytes + other > run.room[step - run.first]:
            return False
    return True
