"""A plan beside the one that the board's own tool makes (streamer ``vendor``), cause by cause."""

from __future__ import annotations

from collections.abc import Callable

from chipmodel.answers.result import Result
from reports.run.totals import RunTotals, by_cause, run_totals
from reports.run.track_record import board_rows
from reports.terminal_table import FigureRow
from reports.words import CAUSES, count, duration, percent, ratio, weight_memory


def vendor_lines(result: Result) -> list[FigureRow]:
    """The run time, what measured networks say of it, and what differs: first cycles, then traffic and the
    peak. Cycles of several cores are averages."""
    if not result.vendor:
        return board_rows(result)
    runs = [(run, run_totals(run)) for run in (result.vendor, result)]
    causes = by_cause(dict.fromkeys((cause for _, sums in runs for cause in sums.stalls), 1))
    quantities: list[tuple[str, str, Callable[[Result, RunTotals], int]]] = [
        ("NPU computes", "cycles", lambda run, sums: sums.compute_cycles // run.trace.cores),
        *((CAUSES[cause], "cycles", _waited(cause)) for cause in causes),
        (f"weights from {weight_memory(result)}", "B", _moved("load weights")),
        ("tensors loaded", "B", _moved("load tensor")),
        ("tensors stored", "B", _moved("store tensor")),
        ("peak of SharedMemory", "B", lambda run, _: run.solved.peak),
        ("cascades", "", lambda run, _: len(run.schedule.cascades)),
    ]
    (vendor, sums), (own, own_sums) = runs
    rows = [(what, unit, of(vendor, sums), of(own, own_sums)) for what, unit, of in quantities]
    return [
        ("run time", count(result.vendor.trace.cycles), "cycles", vendor_words(result)),
        *board_rows(result),
        *((what, count(a), unit, f"here {count(b)}") for what, unit, a, b in rows if a != b),
    ]


def _waited(cause: str) -> Callable[[Result, RunTotals], int]:
    return lambda run, sums: sums.stalls.get(cause, 0) // run.trace.cores


def _moved(kind: str) -> Callable[[Result, RunTotals], int]:
    return lambda _, sums: sums.moved_bytes.get(kind, 0)


def vendor_words(result: Result) -> str:
    """``19.023 ms; this plan takes 47.9% less``."""
    assert result.vendor
    vendor, this = result.vendor.trace.cycles, result.trace.cycles
    saved = ratio(vendor - this, vendor)
    word = "as long" if not saved else f"{percent(abs(saved))} {'less' if saved > 0 else 'more'}"
    return f"{duration(result.chip, vendor)}; this plan takes {word}"
