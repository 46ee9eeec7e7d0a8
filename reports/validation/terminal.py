"""The model against measurements, for the terminal: summary and worst rows, at 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reports.terminal_table import print_line, ruled_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Values = Mapping[str, Any]

WORST_ROWS = 10
"""Rows that the terminal shows."""
SUMMARY_KEYS = ("rows", "exact", "max_abs_error", "max_relative_error", "mean_relative_error")
COMPUTED_KEYS = ("line", "measured", "predicted", "error", "relative_error")


def print_validation(answer: Values, console: Console) -> None:
    """Print the document of ``chipmodel validate`` to ``console``, its rows cut to the worst ones.

    ``answer`` has ``table``, ``kind``, ``chip``, ``measured_column``, ``notes``, ``rows`` and ``summary``,
    as in the JSON.
    """
    what = f": {answer['measured_column']} of {answer['table']}, {answer['chip']}"
    print_line(console, (str(answer["kind"]), "bold"), what)
    for note in answer["notes"]:
        print_line(console, f"note: {note}")
    console.print(_summary(answer["summary"]))
    for line in _others(answer["rows"]):
        print_line(console, line)
    wrong = worst(answer["rows"])
    if wrong:
        print_line(console, f"Worst rows ({', '.join(inputs(wrong[0]))}):")
        console.print(_rows(wrong))


def worst(rows: Sequence[Values]) -> list[Values]:
    """The at most ``WORST_ROWS`` rows that are wrong, those with the largest relative error first."""
    wrong = sorted(
        (row for row in rows if row["error"]), key=lambda r: (-abs(r["relative_error"]), r["line"])
    )
    return wrong[:WORST_ROWS]


def inputs(row: Values) -> list[str]:
    """The columns that describe a row's experiment, without measurements and predictions."""
    return [
        key
        for key in row
        if key not in COMPUTED_KEYS and not _predicted(key) and f"predicted_{key}" not in row
    ]


def _predicted(key: str) -> bool:
    return key.startswith("predicted_")


def _summary(summary: Values) -> Table:
    heads = ("", ">rows", ">exact", ">max error", ">max relative", ">mean relative")
    return ruled_table(heads, summary_rows(summary))


def summary_rows(summary: Values) -> list[tuple[str, ...]]:
    """A row for the whole table and one for each group: name, rows, exact ones, and the errors."""
    parts = {"all": summary} | {name: part for name, part in summary.items() if name not in SUMMARY_KEYS}
    return [_summary_cells(name, part) for name, part in parts.items()]


def _summary_cells(name: str, part: Values) -> tuple[str, ...]:
    rows, exact, largest, *shares = (part[key] for key in SUMMARY_KEYS)
    return name.replace("_", " "), f"{rows:,}", f"{exact:,}", _cycles(largest), *map(_percent, shares)


def _others(rows: Sequence[Values]) -> list[str]:
    """A line for each measured column of the table but the main one."""
    names = [key for key in rows[0] if f"predicted_{key}" in rows[0]]
    lines: list[str] = []
    for name in names:
        errors = [abs(row[f"predicted_{name}"] - row[name]) for row in rows]
        exact = sum(not error for error in errors)
        lines.append(f"{name}: {exact:,} of {len(errors):,} exact, max error {_cycles(max(errors))}")
    return lines


def _rows(rows: Sequence[Values]) -> Table:
    cells = (
        (
            str(row["line"]),
            ", ".join(_short(row[name]) for name in inputs(row)),
            *(_cycles(row[name]) for name in ("measured", "predicted", "error")),
            _percent(row["relative_error"]),
        )
        for row in rows
    )
    return ruled_table((">line", "row", ">measured", ">predicted", ">error", ">relative"), cells)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cycles(value: float | None) -> str:
    """Whole cycles, or two decimals where there is a fraction."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _percent(share: float | None) -> str:
    """Two decimals, or how many times from 100 times on; what is not 0 is never printed as 0.00%."""
    if share is None:
        return "-"
    if 0 < abs(share) < 0.00005:
        return "<0.01%" if share > 0 else ">-0.01%"
    return f"{share:.2%}" if abs(share) < 100 else f"{share:,.0f}x" if abs(share) < 1e9 else f"{share:.1e}x"
