"""The model against measurements, on the terminal."""

from typing import Any

from reports.validation import WORST_ROWS, inputs, page, worst
from tests.reports.console import printed as printed_page


def row(line: int, measured: float, predicted: float) -> dict[str, Any]:
    error = predicted - measured
    return {
        "line": line,
        "bytes": 64,
        "bursts": 2,
        "measured": measured,
        "predicted": predicted,
        "error": error,
        "relative_error": error / measured,
        "predicted_bursts": 3,
        "predicted_beats": 8,
    }


def part(rows: int, share: float | None) -> dict[str, Any]:
    largest = None if share is None else 7
    names = ("rows", "exact", "max_abs_error", "max_relative_error", "mean_relative_error")
    return dict(zip(names, (rows, 0, largest, share, share), strict=True))


def printed(rows: list[dict[str, Any]], summary: dict[str, Any]) -> str:
    answer = {
        "table": "[b]mine[/b].csv",
        "kind": "some_kind",
        "chip": "some-chip",
        "measured_column": "cycles",
        "notes": ["column ':smile:' is not used"],
        "rows": rows,
        "summary": summary,
    }
    return printed_page(page({"predicted": answer}))


def test_names_from_the_user_are_no_markup() -> None:
    text = printed([row(2, 100, 100)], part(1, 0.0))
    assert "[b]mine[/b].csv against some-chip: 1 rows of kind some_kind, cycles." in text
    assert "':smile:'" in text


def test_subsets_and_further_columns_have_their_own_lines() -> None:
    text = printed([row(2, 100, 100)], part(1, 0.25) | {"below_1KiB": part(0, None)})
    lines = [line.split() for line in text.splitlines()]
    assert ["all", "1", "0", "7", "25.00%", "25.00%"] in lines
    assert ["below", "1KiB", "0", "0", "-", "-", "-"] in lines
    assert "bursts: 0 of 1 exact, max error 1" in text
    assert "beats" not in text


def test_only_wrong_rows_are_listed_the_worst_first() -> None:
    rows = [row(2, 100, 100), *(row(n, 100, 100 + n) for n in range(3, 30))]
    assert [r["line"] for r in worst(rows)] == list(range(29, 29 - WORST_ROWS, -1))
    assert "Worst rows" not in printed(rows[:1], part(1, 0.0))
    assert inputs(rows[0]) == ["bytes"]
