"""The model against measurements as one self-contained HTML file without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reports.page_parts import SummaryTile
from reports.template import PLAIN, render
from reports.validation.chart import NEAR, charts, error_text, value_text
from reports.validation.terminal import inputs, summary_rows
from reports.words import percent

Values = Mapping[str, Any]
FieldChange = tuple[str, float, float]
"""A fitted field of the chip, before and after."""


def render_validation(
    documents: Mapping[str, Values], accuracy: str = "", changes: Sequence[FieldChange] = ()
) -> str:
    """The page as text: the rows of one table by the name of what predicts them, such as ``predicted``, or
    ``before``, ``fitted`` and ``families held out``; the last one has the summary. ``documents`` are those of
    ``chipmodel.measured.compare.document``; ``accuracy`` is what the chip was compared with."""
    answer = list(documents.values())[-1]
    rows = {name: each["rows"] for name, each in documents.items()}
    return render(
        "validation.html.j2",
        {
            "answer": answer,
            "accuracy": accuracy,
            "names": list(documents),
            "tiles": [tile for name in documents for tile in _tiles(name, rows[name])],
            "charts": charts(rows),
            "near": f"{NEAR:.0%}",
            "changes": [(path, f"{old:,.10g}", f"{new:,.10g}") for path, old, new in changes],
            "summary": summary_rows(answer["summary"]),
            "inputs": inputs(answer["rows"][0]) if answer["rows"] else [],
            "rows": _rows(documents),
        },
        PLAIN,
    )


def _tiles(name: str, rows: Sequence[Values]) -> list[SummaryTile]:
    errors = [abs(float(row["relative_error"])) for row in rows]
    if not errors:
        return []
    near = sum(error <= NEAR for error in errors)
    mean, worst = sum(errors) / len(errors), max(errors)
    detail = f"{near:,} of {len(errors):,} rows within {NEAR:.0%}, worst {percent(worst)}"
    return [SummaryTile(f"Mean error, {name}", percent(mean), detail)]


def _rows(documents: Mapping[str, Values]) -> list[list[str]]:
    """Line, measured, predicted and error of each name, and what describes the experiment."""
    answers = list(documents.values())
    found: list[list[str]] = []
    for each in zip(*(answer["rows"] for answer in answers), strict=True):
        first = each[0]
        predicted = [text for row in each for text in (value_text(row["predicted"]), error_text(row))]
        described = [value_text(first[name]) for name in inputs(first)]
        found.append([f"{first['line']:,}", value_text(first["measured"]), *predicted, *described])
    return found
