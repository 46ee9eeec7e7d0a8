"""The model against measurements: tables, and a scatter chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log10
from typing import Any

from reports.chart import NO_CHART, REST, STYLES, Chart, log_axis, series
from reports.page_parts import PageChart, PageTable, TablePage

Values = Mapping[str, Any]

WORST_ROWS = 10
"""Rows on the terminal."""
SUMMARY_KEYS = ("rows", "exact", "max_abs_error", "max_relative_error", "mean_relative_error")
COMPUTED_KEYS = ("line", "measured", "predicted", "error", "relative_error")


def inputs(row: Values) -> list[str]:
    """The columns that describe a row's experiment, without measurements and predictions."""
    return [
        key
        for key in row
        if key not in COMPUTED_KEYS and not _predicted(key) and f"predicted_{key}" not in row
    ]


def _predicted(key: str) -> bool:
    return key.startswith("predicted_")


def summary_rows(summary: Values) -> list[tuple[str, ...]]:
    """A row for the whole table and one for each group: name, rows, exact ones, and the errors."""
    parts = {"all": summary} | {name: part for name, part in summary.items() if name not in SUMMARY_KEYS}
    return [_summary_cells(name, part) for name, part in parts.items()]


def _summary_cells(name: str, part: Values) -> tuple[str, ...]:
    rows, exact, largest, *shares = (part[key] for key in SUMMARY_KEYS)
    return name.replace("_", " "), f"{rows:,}", f"{exact:,}", _cycles(largest), *map(_percent, shares)


def _others(rows: Sequence[Values]) -> list[str]:
    """A line for each measured column of the table but the main one."""
    names = [key for key in rows[0] if f"predicted_{key}" in rows[0]] if rows else []
    lines: list[str] = []
    for name in names:
        errors = [abs(row[f"predicted_{name}"] - row[name]) for row in rows]
        exact = sum(not error for error in errors)
        lines.append(f"{name}: {exact:,} of {len(errors):,} exact, max error {_cycles(max(errors))}")
    return lines


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


FieldChange = tuple[str, float, float]
"""A fitted field of the chip, before and after."""


def page(
    documents: Mapping[str, Values], accuracy: str = "", changes: Sequence[FieldChange] = ()
) -> TablePage:
    """The rows of one table by the name of what predicts them, such as ``predicted``, or ``before``,
    ``fitted`` and ``families held out``; the last one has the summary. ``documents`` are those of
    ``chipmodel.measured.compare.document``; ``accuracy`` is what the chip was compared with."""
    answer = list(documents.values())[-1]
    rows, names = {name: each["rows"] for name, each in documents.items()}, list(documents)
    measured = answer["measured_column"]
    chart = PageChart(
        "scatter",
        "Predicted against measured",
        f"On the line a prediction is exact; in the band it is within {NEAR:.0%}. Both axes are logarithmic, "
        f"in {measured}. Point at a mark for its row.",
        chart_of(rows),
    )
    described = inputs(answer["rows"][0]) if answer["rows"] else []
    of_last = [f"Of the predictions under “{names[-1]}”."] if len(names) > 1 else []
    tables = (
        PageTable(
            "fields",
            "Fitted numbers",
            ("field", ">before", ">fitted"),
            [
                (path, f"{old:,.10g}", f"{new:,.10g}" if new != old else "unchanged")
                for path, old, new in changes
            ],
            unbroken=("field",),
        ),
        PageTable(
            "errors",
            "Relative errors",
            ("predictions", ">mean", ">largest"),
            [(name, *_errors(each)) for name, each in rows.items() if each and len(names) > 1],
        ),
        PageTable(
            "summary",
            "Errors by group",
            ("group", ">rows", ">exact", ">max error", ">max relative", ">mean relative"),
            summary_rows(answer["summary"]),
            remark="\n".join([*of_last, *_others(answer["rows"])]),
        ),
        PageTable(
            "rows",
            "Rows, the worst first",
            (">line", ">measured", *(head for name in names for head in (f">{name}", ">error")), *described),
            _rows(documents),
            most=WORST_ROWS,
        ),
    )
    sentences = (f"{len(answer['rows']):,} rows of kind {answer['kind']}, {measured}.",)
    told = (
        *((f"Accuracy: {accuracy}.",) if accuracy else ()),
        *(f"Note: {each}." for each in answer["notes"]),
    )
    on, command = f"against {answer['chip']}", "calibrate" if changes else "validate"
    return TablePage(command, answer["table"], on, sentences + told, tables, (chart,))


