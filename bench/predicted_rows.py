"""Predictions for a table of networks that comes without measurements, as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from typing import TextIO

from bench.published_names import preset_of, workload_of
from chipmodel.errors import ChipmodelError
from chipmodel.hardware.chip_file import load_chip
from chipmodel.measured.network_prediction import milliseconds, planned_network
from chipmodel.measured.track_record import track_record

FOUND = ("milliseconds", "low", "high", "class", "nearest", "notes")
"""The columns that are added to those of the table."""
SHAPES = ("shape", "variant", "input_shape")


def predict(table: TextIO, answer: TextIO) -> None:
    """Write the rows of ``table`` with what the board is predicted to take, each by the schedule of its own
    tool. The table has ``chip`` and ``network`` (or ``workload``), and may have a shape of the input, options
    (``variant``) and settings of the chip (``set``)."""
    read = csv.DictReader(table)
    writer = csv.DictWriter(
        answer, [*(read.fieldnames or ()), *FOUND], lineterminator="\n", extrasaction="ignore"
    )
    writer.writeheader()
    for row in read:
        try:
            writer.writerow({**row, **_predicted(row)})
        except ChipmodelError as error:
            writer.writerow({**row, "notes": error.what})


def _predicted(row: Mapping[str, str]) -> dict[str, object]:
    """The found columns of a row. Raises ChipmodelError."""
    chip = load_chip(preset_of(row["chip"]), (row.get("set") or "").split())
    workload = row.get("network") or row.get("workload") or ""
    for shape in _shapes(row):
        workload = workload_of(workload, shape)
    network = planned_network(workload_of(workload), chip)
    time = float(milliseconds(chip, network.cycles))
    record = track_record(network.program, chip)
    if record is None:
        return {"milliseconds": f"{time:.4g}", "class": "", "notes": chip.accuracy}
    interval = record.interval(time)
    low, high = (f"{each:.4g}" for each in interval) if interval else ("", "")
    return {
        "milliseconds": f"{time:.4g}",
        "low": low,
        "high": high,
        "class": record.traits.kind,
        "nearest": record.nearest.workload.partition(" ")[0],
        "notes": "; ".join(record.warnings),
    }


def _shapes(row: Mapping[str, str]) -> Iterator[str]:
    return (row[name] for name in SHAPES if row.get(name))
