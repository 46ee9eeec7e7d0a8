"""Predictions for a table of networks that comes without measurements, as CSV."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import TextIO

from bench.boards import load_board
from bench.published_names import (
    CORE_MODES,
    EXTERNAL,
    is_like,
    is_other_tool,
    preset_of,
    refuse_other_cores,
    settings_of,
    sizes_of,
    workload_of,
)
from chipmodel.errors import BadInput, ChipmodelError, Place
from chipmodel.files.csv_lines import CsvLine, csv_line, read_lines
from chipmodel.files.suggestions import shown
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import with_overrides
from chipmodel.hardware.measured_networks import APART, WIDEST, NetworkClass, classes
from chipmodel.measured.network_prediction import milliseconds, planned_program
from chipmodel.measured.track_record import float_types, track_record
from chipmodel.model.fit import used_weight_bytes
from chipmodel.model.program import Program
from workloads.load import load

FOUND = ("milliseconds", "low", "high", "class", "nearest", "notes")
"""The columns that are added to those of the table."""
CHIPS = ("chip", "board")
SHAPES = ("shape", "variant", "input_shape", "input")
NETWORKS = ("network", "workload")
SIZE_IN_NAME = re.compile(r"[^:/]*?(?<!\d)(\d{2,4}x\d{2,4})(?:[\s_-]|$)")
"""The size of images that a published name says; files have their own."""
SOFTWARE = ("network", "tool", "tool_version", "board")
"""Columns that say which software ran the network."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a board is predicted to take: milliseconds, their interval if one is known, and what is said."""

    milliseconds: float
    interval: tuple[float, float] | None = None
    kind: str = ""
    nearest: str = ""
    notes: tuple[str, ...] = ()
    preset: str = ""
    workload: str = ""

    @property
    def cells(self) -> Mapping[str, str]:
        """The columns that are added to a table."""
        ends = [f"{end:.4g}" for end in self.interval or ()] or ["", ""]
        texts = (f"{self.milliseconds:.4g}", *ends, self.kind, self.nearest, "; ".join(self.notes))
        return dict(zip(FOUND, texts, strict=True))


@dataclass(frozen=True, slots=True)
class NamedRow:
    """A row of a table, its cells by the names of their columns."""

    line: CsvLine
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> str:
        """The cell of a column, empty where the table does not have it."""
        return self.line.cells[self.names.index(name)] if name in self.names else ""

    def first(self, names: tuple[str, ...]) -> str:
        """The first cell of these columns that is not empty."""
        return next(iter(self.filled(names)), "")

    def filled(self, names: tuple[str, ...]) -> list[str]:
        """The cells of these columns that are not empty."""
        return [self[name] for name in names if self[name]]

    @contextmanager
    def at(self, names: tuple[str, ...]) -> Generator[None]:
        """Errors inside name the cell of the first of these columns that the table has."""
        try:
            yield
        except ChipmodelError as error:
            known = [name for name in names if self[name]] or [name for name in names if name in self.names]
            where = self.line.place(self.names.index(known[0])) if known else self.place
            raise BadInput(error.what, where=where, hint=error.hint) from None

    @property
    def place(self) -> Place:
        """Where the row begins."""
        return Place(self.line.file, self.line.number, 1)


def predict(text: str, file: str, answer: TextIO) -> None:
    """Write the rows of the CSV ``text`` with what the board is predicted to take, each by the schedule of
    its own tool. The table has ``chip`` and ``network`` (or ``workload``), and may have a shape of the input,
    options (``variant``) and settings of the chip (``set``). A row that cannot be predicted says where and
    why.

    Raises BadInput for a table without these columns, and for quotes that are not closed.
    """
    header, *lines = tuple(read_lines(text, file)) or (CsvLine(file, 1, "", ()),)
    for name, columns in {"chip": CHIPS, "network": NETWORKS}.items():
        if not set(columns) & {*header.cells}:
            what, where = f"the table has no column '{name}'", Place(file, header.number, 1)
            raise BadInput(what, where=where, hint="begin it with: chip,network,shape")
    print(csv_line((*header.cells, *FOUND)), file=answer)
    for line in lines:
        cells = (*line.cells, *[""] * len(header.cells))[: len(header.cells)]
        try:
            found = predicted(named(line, header.cells)).cells
        except ChipmodelError as error:
            found = {"notes": f"{error.where}: {'; '.join(filter(None, (error.what, error.hint)))}"}
        print(csv_line((*cells, *(found.get(name, "") for name in FOUND))), file=answer)


def named(line: CsvLine, names: tuple[str, ...]) -> NamedRow:
    """A line with the columns of the header. Raises BadInput for more or fewer cells than that has."""
    if len(line.cells) != len(names):
        what = f"the row has {len(line.cells)} cells, the header {len(names)}"
        where = line.place(min(len(names), len(line.cells) - 1))
        raise BadInput(what, where=where, hint="write one cell for each column")
    return NamedRow(line, names)


