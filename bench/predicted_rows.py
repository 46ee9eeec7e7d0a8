"""Predictions for a table of networks that comes without measurements, as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from math import prod
from typing import TextIO

from bench.published_names import EXTERNAL, OTHERS, is_like, preset_of, settings_of, sizes_of, workload_of
from chipmodel.errors import BadInput, ChipmodelError
from chipmodel.hardware.chip_file import load_chip, with_overrides
from chipmodel.measured.network_prediction import milliseconds, planned_program
from chipmodel.measured.track_record import track_record
from chipmodel.model.fit import used_weight_bytes
from chipmodel.model.program import Program
from workloads.load import load

FOUND = ("milliseconds", "low", "high", "class", "nearest", "notes")
"""The columns that are added to those of the table."""
SHAPES = ("shape", "variant", "input_shape")


def predict(table: TextIO, answer: TextIO) -> None:
    """Write the rows of ``table`` with what the board is predicted to take, each by the schedule of its own
    tool. The table has ``chip`` and ``network`` (or ``workload``), and may have a shape of the input, options
    (``variant``) and settings of the chip (``set``)."""
    read = csv.DictReader(table)
    missing = {"chip": ("chip",), "network": ("network", "workload")}
    for name, columns in missing.items():
        if not set(columns) & {*(read.fieldnames or ())}:
            raise BadInput(f"the table has no column '{name}'", hint="begin it with: chip,network,shape")
    writer = csv.DictWriter(
        answer, [*(read.fieldnames or ()), *FOUND], lineterminator="\n", extrasaction="ignore"
    )
    writer.writeheader()
    for row in read:
        try:
            writer.writerow({**row, **_predicted(row)})
        except ChipmodelError as error:
            writer.writerow({**row, "notes": "; ".join(filter(None, (error.what, error.hint)))})


def _predicted(row: Mapping[str, str]) -> dict[str, object]:
    """The found columns of a row. Raises ChipmodelError."""
    workload = row.get("network") or row.get("workload") or ""
    tool = " ".join(row.get(each) or "" for each in ("tool", "tool_version", "board") if row.get(each))
    name, *settings = preset_of(row["chip"] or "", tool)
    chip = load_chip(name, [*settings, *settings_of(name, row), *(row.get("set") or "").split()])
    like = is_like(workload, tool)
    if not workload:
        raise BadInput("the row names no network", hint="write a built-in network, or the path of a model")
    for shape in _shapes(row):
        workload = workload_of(workload, shape)
    program = load(workload_of(workload), dtype=_dtype(row))
    if name in EXTERNAL and chip.weights and used_weight_bytes(program) > chip.weights.memory.bytes:
        chip = with_overrides(chip, EXTERNAL[name])
    network = planned_program(program, chip)
    time = float(milliseconds(chip, network.cycles))
    record = track_record(network.program, chip)
    if record is None:
        return {"milliseconds": f"{time:.4g}", "class": "", "notes": chip.accuracy}
    interval = record.interval(time)
    if interval and like:
        interval = interval[0] ** 2 / time, interval[1] ** 2 / time
    low, high = (f"{each:.4g}" for each in interval) if interval else ("", "")
    what = (
        "by the board's usual tool" if OTHERS.search(tool) else f"as {network.program.name}, which it is like"
    )
    notes = [f"predicted {what}: twice the interval"] if like else []
    return {
        "milliseconds": f"{time:.4g}",
        "low": low,
        "high": high,
        "class": record.traits.kind,
        "nearest": record.nearest.workload.partition(" ")[0],
        "notes": "; ".join((*notes, *_other_input(network.program, row), *record.warnings)),
    }


def _dtype(row: Mapping[str, str]) -> str | None:
    return "float32" if (row.get("precision") or "").lower().startswith("float") else None


def _other_input(program: Program, row: Mapping[str, str]) -> Iterator[str]:
    """Whether the network that is predicted has another input than the row says."""
    first = program.tensors[program.inputs[0]] if program.inputs else None
    for shape in _shapes(row):
        if (
            "=" not in shape
            and first
            and len(sizes := sizes_of(shape)) > 1
            and prod(sizes) != prod(first.shape)
        ):
            yield f"predicted with an input of {' x '.join(map(str, first.shape))}"


def _shapes(row: Mapping[str, str]) -> Iterator[str]:
    return (row[name] for name in SHAPES if row.get(name))
