"""The results of one simulation, from which reports and JSON are made."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, NamedTuple

from chipmodel.files.suggestions import listed
from chipmodel.geometry.interval import Interval, merged
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.measured_networks import MeasuredNetwork, NetworkClass, NetworkTraits
from chipmodel.model.commands import Command
from chipmodel.model.core_parts import CorePart
from chipmodel.model.fit import Fit, plan_fit
from chipmodel.model.path_costs import Paths
from chipmodel.model.plan import Problem, Solved, Status
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import Schedule
from chipmodel.model.time_bound import TimeBound
from chipmodel.model.trace import Trace, Unit
from chipmodel.records import dataclass

SHOWN_OPS = 8
"""Ops that a note names."""


@dataclass(frozen=True, slots=True)
class TrackRecord:
    """What measured networks say of a prediction for the board's own tool.

    ``like`` is None where no measured network is of the network's class; then ``nearest`` is of another one.
    """

    traits: NetworkTraits
    like: NetworkClass | None
    nearest: MeasuredNetwork
    warnings: tuple[str, ...]

    def interval(self, milliseconds: float) -> tuple[float, float] | None:
        """What a board may take that is predicted to take ``milliseconds``; None without a like network, and
        where those are too far apart for an answer."""
        if self.like is None or self.like.unknown:
            return None
        low, high = self.like.interval
        return milliseconds * low, milliseconds * high


@dataclass(frozen=True, slots=True)
class Attempt:
    """A round of scheduling and packing: bytes given to the streamer, the resulting peak and bound."""

    budget: int
    peak: int
    lower_bound: int
    KEYS: ClassVar = ("budget_bytes=budget", "peak_bytes=peak", "lower_bound_bytes=lower_bound")


@dataclass(frozen=True, slots=True)
class CorePlan:
    """One of several cores: its part of the program, its memory plan, and its commands."""

    part: CorePart
    schedule: Schedule
    problem: Problem
    solved: Solved
    attempts: tuple[Attempt, ...]
    commands: tuple[Command, ...]

    @property
    def core(self) -> int:
        """The core's number."""
        return self.part.core


@dataclass(frozen=True, slots=True)
class OrderTried:
    """An order of ops and its plan.

    ``live_bytes`` are the most bytes of tensors alive at one op if nothing is spilled, ``proven`` whether no
    order has fewer; ``cycles`` and ``peak`` are those of its plan, None where it has none.
    """

    name: str
    live_bytes: int
    proven: bool
    cycles: int | None
    peak: int | None
    KEYS: ClassVar = (
        *("order=name", "live_bytes", "proven_minimum=proven", "total_cycles=cycles", "peak_bytes=peak"),
    )


@dataclass(frozen=True, slots=True)
class Ordering:
    """The requested order of ops (``--order``), the one that runs, and all that were tried, given first."""

    asked: str
    runs: str
    tried: tuple[OrderTried, ...]
    KEYS: ClassVar = ("requested=asked", "chosen=runs", "tried")

    @property
    def given(self) -> OrderTried:
        return self.tried[0]

    @property
    def run(self) -> OrderTried:
        """The order that runs."""
        return next(each for each in self.tried if each.name == self.runs)


@dataclass(frozen=True, slots=True)
class ExactProof:
    """A proof over all listed ways by CP-SAT: no plan of them takes less than ``bound`` cycles.

    ``model`` is ``optimal`` if no higher bound follows from the numbers of these ways, else ``feasible``.
    """

    model: Status
    bound: int
    listed: int
    """Ways in all."""
    left: int
    """Those that the dynamic program over borders could not exclude."""
    tried: int
    """Chains of ways of which plans were made."""

    def status(self, cycles: int) -> Status:
        """``optimal`` for a plan that is proven to be the best in these ways."""
        return "optimal" if cycles <= self.bound else "feasible"


class AskedPlanners(NamedTuple):
    """The streamer and packer asked for; ``Result.schedule`` and ``Result.solved`` have what planned."""

    streamer: str
    packer: str


