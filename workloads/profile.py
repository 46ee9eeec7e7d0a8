"""Measured cycles of ops, from a CSV file, in place of the chip model's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from chipmodel.errors import BadInput, Place
from chipmodel.files.csv_lines import read_lines
from chipmodel.files.suggestions import suggest
from chipmodel.files.text_file import read_text
from chipmodel.model.program import Op, Program, with_ops

COLUMNS = ("op", "cycles")


def read_profile(path: Path) -> dict[str, tuple[int, Place]]:
    """Cycles by op, each with its place in the file, from a CSV file with the columns ``op`` and ``cycles``.

    Other columns are ignored. Raises BadInput for cycles that are no whole number, and for a repeated op.
    """
    lines = read_lines(read_text(path), str(path))
    header = next(lines, None)
    heading = header.cells if header else ()
    missing = [column for column in COLUMNS if column not in heading]
    if missing:
        what = f"the profile has no column {' and '.join(map(repr, missing))}"
        raise BadInput(what, where=Place(str(path), 1, 1), hint="begin it with the line: op,cycles")
    given: dict[str, tuple[int, Place]] = {}
    for line in lines:
        row = dict(zip(heading, line.cells, strict=False))
        place = Place(str(path), line.number, 1)
        if not any(row.values()):
            continue
        name, cycles = row.get("op", ""), row.get("cycles", "")
        if not (cycles.isascii() and cycles.isdigit() and len(cycles) < 16):
            what = f"op {name!r} has the cycles {cycles!r}"
            raise BadInput(what, where=place, hint="write a whole number of NPU cycles")
        if name in given:
            what = f"op {name!r} is given twice, first on line {given[name][1].line}"
            raise BadInput(what, where=place, hint="remove one of the two lines")
        given[name] = int(cycles), place
    return given


def with_profile(program: Program, profile: Mapping[str, tuple[int, Place]]) -> Program:
    """``program`` with the profile's cycles. Raises BadInput for an op that it does not have."""
    known = [op.name for op in program.ops()]
    for name, (_, place) in profile.items():
        if name not in known:
            raise BadInput(
                f"the workload has no op {name!r}", where=place, hint=suggest(name, known, "ops are")
            )
    return replace(program, body=with_ops(program.body, lambda op: _with_cycles(op, profile)))


def _with_cycles(op: Op, profile: Mapping[str, tuple[int, Place]]) -> Op:
    return replace(op, cycles=profile[op.name][0]) if op.name in profile else op
