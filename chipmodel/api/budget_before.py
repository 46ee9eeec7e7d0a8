"""What budgets came to before a change: the document of an earlier ``chipmodel ci --json``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from chipmodel.answers.budget import BudgetEntry
from chipmodel.errors import BadInput
from chipmodel.files.json_file import JsonValue, read_json
from chipmodel.files.text_file import read_text

HINT = "write it with: chipmodel ci BUDGET.yaml --json FILE"
Before = Mapping[tuple[str, str], float | None]
"""For each budget's name and each quantity, its value; None where there was no plan."""


def read_before(path: Path) -> Before:
    """The values of an earlier report. Raises BadInput."""
    root = read_json(read_text(path), str(path), HINT)
    return dict(pair for pairs in root.at("budgets").each(_values) for pair in pairs)


def _values(entry: JsonValue) -> tuple[tuple[tuple[str, str], float | None], ...]:
    name = entry.at("name").text()

    def value(line: JsonValue) -> tuple[tuple[str, str], float | None]:
        return (name, line.at("quantity").text()), line.at("value").optional(JsonValue.number)

    return entry.at("limits").each(value)


def compared(entries: Iterable[BudgetEntry], before: Before, growth: float) -> tuple[BudgetEntry, ...]:
    """``entries`` that also may not be more than a share ``growth`` above what they were ``before``. Raises
    BadInput where the growth is less than nothing."""
    if not growth >= 0:
        raise BadInput(f"growth is {growth:g}", hint="a share of what it was, such as 0.02")
    return tuple(
        replace(
            entry,
            lines=tuple(
                replace(line, before=before.get((line.entry, line.quantity)), growth=growth)
                for line in entry.lines
            ),
        )
        for entry in entries
    )
