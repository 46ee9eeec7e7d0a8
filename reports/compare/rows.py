"""Several planners on one workload: the rows of ``chipmodel compare``, as JSON and on the terminal."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from chipmodel.model.plan import Problem, Status
from chipmodel.model.result import Ordering
from reports.run.ordering import order_document, order_words
from reports.words import count, percent, ratio, size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


@dataclass(frozen=True, slots=True)
class Packed:
    """What a packer made of the problem, or why it ``refused``."""

    packer: str
    peak: int | None = None
    lower_bound: int = 0
    status: Status = "unknown"
    unused: int | None = None
    """See ``unused_bytes``."""
    seconds: float = 0.0
    nodes: int = 0
    trajectory: tuple[tuple[float, int], ...] = ()
    """Seconds and best peak, of a packer that tells them on the way."""
    refused: str = ""
    cores: tuple[Packed, ...] = ()
    """Of each core of a chip with several: what it made of that core's buffers. Then the peak and the unused
    bytes are those of the core with the highest peak."""

    @property
    def fragmentation(self) -> float | None:
        """The unused bytes as a share of the peak; none without a plan."""
        return None if self.peak is None or self.unused is None else ratio(self.unused, self.peak)


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merger of arms and a packer made of the problem, or why they ``refused``."""

    merge: str
    packer: str
    peak: int | None = None
    lower_bound: int = 0
    status: Status = "unknown"
    seconds: float = 0.0
    refused: str = ""


@dataclass(frozen=True, slots=True)
class Streamed:
    """What a whole run took with a streamer, or why it ``refused``."""

    streamer: str
    cycles: int | None = None
    lower_bound: int = 0
    sync_cycles: int = 0
    milliseconds: float = 0.0
    peak: int = 0
    fits: bool = False
    seconds: float = 0.0
    """Of planning and simulating."""
    refused: str = ""

    @property
    def gap(self) -> float | None:
        """``(cycles - bound) / bound``."""
        return None if self.cycles is None else ratio(self.cycles - self.lower_bound, self.lower_bound)


@dataclass(frozen=True)
class Comparison:
    """Packers and mergers of arms on one problem, without its capacity; and streamers on the whole program,
    if asked for."""

    source: str
    chip: str
    """Empty for a packing, as are ``streamer`` and ``packer``."""
    problem: Problem
    capacity: int | None
    streamer: str = ""
    """Whose schedule the problem is."""
    packer: str = ""
    """Which one the streamers' runs have."""
    packed: tuple[Packed, ...] = ()
    streamed: tuple[Streamed, ...] = ()
    merged: tuple[Merged, ...] = ()
    ordering: Ordering | None = None
    """The order of ops, where it was not the one given."""

    @cached_property
    def bound(self) -> int:
        """The highest bound on the peak that any of the packers and mergers proved."""
        rows: tuple[Packed | Merged, ...] = (*self.packed, *self.merged)
        return max((row.lower_bound for row in rows), default=0)

    @cached_property
    def ranked(self) -> tuple[Packed, ...]:
        """The packers from the lowest peak to the highest, then those without a plan."""
        none = 1 << 200
        return tuple(sorted(self.packed, key=lambda r: (bool(r.refused), none if r.peak is None else r.peak)))

    def gap(self, row: Packed | Merged) -> float | None:
        """``(peak - bound) / bound``; none without a plan."""
        return None if row.peak is None else ratio(row.peak - self.bound, self.bound)

    def fits(self, row: Packed | Merged) -> bool:
        """Whether there is a plan, within the capacity if there is one."""
        return row.peak is not None and (self.capacity is None or row.peak <= self.capacity)


def document(comparison: Comparison) -> dict[str, object]:
    """``comparison`` as JSON values: bytes, cycles, seconds, shares of 1; null where there is no plan."""
    return {
        "workload": comparison.source,
        "chip": comparison.chip or None,
        "streamer": comparison.streamer or None,
        "packer": comparison.packer or None,
        **order_document(comparison.ordering),
        "buffers": len(comparison.problem.buffers) if comparison.packed or comparison.merged else None,
        "capacity_bytes": comparison.capacity,
        "lower_bound_bytes": comparison.bound if comparison.packed or comparison.merged else None,
        "packers": [_packed(comparison, row) for row in comparison.packed],
        "merges": [_merged(comparison, row) for row in comparison.merged],
        "streamers": [_streamed(row) for row in comparison.streamed],
    }