@dataclass(frozen=True, slots=True)
class Result:
    """A simulated plan. ``sync_cycles`` are the cycles of the same program on the same chip with every load
    waited for at once, None where they were not requested; ``bound`` holds for the plans in its ``space``, on
    this chip and path."""

    program: Program
    chip: Chip
    schedule: Schedule
    problem: Problem
    solved: Solved
    trace: Trace
    sync_cycles: int | None
    bound: TimeBound
    attempts: tuple[Attempt, ...]
    merge: str = "conflict"
    """How the arms of branches share memory (``solvers.branches.mergers``)."""
    asked: AskedPlanners | None = None
    """None: the planners that made the plan."""
    cores: tuple[CorePlan, ...] = ()
    """One for each core of a chip with several. Then ``schedule`` joins those of all cores, and ``problem``,
    ``solved`` and ``attempts`` are those of the core with the highest peak."""
    default_cycles: int | None = None
    """What the plan of the default streamer takes, with which a streamer that searches began; else None."""
    proof: ExactProof | None = None
    """What streamer ``exact`` proved; None where it proved nothing."""
    one_core_cycles: int | None = None
    """Cycles of the same program on one core of the chip; None where it does not fit there."""
    paths: Paths | None = None
    """Costs of all paths; None without an ``if`` or ``loop``, or where they were not requested."""
    ordering: Ordering | None = None
    """The order of ops, where one was requested: ``program`` has it, and ``bound`` is for it."""
    unmerged: Solved | None = None
    """``problem`` packed with a block for every arm (``--merge none``), for comparison; None where it was not
    requested, and on several cores."""
    vendor: Result | None = None
    """The same program along the same path as the board's own tool would run it (streamer ``vendor``), to
    compare with; None where the chip file does not say how, or where this is that plan."""
    record: TrackRecord | None = None
    """What measured networks say of the time by the board's own tool; None where the chip file has none."""
    left_to_cpu: tuple[Op, ...] = ()
    """The ops that the chip's tool leaves to the CPU. Those of Ethos-U are not timed: the cycles are those
    that the NPU would take."""
    cut_short: tuple[str, ...] = ()
    """What a time limit ended early or left out, in a few words each."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader is to know about the program and its answer, in sentences."""
        notes = (*self.program.notes, *self._core_notes(), *self._cpu_notes())
        if not self.cut_short:
            return notes
        return *notes, f"ended early: {'; '.join(self.cut_short)}"

    def _cpu_notes(self) -> tuple[str, ...]:
        if not self.left_to_cpu:
            return ()
        named = listed([f"{op.name} ({op.kind})" for op in self.left_to_cpu], SHOWN_OPS)
        if self.chip.npu.ethos is None:
            what = f"the board's tool leaves {len(self.left_to_cpu):,} ops to the CPU, which are timed there"
            return (f"{what}: {named} (sources: cpu.cycles_per_element of the chip)",)
        compiler = self.chip.npu.ethos.compiler.capitalize().replace("-", " ")
        what = f"{compiler} leaves {len(self.left_to_cpu):,} ops to the CPU, where they are not timed"
        return (f"{what}: {named}. The total has the cycles that the NPU would take for them",)

    def _core_notes(self) -> tuple[str, ...]:
        """What may keep several cores from helping."""
        if not self.cores:
            return ()
        busy = self.trace.busy("dma") / max(1, self.trace.cycles)
        return (f"the DMA engine, which all cores share, is busy for {busy:.0%} of the run",)

    def on_core(self, core: int) -> Result:
        """The result of one core: its plan, and the events of its NPU and of its transfers."""
        plan = self.cores[core]
        events = tuple(e for e in self.trace.events if e.core == core)
        return replace(
            self,
            program=plan.part.program,
            schedule=plan.schedule,
            problem=plan.problem,
            solved=plan.solved,
            attempts=plan.attempts,
            trace=replace(self.trace, events=events),
            cores=(),
        )

    @property
    def npu_cycles(self) -> int:
        """The cycles of the run, summed over cores."""
        return self.trace.cycles * self.trace.cores

    @property
    def capacity(self) -> int:
        return self.chip.shared_memory.bytes

    @property
    def spilled(self) -> tuple[str, ...]:
        """The tensors that are stored to Psram and loaded again. Outputs that nothing reads are none: they go
        there in any case."""
        read = {name for op in self.program.ops() for name in op.inputs}
        return tuple(n for n in self.schedule.spilled if n in read or n not in self.program.outputs)

    @property
    def fit(self) -> Fit:
        """What the plan needs of SharedMemory and Psram."""
        return plan_fit(self.program, self.chip, self.schedule, self.solved.peak)

    @property
    def fits(self) -> bool:
        """Whether the plan is within SharedMemory and Psram."""
        return self.fit.fits

    @property
    def hidden_cycles(self) -> int:
        """Cycles during which an op was on the NPU and a transfer in a channel."""
        work = [event for event in self.trace.events if not event.cause]
        npu, dma = ([Interval(e.start, e.stop) for e in work if e.unit == unit] for unit in UNITS)
        alone, both = (*merged(npu), *merged(dma)), merged((*npu, *dma))
        return sum(map(len, alone)) - sum(map(len, both))


UNITS: tuple[Unit, ...] = ("npu", "dma")
