"""What the paths through a program cost: the least, the most and the expected cycles, and who causes them.

Every execution of an ``if`` decides again, and so does every execution of a ``loop`` over its iterations; all
decisions are independent of one another. What ``--path`` names is decided the same way each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

Method = Literal["exact", "sampled"]
Runs = tuple[tuple[str, int], ...]
"""What one ``if`` or ``loop`` decided, one execution after another: an arm's name or a number of iterations,
and how many times in a row."""

COUNTED = 10**15
"""Paths are counted up to here."""


@dataclass(frozen=True, slots=True)
class Extreme:
    """One path: its cycles, and by name what each ``if`` and ``loop`` that it reaches decides."""

    cycles: int
    decisions: Mapping[str, Runs]
    lower_bound: int | None = None
    """Of the worst path: cycles below which no plan brings the worst case, for none is quicker on this path.
    None where it was not asked for, or the path does not decide the same way each time."""

    @property
    def choices(self) -> dict[str, str] | None:
        """The same for ``--path``; None where one of them does not decide the same way each time."""
        if any(len(runs) > 1 for runs in self.decisions.values()):
            return None
        return {name: runs[0][0] for name, runs in self.decisions.items()}


@dataclass(frozen=True, slots=True)
class PartCost:
    """An arm of an ``if`` or the body of a ``loop``, over all paths. Times are cycles of the sequencer
    between its first and its last command; what an arm left to the DMA engine counts where it is waited for.
    """

    name: str
    """Of the ``if`` or ``loop``."""
    arm: str | None
    """None for a loop's body."""
    probability: Fraction
    """That the ``if`` takes this arm when it is reached; 1 for a loop's body."""
    runs: Fraction
    """How often it runs in one run of the program, on average: for a loop's body, its iterations."""
    cycles: Fraction
    """Spent in it in one run of the program, on average."""
    least: int | None
    """Cycles of its shortest execution; None where it never runs."""
    most: int | None

    @property
    def each(self) -> Fraction | None:
        """Cycles of one execution, on average; None where it never runs."""
        return self.cycles / self.runs if self.runs else None


@dataclass(frozen=True, slots=True)
class Sample:
    """Of a sampled answer: how many paths, from which seed, and the 95 % confidence interval of the mean
    (Student's t), in cycles."""

    size: int
    seed: int
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Paths:
    """``best``, ``worst`` and ``expected`` are exact without a ``sample``; with one, they are the best and
    the worst path that was seen, and the mean."""

    best: Extreme
    worst: Extreme
    expected: Fraction
    count: int
    """Paths through the program, up to ``COUNTED``."""
    parts: tuple[PartCost, ...]
    """In the order of the program, outer ones before inner ones; none on a chip with several cores, where
    other cores go on meanwhile."""
    sample: Sample | None = None

    @property
    def method(self) -> Method:
        return "exact" if self.sample is None else "sampled"
