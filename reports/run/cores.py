"""Totals of each core of a chip with several cores, for the terminal, the page and the JSON document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

from chipmodel.answers.result import CorePlan, Result
from chipmodel.files.document import plain
from chipmodel.model.live_sets import unused_bytes
from chipmodel.model.program import ops
from chipmodel.model.trace import Cause, Trace
from chipmodel.records import dataclass
from reports.page_parts import PageTable
from reports.run.totals import by_cause
from reports.words import AWAITED, count, percent, ratio, size

MOST_WAITS = 5
"""Waits of each core on the page and in the document: the list is read, not added up."""
WAITS_ON_TERMINAL = 8


@dataclass(frozen=True, slots=True)
class CoreTotals:
    """Totals of one core over the whole run, in cycles and bytes."""

    core: int
    ops: tuple[str, ...]
    cycles: int
    """Cycles of the whole run: those of computing and those of ``stalls``."""
    compute_cycles: int
    stalls: Mapping[str, int]
    """Cycles of waiting by cause, those after its last op (``finished``) included."""
    peak_bytes: int
    peak_lower_bound_bytes: int
    unused_bytes: int
    """See ``model.live_sets.unused_bytes``."""
    received_bytes: int
    """Bytes loaded of tensors that other cores made."""
    sent_bytes: int
    """Bytes stored of tensors that other cores read."""
    loaded_bytes: int
    """All bytes loaded."""
    stored_bytes: int
    """All bytes stored."""
    longest_waits: tuple[CoreWait, ...]
    imports: Mapping[str, int]
    """The core that makes each tensor that it reads from another one."""
    exports: tuple[str, ...]
    """The tensors that other cores read."""
    KEYS: ClassVar = (
        *("core", "ops", "compute_cycles", "stall_cycles", "stalls", "peak_bytes", "peak_lower_bound_bytes"),
        *("unused_bytes", "fragmentation", "received_bytes", "sent_bytes", "loaded_bytes", "stored_bytes"),
        *("longest_waits", "imports", "exports"),
    )

    @property
    def stall_cycles(self) -> int:
        """Cycles of waiting."""
        return self.cycles - self.compute_cycles

    @property
    def fragmentation(self) -> float:
        """The unused bytes as a share of the peak."""
        return ratio(self.unused_bytes, self.peak_bytes)


def core_totals(result: Result) -> tuple[CoreTotals, ...]:
    """The totals by core number; empty for a chip with one core."""
    waits = core_waits(result)
    return tuple(_totals(plan, result.trace, waits) for plan in result.cores)


def _totals(plan: CorePlan, trace: Trace, waits: Sequence[CoreWait]) -> CoreTotals:
    names = {t.name: t.part.name for t in plan.schedule.transfers if not t.part.weights}
    moves = [e for e in trace.of("dma", core=plan.core) if not e.cause]
    loads = [e for e in moves if e.kind in ("load weights", "load tensor")]
    stores = [e for e in moves if e.kind == "store tensor"]
    imports, exports = plan.part.imports, plan.part.exports
    return CoreTotals(
        core=plan.core,
        ops=tuple(op.name for op in ops(plan.part.program.body)),
        cycles=trace.cycles,
        compute_cycles=trace.busy("npu", plan.core),
        stalls=by_cause(trace.stalls("npu", plan.core)),
        peak_bytes=plan.solved.peak,
        peak_lower_bound_bytes=plan.solved.lower_bound,
        unused_bytes=unused_bytes(plan.problem, plan.solved.plan) if plan.problem.buffers else 0,
        received_bytes=sum(e.bytes for e in loads if names.get(e.name) in imports),
        sent_bytes=sum(e.bytes for e in stores if names.get(e.name) in exports),
        loaded_bytes=sum(e.bytes for e in loads),
        stored_bytes=sum(e.bytes for e in stores),
        longest_waits=tuple(wait for wait in waits if wait.core == plan.core),
        imports=dict(sorted(imports.items())),
        exports=tuple(sorted(exports)),
    )


@dataclass(frozen=True, slots=True)
class CoreWait:
    """Cycles in all that a core waited in one op for one thing."""

    core: int
    cycles: int
    cause: Cause
    awaited: str
    """A tensor and its core for the cause ``core``, a transfer for those of the DMA engine."""
    op: str
    """The op that could not go on; empty after the core's last one."""
    KEYS: ClassVar = ("cycles", "cause", "for=awaited", "op")

    @property
    def words(self) -> str:
        """What it waited for."""
        if self.cause == "finished":
            return "nothing: no op is left for it"
        if self.cause in ("weights", "input", "output"):
            return f"the DMA engine: {self.awaited}"
        if self.cause == "core":
            tensor, _, core = self.awaited.rpartition(" of core ")
            return f"core {core}: {tensor}"
        return AWAITED[self.cause]


