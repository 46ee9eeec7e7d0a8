"""Everything that one simulation answered: what the reports and the JSON are made of."""

from __future__ import annotations

from dataclasses import dataclass

from chipmodel.chip import Chip
from chipmodel.plan import Problem, Solved
from chipmodel.program import Program
from chipmodel.schedule import Schedule
from chipmodel.trace import Trace


@dataclass(frozen=True, slots=True)
class Attempt:
    """One round of schedule and solve: the bytes the streamer was told of, and what came out."""

    budget: int
    peak: int
    lower_bound: int


@dataclass(frozen=True, slots=True)
class Result:
    """A simulated plan. ``sync_cycles`` is the same program on the same chip with every load waited
    for at once; ``lower_bound_cycles`` holds for any plan on this chip and path."""

    program: Program
    chip: Chip
    schedule: Schedule
    problem: Problem
    solved: Solved
    trace: Trace
    sync_cycles: int
    lower_bound_cycles: int
    attempts: tuple[Attempt, ...]

    @property
    def capacity(self) -> int:
        return self.chip.shared_memory.bytes

    @property
    def fits(self) -> bool:
        """Whether the plan's peak is within SharedMemory."""
        return self.solved.peak <= self.capacity

    @property
    def hidden_cycles(self) -> int:
        """DMA cycles during which the NPU computed."""
        return self.trace.busy("dma") + self.trace.busy("npu") - self._any_busy()

    def _any_busy(self) -> int:
        spans = sorted((e.start, e.stop) for e in self.trace.events if not e.cause)
        total = clock = 0
        for start, stop in spans:
            total += max(0, stop - max(start, clock))
            clock = max(clock, stop)
        return total
