"""Whole networks on boards: what the presets predict by streamer ``vendor``, against published measurements.

For every row of ``chipmodel/measured/measured``: predicted and measured milliseconds and their ratio, as the
preset is and as a fit to all other families predicts it; then the mean error, the share of rows within 10 %,
the largest error. Rows that are not counted, with the reason, come last.

    python -m bench.silicon [--no-fit] [BOARD ...]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean

import chipmodel.measured
from chipmodel.errors import ChipmodelError
from chipmodel.hardware.chip_file import load_chip
from chipmodel.measured.compare import ComparedRow, MeasuredTable, compare, read_table
from chipmodel.measured.network_fit import fit, free_numbers
from chipmodel.measured.network_prediction import NETWORKS

MEASURED = Path(chipmodel.measured.__file__).parent / "tables"
OPEN = "-open"
"""What the names of tables of rows end in that are not counted."""


def main(argv: Sequence[str] | None = None) -> None:
    """Print all tables, or those of the boards named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("boards", nargs="*", help="names of tables, such as stm32n6")
    parser.add_argument("--no-fit", action="store_true", help="do not fit with families held out")
    asked = parser.parse_args(argv)
    every = sorted(path.stem for path in MEASURED.glob("*.csv") if not path.stem.endswith(OPEN))
    for board in asked.boards or every:
        print("\n".join(lines(board, not asked.no_fit)), flush=True)


def lines(board: str, fitted: bool) -> Iterator[str]:
    """The table of one board, the chip of that name."""
    table, chip = read(MEASURED / f"{board}.csv"), load_chip(board)
    rows = compare(table, chip).rows
    free = free_numbers(chip) if fitted else ()
    found = fit(table, chip, free) if free else None
    held = found.held_out.rows if found else ()
    yield f"## {board}\n\n| network | measured ms | predicted ms | ratio | held out |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for number, row in enumerate(rows):
        ratio = f"{1 + float(held[number].relative):.3f}" if held else "-"
        yield f"| {row.row.text('workload')} | {_cells(row)} | {ratio} |"
    yield f"\nAs the preset is: {errors(rows)}."
    if found:
        yield f"Fitted to all rows: {errors(found.after.rows)}."
        yield f"Families held out: {errors(held)}."
        moved = ", ".join(f"{c.path} {float(c.before):g} -> {float(c.after):g}" for c in found.changes)
        count = len(free_numbers(chip))
        yield f"{count} free number{'s' if count > 1 else ''} for {len(rows)} rows: {moved}."
    yield from open_lines(board)


def open_lines(board: str) -> Iterator[str]:
    """The rows that are not counted, each with the reason."""
    path = MEASURED / f"{board}{OPEN}.csv"
    if not path.exists():
        return
    yield "\nNot counted:\n\n| network | measured ms | predicted ms | ratio | why |"
    yield "| --- | ---: | ---: | ---: | --- |"
    table, chip = read(path), load_chip(board)
    for row in table.rows:
        one = MeasuredTable(table.file, table.kinds, (row,))
        why = row.text("why") if "why" in row.cells else ""
        try:
            (found,) = compare(one, chip).rows
            yield f"| {row.text('workload')} | {_cells(found)} | {why} |"
        except ChipmodelError as error:
            yield f"| {row.text('workload')} | {float(row.number('milliseconds')):g} | - | - | {error.what} |"


def read(path: Path) -> MeasuredTable:
    """The table in a file of networks."""
    return read_table(path.read_text(encoding="utf-8"), path.name, None, {NETWORKS.name: NETWORKS})


def errors(rows: Sequence[ComparedRow]) -> str:
    """The errors of rows in words."""
    found = [abs(float(row.relative)) for row in rows]
    within = sum(error <= 0.1 for error in found) / len(found)
    near = f"{within:.0%} of {len(found)} rows within 10 %"
    return f"mean error {fmean(found):.1%}, {near}, worst {max(found):.1%}"


def _cells(row: ComparedRow) -> str:
    return f"{float(row.measured):g} | {float(row.predicted):.2f} | {1 + float(row.relative):.3f}"


if __name__ == "__main__":
    main()
