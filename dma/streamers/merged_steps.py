"""Steps of a straight chain that a search of loads need not tell apart, as one.

Within a cascade hundreds of steps follow one another at which nothing is due and the same bytes are free. A
load that is issued at one of them may as well be issued at the first: it is in memory then for steps with no
other use for the bytes, and arrives no later.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from dma.streamers.weight_region import StepChain


@dataclass(frozen=True, slots=True)
class MergedChain:
    """``chain`` has a step, from 0 on, for each of ``starts``, the first positions of the steps merged."""

    chain: StepChain
    starts: tuple[int, ...]

    def step(self, position: int) -> int:
        """The merged step of a position of the original chain."""
        return bisect_right(self.starts, position) - 1


def merge_steps(chain: StepChain, since: Sequence[int]) -> MergedChain:
    """``chain`` with its steps merged between any two at which something begins, ends or may begin: a slice,
    a fixed transfer, another number of free bytes, or a position of ``since``."""
    stop = chain.first + len(chain.computes)
    borders = {chain.first, *since}
    for each in chain.slices:
        borders |= {each.first, each.last + 1}
    for move in chain.fixed:
        borders |= {move.issue, move.issue + 1, move.due, move.due + 1}
    for index in range(1, len(chain.room)):
        if chain.room[index] != chain.room[index - 1]:
            borders.add(chain.first + index)
    starts = tuple(sorted(border for border in borders if chain.first <= border < stop))
    ends = (*starts[1:], stop)
    spans = [slice(a - chain.first, b - chain.first) for a, b in zip(starts, ends, strict=True)]
    merged = MergedChain(chain, starts)
    return MergedChain(
        StepChain(
            0,
            tuple(sum(chain.computes[span]) for span in spans),
            tuple(chain.room[span.start] for span in spans),
            tuple(s._replace(first=merged.step(s.first), last=merged.step(s.last)) for s in chain.slices),
            tuple(t._replace(issue=merged.step(t.issue), due=merged.step(t.due)) for t in chain.fixed),
        ),
        starts,
    )
