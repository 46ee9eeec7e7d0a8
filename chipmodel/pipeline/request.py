"""What is asked of the pipeline, and the plan that it answers with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chipmodel.answers.result import AskedPlanners, Attempt, ExactProof
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Command
from chipmodel.model.fit import Fit, plan_fit
from chipmodel.model.plan import Problem, Solved
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.model.trace import Trace
from chipmodel.passes.lower import lower
from chipmodel.pipeline.choices import CASCADE_OFF, DEFAULT_PACKER, DEFAULT_STREAMER
from dma.schedule.effort import StopCriterion
from solvers.branches.mergers import DEFAULT_MERGE, packer_of_merge
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.core.outcome import Limits


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """A program, the chip that it is to run on, and the planners that are to plan it.

    The program is in the order in which it runs, its in-place reuse marked. Planners go by the names that
    ``chipmodel planners`` lists. On a chip with several cores ``limits`` and ``stop`` hold for each plan of a
    core that is tried.
    """

    program: Program
    chip: Chip
    packer: str = DEFAULT_PACKER
    streamer: str = DEFAULT_STREAMER
    merge: str = DEFAULT_MERGE
    """How the arms of a branch share memory."""
    spill: bool = True
    """Whether tensors may be stored to Psram and loaded again where SharedMemory is too small."""
    limits: Limits | None = None
    """For a packer that searches; None: its own. The seconds are for all its runs in one plan together."""
    stop: StopCriterion | None = None
    """For a streamer that tries several schedules: when it has tried enough."""
    sync_too: bool = False
    """Whether ``run`` also plans with streamer ``sync``, to compare with."""
    smallest_peak: bool = False
    """Whether a packer that searches goes on from the first plan that fits to the smallest peak."""
    cascade: str = CASCADE_OFF
    """``auto``, ``off``, or the names of ops with commas between them: which ops run in stripes, one after
    another (``chipmodel.cascades.rewrite``). It decides for which plans the bound on cycles holds."""
    recompute: float | None = None
    """The most multiply-accumulates of a plan whose cascades may compute rows again, in multiples of those of
    the program; None: cascades keep rows, and bands of columns compute as many again as they need."""
    rows_in_place: bool = True
    """Whether, with ``cascade`` auto, outputs may take an input's memory row by row."""
    deadline: Deadline = NO_DEADLINE
    """When everything that searches is to end, whatever its own limits; a plan is made in any case."""

    @property
    def cascades(self) -> bool:
        """Whether the plan may have cascades."""
        return self.cascade != CASCADE_OFF

    @property
    def asked(self) -> AskedPlanners:
        """The planners by name; a merger may bring its own packer."""
        return AskedPlanners(self.streamer, packer_of_merge(self.merge, self.packer))

    def with_chip(self, chip: Chip) -> PlanRequest:
        """The same for another chip."""
        return replace(self, chip=chip)

    def with_sync(self) -> PlanRequest:
        """The same with every load waited for at once: the reference that streamers are compared with."""
        return replace(self, streamer="sync", limits=None, stop=None, sync_too=False, smallest_peak=False)

    def until(self, deadline: Deadline) -> PlanRequest:
        """The same with another deadline."""
        return replace(self, deadline=deadline)


@dataclass(frozen=True, slots=True)
class Planned:
    """A schedule with its offsets, and the rounds of scheduling and packing that led to it."""

    program: Program
    """What was scheduled: that of the request, or one with large ops cut finer."""
    schedule: Schedule
    problem: Problem
    solved: Solved
    attempts: tuple[Attempt, ...]
    trace: Trace | None = None
    """The plan's simulation, where plans were compared by that."""
    default_cycles: int | None = None
    """What the plan of the default streamer takes, with which a streamer that searches began."""
    proof: ExactProof | None = None
    """What streamer ``exact`` proved."""
    path_cycles: int | None = None
    """What the fastest path takes in whose ways the plan is."""

    def fit(self, chip: Chip) -> Fit:
        """What the plan needs of the memories of ``chip``."""
        return plan_fit(self.program, chip, self.schedule, self.solved.peak)

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of the sequencer and the DMA engine, with addresses."""
        return lower(self.schedule, self.solved.plan)
