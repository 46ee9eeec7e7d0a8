"""The columns of a study's rows: those of the tables that it is exported to, and of its page."""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.answers.study_row import Row
from chipmodel.files.csv_table import Cell

_OF_POINT = (
    *("workload", "chip", "packer", "merge", "streamer", "cascade", "buffers", "seed", "time_limit"),
    "node_limit",
)
_ANSWERED = (
    *("status", "peak_bytes", "peak_lower_bound_bytes", "merger_lower_bound_bytes", "capacity_bytes"),
    *("psram_bytes", "psram_capacity_bytes", "total_cycles", "lower_bound_cycles", "bound_space"),
    *("sync_cycles", "npu_busy_cycles", "dma_busy_cycles", "milliseconds", "microjoules"),
    *("peak_gap", "merger_gap", "packer_gap", "cycle_gap", "problem"),
)
_STAGES = ("seconds", "schedule_seconds", "packer_seconds", "bound_seconds", "simulation_seconds")
_IDENTITY = ("error", "workload_digest", "chip_digest", "key")
TIMES = (*_STAGES, "code", "origin", "answered")
"""What differs from run to run."""


def settings_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The columns of what was asked, with the study's own columns of its designs."""
    swept = sorted({field for row in rows for field, _ in row.point.overrides})
    own = dict.fromkeys(name for row in rows for name, _ in row.costs)
    return (*_OF_POINT[:2], *swept, *own, *_OF_POINT[2:])


def columns_of(rows: Sequence[Row], times: bool = True) -> tuple[str, ...]:
    """The names of the columns; with ``times``, those that differ from run to run as well."""
    return (*settings_of(rows), *_ANSWERED, *_IDENTITY, *(TIMES if times else ()))


def cell_of(row: Row, name: str) -> Cell:
    """What a row has in the column ``name``; None for nothing, and an empty text."""
    if name == "error":
        value: Cell = row.error.partition("\nTraceback")[0]
    elif name in _OF_POINT:
        value = getattr(row.point, name)
    elif name in (*_ANSWERED, *_IDENTITY, *TIMES):
        value = getattr(row, name)
    else:
        own: dict[str, Cell] = {**dict(row.point.overrides), **dict(row.costs)}
        value = own.get(name)
    return None if value == "" else value
