"""The listings on the terminal: networks, planners, chips."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from chipmodel.chip.chip import Chip
from chipmodel.model.program import Program

if TYPE_CHECKING:
    from rich.table import Table


class Listed(Protocol):
    """What every named thing of a listing says about itself."""

    @property
    def name(self) -> str:
        """What the user types."""
        ...

    @property
    def title(self) -> str:
        """What it is, in a line."""
        ...

    @property
    def source(self) -> str:
        """Who published it."""
        ...


def print_networks(rows: Iterable[tuple[Listed, Program]]) -> None:
    """Built-in networks with the MACs and weights that their builders count."""
    table = _table("name", ">MACs", ">weights", "what and source")
    for network, program in rows:
        count = (f"{program.macs / 1e6:,.1f} M", f"{program.parameters / 1e3:,.1f} k")
        table.add_row(network.name, *count, f"{network.title}. {network.source}")
    _print(table)


def print_planners(packers: Sequence[Listed], mergers: Sequence[Listed], streamers: Sequence[Listed]) -> None:
    """Packers (--packer), mergers of arms (--merge) and streamers (--streamer)."""
    table = _table("option", "name", "what it does", "source")
    for option, planners in (("--packer", packers), ("--merge", mergers), ("--streamer", streamers)):
        for planner in planners:
            table.add_row(option, planner.name, planner.title, planner.source)
    _print(table)


def print_chips(chips: Iterable[Chip]) -> None:
    """Presets, one a line."""
    table = _table("name", ">Shared\nMemory", ">core\nMHz", ">Psram\nMHz", ">int8 MACs\na cycle", "what")
    for chip in chips:
        numbers = (chip.core_mhz, chip.psram.clock_mhz, chip.npu.macs_per_cycle[8])
        table.add_row(
            chip.name,
            f"{chip.shared_memory.bytes // 1024:,} KiB",
            *(f"{float(n):g}" for n in numbers),
            chip.title,
        )
    _print(table)


def print_chip(chip: Chip) -> None:
    """Every number of one chip, whether published, derived, assumed or given, and its source."""
    table = _table("field", ">value", "mark", "source", title=f"{chip.name}: {chip.title}")
    for path, figure in chip.figures.items():
        table.add_row(path, figure.value, figure.mark, figure.source)
    _print(table)


def print_calibration(
    chip: str, changes: Sequence[tuple[str, float, float]], before: Sequence[float], after: Sequence[float]
) -> None:
    """Each free constant before and after, and the relative errors of the rows."""
    table = _table("field", ">before", ">after", title=f"{chip}, fitted to {len(before)} rows")
    for path, old, new in changes:
        table.add_row(path, f"{old:,.10g}", f"{new:,.10g}" if new != old else "as it was")
    table.add_section()
    table.add_row("mean relative error", f"{_mean(before):.3%}", f"{_mean(after):.3%}")
    table.add_row("largest relative error", f"{max(before):.3%}", f"{max(after):.3%}")
    _print(table)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _table(*headings: str, title: str = "") -> Table:
    """Headings that begin with ``>`` are of numbers, set flush right."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for heading in headings:
        right = heading.startswith(">")
        table.add_column(
            heading.lstrip(">"),
            justify="right" if right else "left",
            no_wrap=right or heading in ("name", "field", "option", "mark"),
            overflow="fold",
        )
    return table


def _print(table: Table) -> None:
    from rich.console import Console

    # Titles and sources may be the user's own text: brackets and colons in it are no markup.
    Console(highlight=False, markup=False, emoji=False).print(table)
