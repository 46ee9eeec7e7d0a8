"""Measured cycles of ops, from a CSV file, in place of the chip model's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from chipmodel.errors import BadInput, Place
from chipmodel.files.csv_table import CsvColumn, read_csv
from chipmodel.files.suggestions import suggest
from chipmodel.files.text_file import read_text
from chipmodel.model.program import Op, Program, with_ops

CYCLES = CsvColumn("cycles", least=0, most=10**15)


def read_profile(path: Path) -> dict[str, tuple[int, Place]]:
    """Cycles by op, each with its place in the file, from a CSV file with the columns ``op`` and ``cycles``.

    Other columns are ignored. Raises BadInput for cycles that are no whole number, and for a repeated op.
    """
    table = read_csv(read_text(path), str(path))
    table.need(("op", CYCLES.name))
    given: dict[str, tuple[int, Place]] = {}
    for row in table.rows:
        name = row.text("op")
        if name in given:
            what = f"op {name!r} is given twice, first on line {given[name][1].line}"
            row.refuse("op", what, "remove one of the two lines")
        given[name] = row.whole(CYCLES), row.place()
    return given


def with_profile(program: Program, profile: Mapping[str, tuple[int, Place]]) -> Program:
    """``program`` with the profile's cycles. Raises BadInput for an op that it does not have."""
    known = [op.name for op in program.ops()]
    for name, (_, place) in profile.items():
        if name not in known:
            what = f"the workload has no op {name!r}"
            raise BadInput(what, where=place, hint=suggest(name, known, "ops are"))
    return replace(program, body=with_ops(program.body, lambda op: _with_cycles(op, profile)))


def _with_cycles(op: Op, profile: Mapping[str, tuple[int, Place]]) -> Op:
    return replace(op, cycles=profile[op.name][0]) if op.name in profile else op
