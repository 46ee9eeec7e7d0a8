from __future__ import annotations

from typing import Any

import pytest

from reports.plot_area import PlotArea
from reports.validation.chart import ScatterChart, charts, error_text, value_text


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


CHART = ScatterChart(PlotArea("wide", 640, 600), (1.0, 100.0))


def test_both_axes_are_logarithmic_and_alike() -> None:
    left, right, top, bottom = CHART.area.edges
    assert (CHART.x(1), CHART.x(10), CHART.x(100)) == (left, (left + right) / 2, right)
    assert (CHART.y(1), CHART.y(10), CHART.y(100)) == (bottom, (top + bottom) / 2, top)


def test_values_beyond_the_axes_stay_on_the_chart() -> None:
    assert (CHART.x(0.5), CHART.y(500)) == (CHART.area.edges[0], CHART.area.edges[2])


def test_ticks_are_ones_twos_and_fives_or_powers_of_ten() -> None:
    assert [label for *_, label in CHART.ticks()] == ["1", "2", "5", "10", "20", "50", "100"]
    assert [label for *_, label in ScatterChart(PlotArea("wide", 640, 600), (0.5, 2000.0)).ticks()] == [
        "1",
        "10",
        "100",
        "1,000",
    ]


def test_an_exact_prediction_lies_on_the_diagonal_and_one_11_percent_off_outside_of_the_band() -> None:
    (wide, ((series),)), _ = charts({"predicted": [row(2, 3, 3), row(3, 40, 40 * 1.11)]})
    exact, off = series.marks
    (x0, y0), (x1, y1) = (map(float, point.split(",")) for point in wide.diagonal().split())
    assert (exact.x - x0) / (x1 - x0) == pytest.approx((exact.y - y0) / (y1 - y0), abs=0.002)
    edge = wide.y(40 * 1.1)
    assert off.y < edge < wide.y(40)
    assert exact.title == "line 2, zoo:net2: predicted 3, measured 3 (+0.0%)"


def test_rows_of_0_have_no_place_and_no_rows_no_chart() -> None:
    (_, (series,)), _ = charts({"predicted": [row(2, 0, 3), row(3, 5, 4)]})
    assert len(series.marks) == 1
    assert charts({"predicted": [row(2, 0, 3)]}) == []


def test_each_name_has_a_look_of_its_own() -> None:
    rows = [row(2, 3, 3)]
    (_, series), _ = charts({"before": rows, "fitted": rows, "families held out": rows})
    assert [each.kind for each in series] == ["alone", "hollow", "plain"]


def test_texts() -> None:
    assert value_text(1234.56789) == "1,234.57"
    assert value_text("zoo:resnet8") == "zoo:resnet8"
    assert error_text(row(2, 10, 9)) == "-10.0%"
