"""Borders between runs: how early each can be reached with so much moved ahead of the NPU.

For each border, and each set of tracked tensors that are in SharedMemory there, a function says how early
the border can be reached with at least so many DMA cycles moved *ahead*: more than what the runs before load
and store; negative where stores are still to come. Such a function never falls. It also need not grow by more
than one cycle a cycle: where there is no room for more, the next runs may wait for it. So between two points
of a grid it is at least what either end says, and the best amount before some runs is known: just what they
cannot hide.

All numbers are integers, rounded so that the result is a lower bound.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from solvers.fluid.amounts import FluidAmounts

Cycles = NDArray[np.int64]
NEVER = 1 << 60
LEVELS = 128
"""Points of the grid (assumed)."""


class BorderFunctions:
    """The functions of one border, a row for each set of tensors."""

    def __init__(self, sets: int, levels: int) -> None:
        self.times: Cycles = np.full((sets, levels), NEVER, np.int64)

    def close(self, points: Cycles) -> None:
        """Let whoever has moved more count as having moved less, and wait to move more."""
        self.times = np.minimum.accumulate(self.times[:, ::-1], axis=1)[:, ::-1]
        self.times = np.ascontiguousarray(
            np.minimum(np.minimum.accumulate(self.times - points, axis=1) + points, NEVER)
        )


@dataclass(frozen=True, slots=True)
class Levels:
    """Equally far points, one of them 0.

    Inside of a long group runs take turns: one may load for all of its turns while another one computes in
    all of its own, much more than memory holds at a time. So there the first point is any amount behind, and
    the last one stands for any amount ahead.
    """

    points: Cycles
    width: int

    @property
    def levels(self) -> int:
        return len(self.points)

    def before(self, times: Cycles, rows: Cycles, ahead: Cycles) -> Cycles:
        """The least that the functions ``rows`` may have at the points ``ahead``."""
        place = np.clip((ahead - self.points[1]) // self.width + 1, 0, self.levels - 1)
        low = times[rows[:, None], place]
        next_ = np.minimum(place + 1, self.levels - 1)
        high = times[rows[:, None], next_]
        least: Cycles = np.maximum(low, high - np.maximum(self.points[next_] - ahead, 0))
        return least

    def kept(self, times: Cycles, cycles: int) -> Cycles:
        """The functions where so many cycles count as moved ahead that nobody has moved: what they would load
        is still there."""
        if not cycles:
            return times
        return self.before(times, np.arange(len(times)), (self.points - cycles)[None, :])

    def closed_rest(self, times: Cycles) -> Cycles:
        """The functions of what comes after a border, where whoever has moved more may count as having moved
        less, and wait to move more."""
        less = np.minimum.accumulate(times, axis=1) + self.points
        more = np.minimum.accumulate(less[:, ::-1], axis=1)[:, ::-1] - self.points
        return np.ascontiguousarray(np.minimum(more, NEVER))

    def rest_at(self, times: Cycles, ahead: Cycles) -> Cycles:
        """The least that functions of what comes after a border may have at other points ``ahead``."""
        place = np.clip((ahead - self.points[0]) // self.width, 0, self.levels - 1)
        past = np.maximum(0, ahead - self.points[place])
        next_ = np.where(place < self.levels - 1, times[:, np.minimum(place + 1, self.levels - 1)], 0)
        return np.ascontiguousarray(np.maximum(next_, times[:, place] - past))


def grid(most: int, levels: int) -> Levels:
    """Return points as far apart as ``most`` DMA cycles, and those behind, need for so many."""
    width = max(1, -(-2 * most // levels))
    half = -(-most // width)
    return Levels(np.arange(-half, half + 1, dtype=np.int64) * width, width)


class FluidLeg(NamedTuple):
    """Runs ``[start, stop)`` of a fastest fluid run, on their own or as a group."""

    start: int
    stop: int
    cycles: int
    """From the end of the runs before to their own end."""
    computed: int
    """NPU cycles."""
    full: bool
    """Whether more could not be moved ahead because SharedMemory had no room."""


@dataclass(frozen=True, slots=True)
class FluidTime:
    """The least cycles of a run, and the legs of one that takes hardly more."""

    cycles: int
    legs: tuple[FluidLeg, ...]
    ways: int = 0
    """How many listed ways were looked at; 0 where none are listed."""


class Repeats:
    """Runs that repeat: their times at the borders where they begin and end."""

    def __init__(self, amounts: FluidAmounts, least_cycles: Callable[[int], int]) -> None:
        self.amounts, self.of_run = amounts, least_cycles
        self.begun: dict[int, Cycles] = {}
        """The function of each border where runs begin that repeat."""
        self.further: dict[int, int] = {}
        """Cycles that they take beyond their first time, by the border where they end."""
        self.beyond: dict[int, tuple[int, int]] = {}
        """What they add to the time at that border at least, and the earliest time after them."""

    def count(self, border: int, times: Cycles) -> None:
        """Count in the ``times`` of ``border`` the runs that end there as often as they come.

        Their ways make of the function ``f`` of the border before them a function ``F(f)``. A later ``f``
        makes no earlier one, and one that is later by a constant makes one that is later by it. So if
        ``F(f)`` is later than ``f`` by ``c`` at least, ``F(F(f))`` is later than ``F(f)`` by ``c`` at least.
        Nothing is later by less than what the NPU takes than the earliest of all before.
        """
        for start, stop, count in self.amounts.problem.repeats:
            if stop == border and times.min() < NEVER:
                later, earliest = int((times - self.begun[start])[times < NEVER].min()), int(times.min())
                computed = earliest + (count - 1) * self.least_cycles(start, stop)
                more, (known, floor) = min(later * (count - 1), NEVER >> 1), self.beyond.get(border, (0, 0))
                self.beyond[border] = known + more, max(floor + more, computed)
                np.maximum(times + more, computed, out=times)
                np.minimum(times, NEVER, out=times)
                self.further[border] = int(times.min()) - earliest
            elif start == border:
                self.begun[start] = times.copy()

    def least_cycles(self, start: int, stop: int) -> int:
        """Return the least NPU cycles of runs that repeat, once, with those that repeat inside of them."""
        repeats = self.amounts.problem.repeats
        inside = [each for each in repeats if start < each[0] and each[1] < stop]
        times = {run: prod(n for first, end, n in inside if first <= run < end) for run in range(start, stop)}
        return sum(count * self.of_run(run) for run, count in times.items())

    def legs(self, ends: Sequence[tuple[int, FluidLeg]]) -> list[FluidLeg]:
        """Return the legs of a path, given with the times at which they end, the last one first, with their
        cycles in all of their repeats: what repeats take beyond their first time is theirs in proportion."""
        begin, legs = 0, list[FluidLeg]()
        for end, leg in reversed(ends):
            time = end - sum(cycles for stop, cycles in self.further.items() if stop <= leg.start)
            computed = leg.computed * self.amounts.times[leg.start]
            legs.append(leg._replace(cycles=max(0, time - begin), computed=computed))
            begin = max(begin, time)
        for start, stop, _ in sorted(self.amounts.problem.repeats, key=lambda each: each[1] - each[0]):
            inside = [number for number, leg in enumerate(legs) if start <= leg.start < stop]
            left, total = self.further.get(stop, 0), sum(legs[number].cycles for number in inside)
            for number in inside:
                cycles = legs[number].cycles
                more = left * cycles // max(1, total) if number < inside[-1] else left
                legs[number] = legs[number]._replace(cycles=cycles + more)
                left, total = left - more, total - cycles
        return legs