def predicted(row: NamedRow) -> Prediction:
    """What is predicted for a row. Raises ChipmodelError."""
    software = " ".join(row.filled(SOFTWARE))
    with row.at(CHIPS):
        chip, preset = _chip(row, software)
    with row.at(CORE_MODES):
        refuse_other_cores(row.first(CORE_MODES))
    with row.at(NETWORKS):
        workload = row.first(NETWORKS)
        if not workload:
            raise BadInput(
                "the row names no network", hint="write a built-in network, or the path of a model"
            )
        like = is_like(workload, software)
    with row.at(("precision",)):
        dtype = _dtype(row, preset)
    for name in SHAPES:
        with row.at((name,)):
            workload = workload_of(workload, row[name]) if row[name] else workload
    with row.at(NETWORKS):
        name = workload_of(workload)
        program = load(name, dtype=dtype)
    _refuse_other_input(program, row)
    with row.at(NETWORKS):
        if preset in EXTERNAL and chip.weights and used_weight_bytes(program) > chip.weights.memory.bytes:
            chip = with_overrides(chip, EXTERNAL[preset])
        return replace(_answer(program, chip, software, like), preset=preset, workload=name)


def _chip(row: NamedRow, software: str) -> tuple[Chip, str]:
    """The chip with the row's settings, and its preset."""
    if not (called := row.first(CHIPS)):
        raise BadInput("the row names no chip", hint="write a preset, or the path of a chip file")
    name, *settings = preset_of(called, software)
    cells = {column: row[column] for column in row.names}
    chip = load_board(name)
    asked = [*settings, *settings_of(name, cells), *row["set"].split()]
    # A value that the chip file has already is the one with which its networks were measured.
    return with_overrides(chip, [each for each in asked if not chip.has(each)]), name


def _answer(program: Program, chip: Chip, software: str, like: bool) -> Prediction:
    """What is predicted; of a network, tool or type that the tables are not about, in a class of its own."""
    network = planned_program(program, chip)
    time = float(milliseconds(chip, network.cycles))
    record = track_record(network.program, chip)
    if record is None:
        return Prediction(time, notes=(chip.accuracy,))
    notes, kind, known = list[str](), record.traits.kind, record.like is not None
    measured = record.like or _every(chip)
    low, high = measured.interval
    if like or float_types(program):
        usual = is_other_tool(software)
        what = "by the board's usual tool, " if usual else f"as {network.program.name}, which it is like, "
        notes.append(f"no error can be promised: predicted {what if like else ''}with twice the interval")
        known, kind = False, APART
    if not known:
        low, high = low**2, high**2
    if high > WIDEST * low and not measured.unknown:
        notes.append(f"its time is not known on this board: it may be {low:.2g} to {high:.2g} times as long")
    interval = None if high > WIDEST * low or measured.unknown else (time * low, time * high)
    near = record.nearest.workload.partition(" ")[0]
    return Prediction(time, interval, kind, near, (*notes, *record.warnings))


def _every(chip: Chip) -> NetworkClass:
    """All measured networks of a chip, for a network of a class that none of them has."""
    rows = [row for row in chip.measured if row.traits.kind != APART]
    return classes([replace(row, traits=replace(row.traits, kind="")) for row in rows])[""]


def _dtype(row: NamedRow, preset: str) -> str | None:
    """The type of tensors that a row says, None for the usual integers of 8 bits. Raises BadInput for
    another one: tables name no layers for it."""
    text = row["precision"].lower()
    if re.fullmatch(r"float(?:32)?|fp32|f32", text):
        return "float32"
    bits = r"a8\W*w\d\b.*" if preset == "gap9" else r"w8\W*a8"
    if re.fullmatch(rf"(?:(?:u|q)?int8|[isu]8|8\W?bits?|quantized|{bits})?", text):
        return None
    raise BadInput(
        f"the precision {shown(row['precision'])} is not known of {preset}", hint="write int8 or float32"
    )


def _refuse_other_input(program: Program, row: NamedRow) -> None:
    """Raise BadInput where the network that is predicted has another input than the row says."""
    first = program.tensors[program.inputs[0]] if program.inputs else None
    for name in (*NETWORKS, *SHAPES):
        said = SIZE_IN_NAME.match(row[name]) if name in NETWORKS else None
        shape = row[name] if name in SHAPES else said[1] if said else ""
        if not shape or "=" in shape or not first or len(sizes := sizes_of(shape)) < 2:
            continue
        given = first.shape[-2:] if len(sizes) == 2 else first.shape  # channels may be left out
        if prod(sizes) != prod(given):
            what = f"the network has an input of {' x '.join(map(str, first.shape))}, the row {shape}"
            with row.at((name,)):
                raise BadInput(what, hint="write its layers as YAML")
