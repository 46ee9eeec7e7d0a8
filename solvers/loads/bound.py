"""Cycles that no plan of a ``StreamProblem`` beats, from any step to the end.

Between the start of step ``d`` and that of step ``e`` the DMA engine moves all that the steps ``d + 1`` to
``e`` read and that had not been loaded when ``d`` started. What had been loaded lay, at each step ``t`` from
``d`` on, beside what ``t`` reads itself: those sets of bytes are nested, so taking the dearest bytes first
is the best fractional choice. Stretches that follow one another add up, with each other and with compute.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heappop, heappush

from solvers.loads.problem import StreamMove, StreamProblem, StreamSlice

_FRACTION_BITS = 20
"""Bits after the point of cycles per byte; rounded so that the bound stays one."""
MAX_STEP_PAIRS = 100_000
"""Pairs of steps that are looked at, beside those with the end: of a long stretch, only near ones."""


def tail_bounds(problem: StreamProblem, spare: Sequence[int]) -> list[int]:
    """For each step, the least cycles from its compute's start to the end of all, and 0 for the end itself,
    where at most ``spare`` bytes may lie beside what each step reads."""
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
    """The least DMA cycles between the starts of two steps: the second one first, then back step by step."""

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
        self.total = self.held = self.kept = 0
        self.there: list[tuple[int, int]] = []

    def moved_since(self, start: int) -> int:
        """To be called with one step before the end, then with the one before that, and so on."""
        for each in self.needed.get(start + 1, ()):
            pace = -(-(each.cycles << _FRACTION_BITS) // each.bytes)
            heappush(self.there, (pace, each.bytes))
            self.total += each.cycles
            self.held += each.bytes
            self.kept += pace * each.bytes
        for move in self.issued.get(start, ()):
            if move.due < min(self.stop + (move.direction == "load"), len(self.spare)):
                self.total += move.cycles
        self._leave(self.spare[start])
        kept = -(-self.kept >> _FRACTION_BITS) if start else 0
        return max(0, self.total - kept)

    def _leave(self, spare: int) -> None:
        while self.held > spare:
            pace, size = heappop(self.there)
            gone = min(size, self.held - spare)
            self.held -= gone
            self.kept -= pace * gone
            if gone < size:
                heappush(self.there, (pace, size - gone))
