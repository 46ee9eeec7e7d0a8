"""The model against every table of figures that others made, as the documentation's accuracy table.

Protocol: each table of tests/data/hardware (origin in tests/data/README.md) is compared row by row with
the model of its default chip, as ``chipmodel validate TABLE.csv`` does; nothing is fitted here.

    python bench/accuracy.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dma.validation.compare import chip_for, compare, document, read_table

TABLES = Path(__file__).parent.parent / "tests" / "data" / "hardware"


def rows() -> list[str]:
    """One Markdown row a table."""
    lines = ["| table | chip | rows | exact | largest error | largest relative | mean relative |"]
    lines.append("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for path in sorted(TABLES.glob("*.csv")):
        table = read_table(path.read_text(), str(path))
        answer: dict[str, Any] = document(compare(table, chip_for(table)))
        summary = answer["summary"]
        lines.append(
            f"| {path.stem} | {answer['chip']} | {summary['rows']} | {summary['exact']} "
            f"| {summary['max_abs_error']:g} | {summary['max_relative_error']:.2%} "
            f"| {summary['mean_relative_error']:.3%} |"
        )
    return lines


if __name__ == "__main__":
    print("\n".join(rows()))
