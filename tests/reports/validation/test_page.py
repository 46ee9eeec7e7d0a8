from typing import Any

from reports.table_page import render_tables
from reports.validation import page as page_of
from tests.reports.validation.test_chart import row


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
    page = render_tables(page_of({"predicted": answer(row(2, 10, 9.5), row(3, 20, 26))}, "a board, 9 rows"))
    assert page.count("<circle") == 2 * 2  # for wide and narrow screens
    assert "1 of 2 rows within 10%, worst 30.0%" in page
    assert "Accuracy: a board, 9 rows." in page
    assert "board &lt;1&gt;.csv" in page
    assert "<td>zoo:net3</td>" in page
    assert "Fitted numbers" not in page


def test_a_fit_has_its_numbers_and_the_errors_held_out() -> None:
    before, after = answer(row(2, 10, 5)), answer(row(2, 10, 9.9))
    named = {"before": before, "fitted": after, "families held out": answer(row(2, 10, 9))}
    page = render_tables(page_of(named, changes=[("npu.launch_cycles", 1.0, 9640.0)]))
    assert "Fitted numbers" in page
    assert "9,640" in page
    for text in ("-50.0%", "-1.0%", "-10.0%", "families held out"):
        assert text in page
