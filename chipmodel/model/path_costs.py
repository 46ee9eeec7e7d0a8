"""Costs of the paths through a program: the least, the most and the expected cycles, and their causes.

Every execution of an ``if`` or ``loop`` decides again, independently of all other decisions; what ``--path``
names is decided the same way each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar, Literal

from chipmodel.records import dataclass

Method = Literal["exact", "sampled"]
Runs = tuple[tuple[str, int], ...]
"""Successive decisions of an ``if`` or ``loop``: an arm or a number of iterations, and how often in a row."""

MAX_COUNT = 10**15
"""Paths are counted up to this number."""
MIN_SAMPLES, MOST_SAMPLES = 16, 1_000_000
"""Paths in the smallest sample and the largest; the interval of a smaller one would say little (assumed)."""


@dataclass(frozen=True, slots=True)
class Extreme:
    """One path: its cycles, and the decisions of each ``if`` and ``loop`` that it reaches, by name."""

    cycles: int
    decisions: Mapping[str, Runs]
    lower_bound: int | None = None
    """For the worst path, the least cycles on it of a plan in the space of the result's ``bound``, and so of
    its worst case. None where it was not requested, or where the path does not decide the same way each
    time."""
    KEYS: ClassVar = ("cycles", "path=choices", "decisions")

    @property
    def choices(self) -> dict[str, str] | None:
        """The decisions as ``--path`` takes them; None where one is not the same each time."""
        if any(len(runs) > 1 for runs in self.decisions.values()):
            return None
        return {name: runs[0][0] for name, runs in self.decisions.items()}


@dataclass(frozen=True, slots=True)
class PartCost:
    """An arm of an ``if`` or the body of a ``loop``, over all paths. Times are cycles of the sequencer from
    its first to its last command; transfers that are still in flight then count where they are waited for.
    """

    name: str
    """Name of the ``if`` or ``loop``."""
    arm: str | None
    """None for a loop's body."""
    probability: Fraction
    """Probability that the ``if`` takes this arm when reached; 1 for a loop's body."""
    runs: Fraction
    """Expected executions in one run of the program; for a loop's body, its iterations."""
    cycles: Fraction
    """Expected cycles spent in it in one run of the program."""
    least: int | None
    """Cycles of its shortest execution; None where it never runs."""
    most: int | None
    KEYS: ClassVar = (
        *("name", "arm", "probability", "runs", "cycles", "cycles_each=each", "least_cycles=least"),
        "most_cycles=most",
    )

    @property
    def each(self) -> Fraction | None:
        """Expected cycles of one execution; None where it never runs."""
        return self.cycles / self.runs if self.runs else None


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample's number of paths, seed, and 95 % confidence interval of the mean (Student's t) in cycles."""

    size: int
    seed: int
    low: float
    high: float
    confidence: ClassVar = 0.95
    interval: ClassVar = "Student's t"
    KEYS: ClassVar = ("size", "seed", "confidence", "interval", "low_cycles=low", "high_cycles=high")


@dataclass(frozen=True, slots=True)
class Paths:
    """Without a ``sample``, ``best``, ``worst`` and ``expected`` are exact; with one, they are the best and
    the worst sampled path, and the mean."""

    best: Extreme
    worst: Extreme
    expected: Fraction
    count: int
    """Paths through the program, up to ``MAX_COUNT``."""
    parts: tuple[PartCost, ...]
    """In program order, the outer before the inner; empty for a sample, and on several cores."""
    sample: Sample | None = None

    @property
    def method(self) -> Method:
        return "exact" if self.sample is None else "sampled"