def _packed(comparison: Comparison, row: Packed) -> dict[str, object]:
    return {
        "packer": row.packer,
        "refused": row.refused or None,
        "status": None if row.refused else row.status,
        "peak_bytes": row.peak,
        "lower_bound_bytes": None if row.refused else row.lower_bound,
        "gap": comparison.gap(row),
        "unused_bytes": row.unused,
        "fragmentation": row.fragmentation,
        "seconds": round(row.seconds, 6),
        "fits": comparison.fits(row),
        "nodes": row.nodes,
        "trajectory": [{"seconds": round(s, 6), "peak_bytes": peak} for s, peak in row.trajectory],
        **({"cores": [_core(number, each) for number, each in enumerate(row.cores)]} if row.cores else {}),
    }


def _core(number: int, row: Packed) -> dict[str, object]:
    return {
        "core": number,
        "status": row.status,
        "peak_bytes": row.peak,
        "lower_bound_bytes": row.lower_bound,
        "unused_bytes": row.unused,
        "fragmentation": row.fragmentation,
    }


def _merged(comparison: Comparison, row: Merged) -> dict[str, object]:
    return {
        "merge": row.merge,
        "packer": row.packer,
        "refused": row.refused or None,
        "status": None if row.refused else row.status,
        "peak_bytes": row.peak,
        "lower_bound_bytes": None if row.refused else row.lower_bound,
        "gap": comparison.gap(row),
        "seconds": round(row.seconds, 6),
        "fits": comparison.fits(row),
    }


def _streamed(row: Streamed) -> dict[str, object]:
    known = row.cycles is not None
    return {
        "streamer": row.streamer,
        "refused": row.refused or None,
        "total_cycles": row.cycles,
        "lower_bound_cycles": row.lower_bound if known else None,
        "gap": row.gap,
        "sync_cycles": row.sync_cycles if known else None,
        "milliseconds": row.milliseconds if known else None,
        "peak_bytes": row.peak if known else None,
        "seconds": round(row.seconds, 6),
        "fits": row.fits,
    }


def json_text(comparison: Comparison) -> str:
    """The document as text."""
    return json.dumps(document(comparison), indent=2) + "\n"


def headline(comparison: Comparison) -> str:
    """What was packed, what is known of the best answer, and in which order ops run if not as given."""
    ordering = comparison.ordering
    ordered = f" Order of ops: {order_words(ordering)}" if ordering else ""
    return _answer(comparison) + ordered


def _answer(comparison: Comparison) -> str:
    if not comparison.packed and comparison.merged:
        return _merged_headline(comparison)
    if not comparison.packed:
        runs = len(comparison.streamed)
        return f"{count(runs)} streamer{'' if runs == 1 else 's'} in whole runs."
    buffers = len(comparison.problem.buffers)
    what = f"{count(buffers)} buffer{'' if buffers == 1 else 's'}"
    if comparison.streamer:
        what += f" of {comparison.streamer}'s schedule"
    best = comparison.ranked[0]
    if best.peak is None:
        return f"{what}; no packer made a plan."
    gap = comparison.gap(best)
    known = "which no plan can beat" if gap == 0 else f"{percent(gap or 0.0)} above what is proven"
    return f"{what}; the lowest peak is {count(best.peak)} B, {known}."


def _merged_headline(comparison: Comparison) -> str:
    buffers = f"{count(len(comparison.problem.buffers))} buffers of {comparison.streamer}'s schedule"
    peaks = [row.peak for row in comparison.merged if row.peak is not None]
    if not peaks:
        return f"{buffers}; no merger made a plan."
    return f"{buffers}; the lowest peak is {count(min(peaks))} B, the highest {count(max(peaks))} B."


def seconds_text(seconds: float) -> str:
    """Seconds, milliseconds below one second, microseconds below a tenth of a millisecond."""
    if seconds < 1e-4:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.1f} ms"


def fit_text(comparison: Comparison, row: Packed | Merged) -> str:
    """Whether it fits, or why there is no plan."""
    if row.refused:
        return row.refused
    if row.peak is None:
        return "no plan" if row.status != "infeasible" else "proven: no plan"
    return "yes" if comparison.fits(row) else "no"


