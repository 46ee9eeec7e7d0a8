"""Lists on the terminal: networks, planners, chips."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from chipmodel.terminal.printing import console
from reports.terminal_table import ruled_table

if TYPE_CHECKING:
    from rich.table import Table

    from chipmodel.hardware.chip import Chip
    from chipmodel.model.program import Program


CHOSEN_BY: Mapping[str, str] = {
    "packer": "--packer",
    "merge": "--merge",
    "streamer": "--streamer",
    "npu_model": "npu.model",
    "importer": "suffix",
}
"""How the user chooses one of each kind: by an option, a field of a chip file, or the suffix of a file."""
UNBROKEN = ("name", "field", "chosen by", "origin")
"""Heads of columns that are never wrapped."""


class NamedEntry(Protocol):
    """A network or planner that a user names on the command line."""

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


def print_networks(rows: Iterable[tuple[NamedEntry, Program]]) -> None:
    """Print built-in networks with their MACs and weights (parameters)."""
    cells = (
        (
            network.name,
            f"{program.macs / 1e6:,.1f} M",
            f"{program.parameters / 1e3:,.1f} k",
            f"{network.title}. {network.source}",
        )
        for network, program in rows
    )
    _print(("name", ">MACs", ">weights", "description and source"), cells)


def network_document(rows: Iterable[tuple[NamedEntry, Program]]) -> dict[str, object]:
    """Built-in networks as JSON values: MACs of an inference, and the number of weights."""
    keys = ("name", "title", "source")
    return {
        "networks": [
            {key: getattr(network, key) for key in keys}
            | {"macs": program.macs, "parameters": program.parameters}
            for network, program in rows
        ]
    }


def print_planners(rows: Iterable[Mapping[str, str]]) -> None:
    """Print planners, NPU models and importers, of which each row has ``kind``, ``name``, ``title`` and
    ``source``."""
    cells = ((CHOSEN_BY[row["kind"]], row["name"], row["title"], row["source"]) for row in rows)
    _print(("chosen by", "name", "what it does", "source"), cells)


def print_chips(chips: Iterable[Chip]) -> None:
    """Print presets, one on each line."""
    cells = (
        (
            chip.name,
            f"{chip.shared_memory.bytes // 1024:,} KiB",
            f"{float(chip.core_mhz):g}",
            f"{float(chip.psram.clock_mhz):g}",
            f"{float(chip.npu.macs_per_cycle[8]):g}",
            f"{chip.title}; {chip.accuracy}",
        )
        for chip in chips
    )
    heads = ("name", ">Shared\nMemory", ">core\nMHz", ">Psram\nMHz", ">int8 MACs\nper cycle", "description")
    _print(heads, cells)


def chip_document(chip: Chip) -> dict[str, object]:
    """A chip as JSON values: every number with its origin and source."""
    figures = {
        path: {"value": figure.value, "origin": figure.mark, "source": figure.source}
        for path, figure in chip.figures.items()
    }
    return {"name": chip.name, "title": chip.title, "accuracy": chip.accuracy, "figures": figures}


def print_chip(chip: Chip) -> None:
    """Print every number of one chip: whether it is published, derived, assumed or given, and its source."""
    cells = ((path, figure.value, figure.mark, figure.source) for path, figure in chip.figures.items())
    title = f"{chip.name}: {chip.title}; {chip.accuracy}"
    _print(("field", ">value", "origin", "source"), cells, title)


def print_calibration(
    chip: str,
    changes: Sequence[tuple[str, float, float]],
    before: Sequence[float],
    after: Sequence[float],
    held_out: Sequence[float] = (),
) -> None:
    """Print each fitted constant, and the relative errors of the measured rows, before and after, and as
    predicted by fits that did not see their family."""
    table = ruled_table(
        ("field", ">before", ">after"),
        ((path, f"{old:,.10g}", f"{new:,.10g}" if new != old else "unchanged") for path, old, new in changes),
        f"{chip}, fitted to {len(before)} rows",
        UNBROKEN,
    )
    table.add_section()
    table.add_row("mean relative error", f"{_mean(before):.3%}", f"{_mean(after):.3%}")
    table.add_row("largest relative error", f"{max(before):.3%}", f"{max(after):.3%}")
    if held_out:
        table.add_row("mean, families held out", "", f"{_mean(held_out):.3%}")
        table.add_row("largest, families held out", "", f"{max(held_out):.3%}")
    _show(table)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _print(heads: Iterable[str], rows: Iterable[Iterable[str]], title: str = "") -> None:
    _show(ruled_table(heads, rows, title, UNBROKEN))


def _show(table: Table) -> None:
    console().print(table)