def core_waits(result: Result, most: int = MOST_WAITS) -> tuple[CoreWait, ...]:
    """The ``most`` longest waits of each core that runs ops, the longest first; none for a single core."""
    cycles: Counter[tuple[int, Cause, str, str]] = Counter()
    for event in result.trace.of("npu"):
        if event.cause:
            cycles[event.core, event.cause, event.name, event.op] += event.cycles
    waits: list[CoreWait] = []
    for plan in result.cores:
        own = [CoreWait(plan.core, n, *key[1:]) for key, n in cycles.items() if key[0] == plan.core]
        if plan.part.program.body:
            waits += sorted(own, key=lambda wait: (-wait.cycles, wait.op, wait.awaited))[:most]
    return tuple(sorted(waits, key=lambda wait: (-wait.cycles, wait.core, wait.op, wait.awaited)))


def waits_table(result: Result) -> PageTable:
    """The longest waits of all cores."""
    rows = [
        (str(w.core), count(w.cycles), percent(ratio(w.cycles, result.trace.cycles)), w.words, w.op)
        for w in core_waits(result)
    ]
    heads = (">core", ">cycles", ">share", "waited for", "in op")
    hint = "A core waits until another core's tensor is in Psram, then until the DMA engine has loaded it."
    return PageTable("waits", "What cores waited for", heads, rows, hint, most=WAITS_ON_TERMINAL)


def speed_up(result: Result) -> str:
    """The speed-up against one core of the same chip in words; empty where the program does not fit one core,
    or where the chip has only one."""
    if result.one_core_cycles is None:
        return ""
    factor = ratio(result.one_core_cycles, result.trace.cycles)
    return f"{len(result.cores)} cores are {factor:.2f} times as fast"


def cores_document(result: Result) -> dict[str, object]:
    """``cores`` and ``one_core_cycles`` of the JSON document; empty for a chip with one core."""
    if not result.cores:
        return {}
    return {"one_core_cycles": result.one_core_cycles, "cores": plain(core_totals(result))}


def cores_table(result: Result) -> PageTable:
    """A row for each core."""
    rows = [
        (
            str(totals.core),
            count(len(totals.ops)),
            percent(ratio(totals.compute_cycles, totals.cycles)),
            _waits_for(totals),
            *(size(totals.peak_bytes), percent(totals.fragmentation)),
            *(size(totals.received_bytes), size(totals.sent_bytes)),
        )
        for totals in core_totals(result)
    ]
    heads = (">core", ">ops", ">computes", "waits mostly for", ">peak", ">fragm.", ">received", ">sent")
    hint = (
        "A core receives tensors that other cores made and sends tensors that they read; both move through "
        "Psram. Fragmentation is the share of a core's peak that no live buffer takes while its highest "
        "buffer is alive."
    )
    return PageTable("cores", "Cores", heads, rows, hint)


def _waits_for(totals: CoreTotals) -> str:
    stalls = {cause: cycles for cause, cycles in totals.stalls.items() if cause != "finished"}
    if not totals.ops:
        return "no op is placed on it"
    if not stalls:
        return "nothing"
    worst = max(stalls, key=stalls.__getitem__)
    return f"{AWAITED[worst]} {percent(ratio(stalls[worst], totals.cycles))}"


def core_of_ops(result: Result) -> dict[str, int]:
    """The core that runs each op, by the op's name; 0 on a chip with one core."""
    first_core = {op.name: 0 for op in ops(result.program.body)}
    return first_core | {op.name: plan.core for plan in result.cores for op in ops(plan.part.program.body)}
