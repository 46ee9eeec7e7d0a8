"""The model against every table of figures that others made, as the documentation's accuracy table.

Protocol: each table of tests/data/hardware (origin in tests/data/README.md) is compared row by row with
the model of its default chip, as ``chipmodel validate TABLE.csv`` does; nothing is fitted here.

    python bench/accuracy.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chipmodel.measured.compare import chip_for, compare, document, read_table

TABLES = Path(__file__).parent.parent / "tests" / "data" / "hardware"


@dataclass(frozen=True, slots=True)
class TableAccuracy:
    """How near the model of ``chip`` comes to the rows of a table. ``largest`` is in cycles."""

    table: str
    chip: str
    rows: int
    exact: int
    largest: float
    largest_relative: float
    mean_relative: float


def accuracies() -> Iterator[TableAccuracy]:
    """Of each table, by name."""
    for path in sorted(TABLES.glob("*.csv")):
        table = read_table(path.read_text(), str(path))
        answer: dict[str, Any] = document(compare(table, chip_for(table)))
        summary = answer["summary"]
        yield TableAccuracy(
            table=path.stem,
            chip=answer["chip"],
            rows=summary["rows"],
            exact=summary["exact"],
            largest=summary["max_abs_error"],
            largest_relative=summary["max_relative_error"],
            mean_relative=summary["mean_relative_error"],
        )


def rows() -> list[str]:
    """One Markdown row a table."""
    lines = ["| table | chip | rows | exact | largest error | largest relative | mean relative |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for accuracy in accuracies():
        lines.append(
            f"| {accuracy.table} | {accuracy.chip} | {accuracy.rows} | {accuracy.exact} "
            f"| {accuracy.largest:g} | {accuracy.largest_relative:.2%} | {accuracy.mean_relative:.3%} |"
        )
    return lines


if __name__ == "__main__":
    print("\n".join(rows()))
