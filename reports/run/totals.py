"""The sums over one result that every report shows: per unit, per cause of waiting and per op."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction

from chipmodel.answers.op_totals import OpTotals
from chipmodel.answers.result import Result
from chipmodel.hardware.chip import Npu
from chipmodel.model.program import DTYPE_BITS, Op, ops
from chipmodel.model.schedule import steps
from chipmodel.model.trace import Event, Trace, Unit
from chipmodel.records import dataclass
from reports.words import CAUSES, ratio, size


@dataclass(frozen=True, slots=True)
class BankConflict:
    """A step and a transfer, or either and the CPU, that accessed a bank of SharedMemory at once."""

    step: str
    other: str
    npu_cycles: int
    """Cycles for which the NPU stood still."""
    dma_cycles: int
    """Cycles for which the DMA engine stood still."""


@dataclass(frozen=True, slots=True)
class RunTotals:
    """Cycles of the core clock, bytes that the DMA moved, and the ops in linear order."""

    compute_cycles: int
    dma_cycles: int
    stalls: Mapping[str, int]
    """NPU cycles by cause; ``idle`` is the same for the DMA."""
    idle: Mapping[str, int]
    moved_bytes: Mapping[str, int]
    """Bytes by the event's kind."""
    executed_macs: int
    array_utilisation: float
    """MACs done of those that the array could do while computing, ops with given cycles left out."""
    ops: tuple[OpTotals, ...]
    bank_conflicts: tuple[BankConflict, ...]
    """Those that lost most cycles first."""

    @property
    def loaded_bytes(self) -> int:
        return self.moved_bytes.get("load weights", 0) + self.moved_bytes.get("load tensor", 0)

    @property
    def stored_bytes(self) -> int:
        return self.moved_bytes.get("store tensor", 0)


def run_totals(result: Result) -> RunTotals:
    """All sums of ``result``; linear in its events."""
    trace = result.trace
    busy = [e for e in trace.events if e.unit == "dma" and not e.cause]
    moved_bytes: Counter[str] = Counter()
    for event in busy:
        moved_bytes[event.kind] += event.bytes
    totals = _op_totals(result)
    return RunTotals(
        compute_cycles=trace.busy("npu"),
        dma_cycles=trace.busy("dma"),
        stalls=by_cause(trace.stalls("npu")),
        idle=by_cause(trace.stalls("dma")),
        moved_bytes=dict(sorted(moved_bytes.items())),
        executed_macs=sum(op.macs * op.runs for op in totals),
        array_utilisation=_array_utilisation(result, totals),
        ops=totals,
        bank_conflicts=_bank_conflicts(trace),
    )


def _bank_conflicts(trace: Trace) -> tuple[BankConflict, ...]:
    lost: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    units: tuple[Unit, ...] = ("npu", "dma")
    for side, unit in enumerate(units):
        for (name, cause, by), cycles in trace.held(unit).items():
            if cause == "bank":
                lost[(name, by) if unit == "npu" or by == "CPU" else (by, name)][side] += cycles
    conflicts = [BankConflict(step, other, npu, dma) for (step, other), (npu, dma) in lost.items()]
    return tuple(sorted(conflicts, key=lambda m: (-m.npu_cycles - m.dma_cycles, m.step, m.other)))


def loaded_words(moved: Mapping[str, int]) -> str:
    """Bytes of weights and of tensors that were loaded, of those moved by kind."""
    weights, tensors = (size(moved.get(kind, 0)) for kind in ("load weights", "load tensor"))
    return f"{weights} weights, {tensors} tensors"


def by_cause(cycles: Mapping[str, int]) -> dict[str, int]:
    """``cycles`` in the order of ``CAUSES``, without zeros."""
    return {cause: cycles[cause] for cause in CAUSES if cycles.get(cause)}


def _array_utilisation(result: Result, totals: tuple[OpTotals, ...]) -> float:
    npu = result.chip.npu
    modelled = [(o, t) for o, t in zip(ops(result.program.body), totals, strict=True) if o.cycles is None]
    full_speed = sum((t.runs * t.macs / _macs_per_cycle(npu, o) for o, t in modelled), start=Fraction(0))
    return ratio(float(full_speed), sum(t.compute_cycles for _, t in modelled))


def _macs_per_cycle(npu: Npu, op: Op) -> Fraction:
    bits = DTYPE_BITS[op.dtype]
    width = min((w for w in npu.macs_per_cycle if w >= bits), default=max(npu.macs_per_cycle))
    return npu.macs_per_cycle[width]


def _op_totals(result: Result) -> tuple[OpTotals, ...]:
    step_counts = Counter(step.op for step in steps(result.schedule.body))
    events: defaultdict[str, list[Event]] = defaultdict(list)
    for event in result.trace.events:
        events[event.op].append(event)
    return tuple(
        _totals(op, runs, step_counts[op.name], events[op.name])
        for op, runs in result.program.op_counts(result.trace.path)
    )


def _totals(op: Op, runs: int, step_count: int, events: list[Event]) -> OpTotals:
    stalls: Counter[str] = Counter()
    for event in events:
        if event.unit == "npu" and event.cause:
            stalls[event.cause] += event.cycles
        elif event.unit == "npu":
            for wait in event.waits:
                stalls[wait.cause] += wait.cycles
    moves = [e for e in events if e.unit == "dma" and not e.cause]
    return OpTotals(
        name=op.name,
        kind=op.kind,
        macs=op.work.macs,
        runs=runs,
        steps=step_count,
        compute_cycles=sum(e.worked for e in events if e.unit == "npu"),
        stalls=by_cause(stalls),
        loaded_bytes=sum(e.bytes for e in moves if e.kind in ("load weights", "load tensor")),
        stored_bytes=sum(e.bytes for e in moves if e.kind == "store tensor"),
    )