def _errors(rows: Sequence[Values]) -> tuple[str, str]:
    errors = [abs(float(row["relative_error"])) for row in rows]
    return f"{sum(errors) / len(errors):.3%}", f"{max(errors):.3%}"


def _rows(documents: Mapping[str, Values]) -> list[list[str]]:
    """Line, measured, predicted and error of each name, and what describes the experiment; those first whose
    last prediction is furthest off."""
    answers = list(documents.values())
    rows: list[list[str]] = []
    together = zip(*(answer["rows"] for answer in answers), strict=True)
    for each in sorted(together, key=lambda each: -abs(float(each[-1]["relative_error"] or 0.0))):
        first = each[0]
        predicted = [text for row in each for text in (value_text(row["predicted"]), error_text(row))]
        described = [value_text(first[name]) for name in inputs(first)]
        rows.append([f"{first['line']:,}", value_text(first["measured"]), *predicted, *described])
    return rows


NEAR = 0.1
"""The relative error within which the band is drawn."""
MARGIN = 1.25
"""The factor by which the axes reach beyond the smallest and the largest value."""


def chart_of(predictions: Mapping[str, Sequence[Values]]) -> Chart:
    """The rows of each name; those that were measured or predicted at 0 have no place on logarithmic axes.
    Nothing is drawn without any row."""
    shown = {name: [row for row in rows if _positive(row)] for name, rows in predictions.items()}
    values = [float(row[key]) for rows in shown.values() for row in rows for key in ("measured", "predicted")]
    if not values:
        return NO_CHART
    ends = min(values) / MARGIN, max(values) * MARGIN
    band = [(end, end * (1 + NEAR)) for end in ends] + [(end, end * (1 - NEAR)) for end in reversed(ends)]
    shade = {"fill": "toself", "fillcolor": "rgba(138,145,154,0.18)", "line": {"width": 0}}
    traces = [
        series("", "lines", band, (), REST, **shade),
        series("", "lines", [(end, end) for end in ends], (), REST, line={"width": 1}),
        *_marks(shown),
    ]
    span = {"range": [log10(end) for end in ends]}
    axes = {"xaxis": log_axis("measured") | span, "yaxis": log_axis("predicted") | span}
    return Chart(traces, {**axes, "showlegend": len(shown) > 1}, 600)


def _positive(row: Values) -> bool:
    return min(float(row["measured"]), float(row["predicted"])) > 0


def _marks(shown: Mapping[str, Sequence[Values]]) -> Iterable[dict[str, Any]]:
    """A trace for each name; the last, which the summary is of, has the first style."""
    for style, (name, rows) in zip(STYLES, reversed([*shown.items()]), strict=False):
        points = [(row["measured"], row["predicted"]) for row in rows]
        yield series(name, "markers", points, [_title(name, row) for row in rows], style)


def _title(name: str, row: Values) -> str:
    described = value_text(next((row[key] for key in inputs(row)), ""))
    numbers = f"{name} {value_text(row['predicted'])}, measured {value_text(row['measured'])}"
    return f"line {row['line']}, {described}: {numbers} ({error_text(row)})"


def value_text(value: object) -> str:
    """A number with six digits, or a text."""
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)


def error_text(row: Values) -> str:
    """The relative error, with its sign."""
    return f"{float(row['relative_error']):+.1%}"
