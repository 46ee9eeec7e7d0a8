"""The comparison of the model with measurements, for the terminal: summary and worst rows, 80 columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Values = Mapping[str, Any]

WORST_ROWS = 10
SUMMARY = ("rows", "exact", "max_abs_error", "max_relative_error", "mean_relative_error")
COMPUTED = ("line", "measured", "predicted", "error", "relative_error")


def print_comparison(answer: Values, console: Console) -> None:
    """Print the document of ``chipmodel validate`` to ``console``, its rows cut to the worst ones.

    ``answer`` has ``table``, ``kind``, ``chip``, ``measured_column``, ``notes``, ``rows`` and ``summary``,
    as in the JSON.
    """
    from rich.text import Text

    title = Text.assemble(
        (str(answer["kind"]), "bold"), f": {answer['measured_column']} of {answer['table']}, {answer['chip']}"
    )
    console.print(title, highlight=False)
    for note in answer["notes"]:
        console.print(Text(f"note: {note}"), highlight=False)
    console.print(_summary(answer["summary"]))
    for line in _others(answer["rows"]):
        console.print(Text(line), highlight=False)
    wrong = worst(answer["rows"])
    if wrong:
        console.print(Text(f"Worst rows ({', '.join(inputs(wrong[0]))}):"), highlight=False)
        console.print(_rows(wrong))


def worst(rows: Sequence[Values]) -> list[Values]:
    """The rows that are wrong, those with the largest relative error first, and not too many."""
    wrong = sorted(
        (row for row in rows if row["error"]), key=lambda r: (-abs(r["relative_error"]), r["line"])
    )
    return wrong[:WORST_ROWS]


def inputs(row: Values) -> list[str]:
    """The columns that describe a row, without what was measured or predicted."""
    return [
        key for key in row if key not in COMPUTED and not _predicted(key) and f"predicted_{key}" not in row
    ]


def _predicted(key: str) -> bool:
    return key.startswith("predicted_")


def _summary(summary: Values) -> Table:
    table = _table("", ">rows", ">exact", ">max error", ">max relative", ">mean relative")
    parts = {"all": summary} | {name: part for name, part in summary.items() if name not in SUMMARY}
    for name, part in parts.items():
        rows, exact, largest, *shares = (part[key] for key in SUMMARY)
        table.add_row(
            name.replace("_", " "), f"{rows:,}", f"{exact:,}", _cycles(largest), *map(_percent, shares)
        )
    return table


def _others(rows: Sequence[Values]) -> list[str]:
    """A line for each further measured column of the table."""
    names = [key for key in rows[0] if f"predicted_{key}" in rows[0]]
    lines: list[str] = []
    for name in names:
        errors = [abs(row[f"predicted_{name}"] - row[name]) for row in rows]
        exact = sum(not error for error in errors)
        lines.append(f"{name}: {exact:,} of {len(errors):,} exact, max error {_cycles(max(errors))}")
    return lines


def _rows(rows: Sequence[Values]) -> Table:
    table = _table(">line", "row", ">measured", ">predicted", ">error", ">relative")
    for row in rows:
        table.add_row(
            str(row["line"]),
            ", ".join(_short(row[name]) for name in inputs(row)),
            _cycles(row["measured"]),
            _cycles(row["predicted"]),
            _cycles(row["error"]),
            _percent(row["relative_error"]),
        )
    return table


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


def _table(*headings: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        right = heading.startswith(">")
        table.add_column(
            heading.lstrip(">"), justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    return table