def peak_cells(comparison: Comparison, row: Packed) -> tuple[str, str, str, str]:
    """Peak, gap, fragmentation and time, as both reports print them."""
    if row.peak is None:
        return "", "", "", "" if row.refused else seconds_text(row.seconds)
    gap, waste = comparison.gap(row), row.fragmentation
    cells = (percent(gap or 0.0), percent(waste or 0.0))
    return count(row.peak), *cells, seconds_text(row.seconds)


def merge_cells(comparison: Comparison, row: Merged) -> tuple[str, str, str, str]:
    """Peak, gap, status and time, as both reports print them."""
    if row.peak is None:
        return "", "", "", ""
    return count(row.peak), percent(comparison.gap(row) or 0.0), row.status, seconds_text(row.seconds)


def cycle_cells(row: Streamed) -> tuple[str, str, str, str, str]:
    """Cycles, gap, milliseconds, the cycles saved against sync, and the time that it took to know."""
    if row.cycles is None:
        return "", "", "", "", ""
    saved = ratio(row.sync_cycles - row.cycles, row.sync_cycles)
    cells = (count(row.cycles), percent(row.gap or 0.0), f"{row.milliseconds:,.3f}", percent(saved))
    return *cells, seconds_text(row.seconds)


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print the tables to ``console``: readable at 80 columns and without colour."""
    from rich.text import Text

    title = comparison.source + (f" on {comparison.chip}" if comparison.chip else "")
    console.print(Text.assemble((title, "bold"), ": ", headline(comparison)), highlight=False)
    if comparison.packed:
        bound = f"proven bound {count(comparison.bound)} B"
        capacity = "" if comparison.capacity is None else f", capacity {count(comparison.capacity)} B"
        console.print(Text(bound + capacity), highlight=False)
        console.print(_packer_table(comparison))
        if cores_of(comparison):
            console.print(Text("External fragmentation of each core"), highlight=False)
            console.print(_core_table(comparison))
    if comparison.merged:
        if not comparison.packed:
            console.print(Text(f"proven bound {count(comparison.bound)} B"), highlight=False)
        console.print(_merger_table(comparison))
    if comparison.streamed:
        console.print(Text(f"Whole runs with packer {comparison.packer}"), highlight=False)
        console.print(_streamer_table(comparison))


def _packer_table(comparison: Comparison) -> Table:
    heads = ("packer", ">peak B", ">gap", ">fragmentation", ">time", "fits")
    return _table(
        heads, ((r.packer, *peak_cells(comparison, r), fit_text(comparison, r)) for r in comparison.ranked)
    )


def _merger_table(comparison: Comparison) -> Table:
    heads = ("merge", "packer", ">peak B", ">gap", "status", ">time", "fits")
    rows = (
        (r.merge, r.packer, *merge_cells(comparison, r), fit_text(comparison, r)) for r in comparison.merged
    )
    return _table(heads, rows)


def core_cells(row: Packed) -> list[str]:
    """The peak and the external fragmentation of each core."""
    return [
        "" if each.peak is None else f"{size(each.peak)}, {percent(each.fragmentation or 0.0)}"
        for each in row.cores
    ]


def cores_of(comparison: Comparison) -> int:
    """How many cores the packers were asked for; 0 for a chip with one."""
    return max((len(row.cores) for row in comparison.packed), default=0)


def _core_table(comparison: Comparison) -> Table:
    heads = ("packer", *(f">core {number}" for number in range(cores_of(comparison))))
    rows = [
        (r.packer, *(percent(c.fragmentation or 0.0) for c in r.cores)) for r in comparison.ranked if r.cores
    ]
    return _table(heads, rows)


def _streamer_table(comparison: Comparison) -> Table:
    heads = ("streamer", ">cycles", ">gap", ">ms", ">saved on sync", ">time", "fits")
    return _table(heads, ((r.streamer, *cycle_cells(r), run_fit_text(r)) for r in comparison.streamed))


def run_fit_text(row: Streamed) -> str:
    """Whether a run's plan fits, or why there is none."""
    return row.refused or ("yes" if row.fits else "no")


def _table(heads: Iterable[str], rows: Iterable[tuple[str, ...]]) -> Table:
    """Heads that begin with ``>`` are of numbers, set flush right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, head in enumerate(heads):
        right = head.startswith(">")
        table.add_column(
            head.lstrip(">"),
            justify="right" if right else "left",
            no_wrap=right or number == 0,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table
