"""Lower bounds of the cycles from any step to the end, for all plans of a ``StreamProblem``.

Between the start of step ``d`` and that of step ``e`` the DMA engine moves everything that the steps ``d +
1`` to ``e`` read and that was not loaded when ``d`` started. What was loaded before is, at each step ``t``
from ``d`` on, in memory together with what ``t`` reads itself: these sets of bytes are nested, so taking the
bytes with the most cycles first is the best fractional choice. The bounds of consecutive intervals add up,
with each other and with compute.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heappop, heappush

from solvers.loads.problem import StreamMove, StreamProblem, StreamSlice

_FRACTION_BITS = 20
"""Fractional bits of cycles per byte, rounded so that the bound remains valid."""
MAX_STEP_PAIRS = 100_000
"""Pairs of steps examined, besides those with the end: in a long segment only near ones."""


def tail_bounds(problem: StreamProblem, spare: Sequence[int]) -> list[int]:
    """For each step, a lower bound of the cycles from the start of its compute to the end (0 for the end
    itself), if at most ``spare`` bytes may be in memory besides what each step reads."""
    count = len(problem.computes)
    window = _TransferWindow(problem, spare)
    result = [0] * (count + 1)
    near = max(1, MAX_STEP_PAIRS // (count or 1))
    for stop in range(count, 0, -1):
        if stop < count:
            result[stop] = max(result[stop], problem.computes[stop] + result[stop + 1])
        window.end_at(stop)
        for start in range(stop - 1, -1 if stop == count else max(-1, stop - 1 - near), -1):
            result[start] = max(result[start], window.moved_since(start) + result[stop])
    if count:
        result[0] = max(result[0], problem.computes[0] + result[1])
    return result


class _TransferWindow:
    """A lower bound of DMA cycles between the starts of two steps: fix the second, then move the first
    back."""

    def __init__(self, problem: StreamProblem, spare: Sequence[int]) -> None:
        self.spare = spare
        self.needed: dict[int, list[StreamSlice]] = defaultdict(list)
        for each in problem.slices:
            self.needed[each.first].append(each)
        self.issued: dict[int, list[StreamMove]] = defaultdict(list)
        for move in problem.fixed:
            at_once = move.direction == "load" and move.due == move.issue
            self.issued[move.issue - at_once].append(move)
        self.end_at(0)

    def end_at(self, stop: int) -> None:
        self.stop = stop
        self.total = self.loaded_bytes = self.preloaded = 0
        self.loaded: list[tuple[int, int]] = []

    def moved_since(self, start: int) -> int:
        """DMA cycles since ``start``; to be called with descending ``start``, from one step before the
        end."""
        for each in self.needed.get(start + 1, ()):
            pace = -(-(each.cycles << _FRACTION_BITS) // each.bytes)
            heappush(self.loaded, (pace, each.bytes))
            self.total += each.cycles
            self.loaded_bytes += each.bytes
            self.preloaded += pace * each.bytes
        for move in self.issued.get(start, ()):
            if move.due < min(self.stop + (move.direction == "load"), len(self.spare)):
                self.total += move.cycles
        self._drop_beyond(self.spare[start])
        preloaded = -(-self.preloaded >> _FRACTION_BITS) if start else 0
        return max(0, self.total - preloaded)

    def _drop_beyond(self, spare: int) -> None:
        while self.loaded_bytes > spare:
            pace, size = heappop(self.loaded)
            dropped = min(size, self.loaded_bytes - spare)
            self.loaded_bytes -= dropped
            self.preloaded -= pace * dropped
            if dropped < size:
                heappush(self.loaded, (pace, size - dropped))
