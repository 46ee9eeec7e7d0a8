"""Lists of what there is: networks, planners, chips."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from chipmodel.hardware.measured_networks import mean_error
from reports.page_parts import PageTable, TablePage

if TYPE_CHECKING:
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


def networks_page(rows: Iterable[tuple[NamedEntry, Program]]) -> TablePage:
    """Return built-in networks with their MACs and weights (parameters)."""
    cells = [
        (
            network.name,
            f"{program.macs / 1e6:,.1f} M",
            f"{program.parameters / 1e3:,.1f} k",
            f"{network.title}. {network.source}",
        )
        for network, program in rows
    ]
    return _page("zoo", "Built-in networks", ("name", ">MACs", ">weights", "description and source"), cells)


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


def planners_page(rows: Iterable[Mapping[str, str]]) -> TablePage:
    """Return planners, NPU models and importers by ``kind``, ``name``, ``title`` and ``source``."""
    cells = [(CHOSEN_BY[row["kind"]], row["name"], row["title"], row["source"]) for row in rows]
    return _page("planners", "Planners", ("chosen by", "name", "what it does", "source"), cells)


def chips_page(chips: Iterable[Chip]) -> TablePage:
    """Return presets, one in each row, with the mean error over all networks measured on the board."""
    cells = [
        (
            chip.name,
            f"{chip.shared_memory.bytes // 1024:,} KiB",
            f"{float(chip.core_mhz):g}",
            f"{float(chip.npu.macs_per_cycle[8]):g}",
            f"{mean_error(chip.measured):.1%}" if chip.measured else "",
            chip.title if chip.measured else f"{chip.title}; {chip.accuracy}",
        )
        for chip in chips
    ]
    heads = ("name", ">Shared\nMemory", ">core\nMHz", ">MACs a\ncycle", ">mean\nerror", "description")
    return _page("chips", "Chips", heads, cells)


def chip_document(chip: Chip) -> dict[str, object]:
    """A chip as JSON values: every number with its origin and source."""
    figures = {
        path: {"value": figure.value, "origin": figure.mark, "source": figure.source}
        for path, figure in chip.figures.items()
    }
    return {"name": chip.name, "title": chip.title, "accuracy": chip.accuracy, "figures": figures}


def chip_page(chip: Chip) -> TablePage:
    """Return every number of one chip: whether it is published, derived, assumed or given, and its source."""
    cells = [(path, figure.value, figure.mark, figure.source) for path, figure in chip.figures.items()]
    sentence = f"{chip.title}; {chip.accuracy}"
    return _page("chips", chip.name, ("field", ">value", "origin", "source"), cells, sentence)


def _page(
    command: str, name: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]], *sentences: str
) -> TablePage:
    table = PageTable("list", f"All {len(rows):,}", heads, rows, unbroken=UNBROKEN)
    return TablePage(command, name, "", sentences, (table,))
