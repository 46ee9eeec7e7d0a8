"""A plan beside the one that the board's own tool makes (streamer ``vendor``), cause by cause."""

from __future__ import annotations

from collections.abc import Callable

from chipmodel.answers.result import Result
from chipmodel.records import dataclass
from reports.run.totals import RunTotals, by_cause, run_totals
from reports.run.track_record import board_rows
from reports.terminal_table import FigureRow
from reports.words import CAUSES, count, duration, percent, ratio, weight_memory


@dataclass(frozen=True, slots=True)
class VendorRow:
    """One quantity of both plans, in cycles or bytes."""

    label: str
    unit: str
    vendor: int
    this: int

    @property
    def difference(self) -> int:
        """What this plan has more than the tool's."""
        return self.this - self.vendor


def vendor_rows(result: Result) -> list[VendorRow]:
    """The run's cycles, which are the sum of the rows after it up to those in bytes; then the traffic and
    the peak. Cycles of several cores are averages. Empty without a plan of the board's own tool."""
    if not result.vendor:
        return []
    pairs = ((result.vendor, run_totals(result.vendor)), (result, run_totals(result)))
    causes = by_cause(dict.fromkeys((cause for _, sums in pairs for cause in sums.stalls), 1))

    def row(label: str, unit: str, value: Callable[[Result, RunTotals], int]) -> VendorRow:
        (vendor, of_vendor), (this, of_this) = pairs
        return VendorRow(label, unit, value(vendor, of_vendor), value(this, of_this))

    time = row("run time", "cycles", lambda run, _: run.trace.cycles)
    rows = [
        row("NPU computes", "cycles", lambda run, sums: sums.compute_cycles // run.trace.cores),
        *(row(CAUSES[cause], "cycles", _waited(cause)) for cause in causes),
        row(f"weights from {weight_memory(result)}", "B", _moved("load weights")),
        row("tensors loaded", "B", _moved("load tensor")),
        row("tensors stored", "B", _moved("store tensor")),
        row("peak of SharedMemory", "B", lambda run, _: run.solved.peak),
        row("cascades", "", lambda run, _: len(run.schedule.cascades)),
    ]
    return [time, *(each for each in rows if each.vendor or each.this)]


def _waited(cause: str) -> Callable[[Result, RunTotals], int]:
    return lambda run, sums: sums.stalls.get(cause, 0) // run.trace.cores


def _moved(kind: str) -> Callable[[Result, RunTotals], int]:
    return lambda _, sums: sums.moved_bytes.get(kind, 0)


def vendor_lines(result: Result) -> list[FigureRow]:
    """The run time, what measured networks say of it, and what differs, for the terminal."""
    if not result.vendor:
        return board_rows(result)
    time, *others = vendor_rows(result)
    return [
        (time.label, count(time.vendor), time.unit, vendor_words(result)),
        *board_rows(result),
        *((r.label, count(r.vendor), r.unit, f"here {count(r.this)}") for r in others if r.difference),
    ]


def vendor_words(result: Result) -> str:
    """``19.023 ms; this plan takes 47.9% less``."""
    assert result.vendor
    vendor, this = result.vendor.trace.cycles, result.trace.cycles
    saved = ratio(vendor - this, vendor)
    word = "as long" if not saved else f"{percent(abs(saved))} {'less' if saved > 0 else 'more'}"
    return f"{duration(result.chip, vendor)}; this plan takes {word}"
