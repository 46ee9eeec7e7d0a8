"""Steps of a straight run that a search of loads need not tell apart, as one.

Within a cascade hundreds of steps follow one another at which nothing is due and the same bytes are free. A
load that is issued at one of them may as well be issued at the first: it is in memory then for steps with no
other use for the bytes, and arrives no later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dma.schedule.forecast import RunTransfer
from dma.streamers.weight_region import StraightRun, WeightSlice


@dataclass(frozen=True, slots=True)
class MergedRun:
    """``run`` has a step, from 0 on, for each of ``starts``, the first positions of the steps merged."""

    run: StraightRun
    starts: tuple[int, ...]

    def step(self, position: int) -> int:
        """The merged step of a position of the original run."""
        return bisect_right(self.starts, position) - 1


def merge_steps(run: StraightRun, since: Sequence[int]) -> MergedRun:
    """``run`` with its steps merged between any two at which something begins, ends or may begin: a slice, a
    fixed transfer, another number of free bytes, or a position of ``since``."""
    stop = run.first + len(run.computes)
    borders = {run.first, *since}
    for each in run.slices:
        borders |= {each.first, each.last + 1}
    for move in run.fixed:
        borders |= {move.issue, move.issue + 1, move.due, move.due + 1}
    for index in range(1, len(run.room)):
        if run.room[index] != run.room[index - 1]:
            borders.add(run.first + index)
    starts = tuple(sorted(border for border in borders if run.first <= border < stop))
    ends = (*starts[1:], stop)
    spans = [slice(a - run.first, b - run.first) for a, b in zip(starts, ends, strict=True)]
    merged = MergedRun(run, starts)
    return MergedRun(
        StraightRun(
            0,
            tuple(sum(run.computes[span]) for span in spans),
            tuple(run.room[span.start] for span in spans),
            tuple(_slice(merged, each) for each in run.slices),
            tuple(_move(merged, each) for each in run.fixed),
        ),
        starts,
    )


def _slice(merged: MergedRun, each: WeightSlice) -> WeightSlice:
    return each._replace(first=merged.step(each.first), last=merged.step(each.last))


def _move(merged: MergedRun, each: RunTransfer) -> RunTransfer:
    return each._replace(issue=merged.step(each.issue), due=merged.step(each.due))
