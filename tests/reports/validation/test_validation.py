"""The model against measurements: chart, page and terminal."""

from typing import Any

from reports.table_page import render_tables
from reports.validation import WORST_ROWS, chart_of, inputs, page as validation_page
from tests.reports.console import printed as printed_page


def row(line: int, measured: float, predicted: float) -> dict[str, Any]:
    error = predicted - measured
    return {
        "line": line,
        "workload": f"zoo:net{line}",
        "measured": measured,
        "predicted": predicted,
        "error": error,
        "relative_error": error / measured if measured else None,
    }


def test_an_exact_prediction_lies_on_the_diagonal_and_one_11_percent_off_outside_of_the_band() -> None:
    chart = chart_of({"predicted": [row(2, 3, 3), row(3, 40, 40 * 1.11)]})
    band, diagonal, marks = chart.traces
    assert diagonal["x"] == diagonal["y"]
    assert [x == y for x, y in zip(marks["x"], marks["y"], strict=True)] == [True, False]
    assert {round(y / x, 9) for x, y in zip(band["x"], band["y"], strict=True)} == {1.1, 0.9}
    assert marks["hovertext"][0] == "line 2, zoo:net2: predicted 3, measured 3 (+0.0%)"
    assert chart.layout["xaxis"]["range"] == chart.layout["yaxis"]["range"]


def test_rows_of_0_have_no_place_and_no_rows_no_chart() -> None:
    chart = chart_of({"predicted": [row(2, 0, 3), row(3, 5, 4)]})
    assert chart.traces[-1]["x"] == [5]
    assert not chart_of({"predicted": [row(2, 0, 3)]}).traces


def answer(*rows: dict[str, Any]) -> dict[str, Any]:
    errors = [abs(each["relative_error"]) for each in rows]
    part = {
        "rows": len(rows),
        "exact": 0,
        "max_abs_error": 1,
        "max_relative_error": max(errors),
        "mean_relative_error": sum(errors) / len(errors),
    }
    return {
        "table": "board <1>.csv",
        "kind": "networks",
        "chip": "toy",
        "measured_column": "milliseconds",
        "notes": [],
        "rows": list(rows),
        "summary": part | {"small": part},
    }


def test_a_validation_has_a_mark_and_a_row_for_each_network() -> None:
    page = render_tables(
        validation_page({"predicted": answer(row(2, 10, 9.5), row(3, 20, 26))}, "a board, 9 rows")
    )
    assert "Accuracy: a board, 9 rows." in page
    assert "board &lt;1&gt;.csv" in page
    assert "<td>zoo:net3</td>" in page
    assert "Fitted numbers" not in page


def test_a_fit_has_its_numbers_and_the_errors_held_out() -> None:
    before, after = answer(row(2, 10, 5)), answer(row(2, 10, 9.9))
    named = {"before": before, "fitted": after, "families held out": answer(row(2, 10, 9))}
    page = render_tables(validation_page(named, changes=[("npu.launch_cycles", 1.0, 9640.0)]))
    assert "Fitted numbers" in page
    assert "9,640" in page
    for text in ("-50.0%", "-1.0%", "-10.0%", "families held out"):
        assert text in page


def burst(line: int, measured: float, predicted: float) -> dict[str, Any]:
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
    return printed_page(validation_page({"predicted": answer}))


def test_names_from_the_user_are_no_markup() -> None:
    text = printed([burst(2, 100, 100)], part(1, 0.0))
    assert "[b]mine[/b].csv against some-chip: 1 rows of kind some_kind, cycles." in text
    assert "':smile:'" in text


def test_the_worst_rows_come_first() -> None:
    rows = [burst(2, 100, 100), *(burst(n, 100, 100 + n) for n in range(3, 30))]
    text = printed(rows, part(28, 0.3)).partition("Rows, the worst first")[2]
    lines = [line.split()[0] for line in text.splitlines() if line.split() and line.split()[0].isdigit()]
    assert lines == [str(n) for n in range(29, 29 - WORST_ROWS, -1)] + ["18"]
    assert inputs(rows[0]) == ["bytes"]
