"""Strips, profiles and curves as data and as SVG, the scale of gaps, and the choice of labels."""

from dataclasses import replace
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from chipmodel.answers.study_results import CYCLES, PEAK, StudyResults
from chipmodel.answers.study_row import Improved
from reports.study.chart import LINES, SeriesStyle, StudyChart, trace
from reports.study.figures import WIDTH, figure_svg
from reports.study.page import figures
from reports.study.scale import APART, gap_ticks, place
from reports.study.strips import MOST_MARKS, gap_strips, mark_text, over_time, profile, searching
from tests.reports.study_sample import EVIL, designs, many, merged, network, packing, small


def traces(chart: StudyChart) -> list[dict[str, Any]]:
    found: Any = chart.figure["data"]
    return list(found)


def strips(study: StudyResults) -> StudyChart:
    return gap_strips(study, PEAK, {row.key: k for k, row in enumerate(study.rows)})


def test_every_plan_is_a_mark_of_its_planners_strip() -> None:
    study = small()
    proven, others, _, medians = traces(strips(study))
    assert (proven["name"], others["name"]) == ("proven smallest", "not proven")
    assert (len(proven["x"]), len(others["x"])) == (4, 6)
    levels = {"exact": 2, "best-fit": 1, "naive": 0}
    for series in (proven, others):
        numbers: list[int] = series["customdata"]
        for x, y, number in zip(series["x"], series["y"], numbers, strict=True):
            row = study.rows[number]
            assert round(y) == levels[row.point.packer]
            assert x == round(place(PEAK.gap(row) or 0), 4)
    assert [round(x, 3) for x in medians["x"]] == [round(place(gap), 3) for gap in (1.5, 0.05, 0.0)]
    layout: Any = strips(study).figure["layout"]
    assert layout["yaxis"]["ticktext"] == ["naive", "best-fit", "exact"]


def test_the_tooltip_of_a_mark_has_units_and_names_as_they_are() -> None:
    study = small()
    row = next(r for r in study.rows if r.point.workload == EVIL and r.point.packer == "best-fit")
    text = mark_text(study, PEAK, row)
    assert text.startswith(f"{EVIL}\n")
    assert "peak 500 B" in text
    assert "bound 400 B, gap 25.0%" in text
    timed = designs()
    assert "cycles 60,000" in mark_text(timed, CYCLES, next(r for r in timed.rows if r.total_cycles == 60000))


@pytest.mark.parametrize("rows_of_a_case", [1, 5])
def test_marks_are_thinned_evenly_and_keep_the_largest_gap(rows_of_a_case: int) -> None:
    rows = [packing(f"w{k // rows_of_a_case}", "p", 1000 + k, 1000) for k in range(MOST_MARKS + 500)]
    study = StudyResults("large", tuple(replace(row, key=str(k)) for k, row in enumerate(rows)))
    chart = strips(study)
    drawn = traces(chart)[0]["x"]
    assert MOST_MARKS / 4 < len(drawn) <= MOST_MARKS
    assert max(drawn) == round(place((MOST_MARKS + 499) / 1000), 4)
    assert "One of every 2 marks is drawn." in chart.remark


def test_a_profile_by_hand() -> None:
    chart = profile(small(), PEAK)
    exact, best_fit, naive = traces(chart)
    assert exact["y"] == [1.0, 1.0]
    assert best_fit["x"] == [round(place(gap), 4) for gap in (0.0, 0.1, 2.0)]
    assert best_fit["y"] == [0.5, 1.0, 1.0]
    assert naive["y"] == [0.0, 0.5, 1.0]
    assert "50.0% of 2 cases within 0.0% of the bound" in best_fit["text"][0]


def test_of_nineteen_planners_the_first_have_distinct_lines() -> None:
    chart = profile(many(), PEAK)
    assert len(traces(chart)) == 19
    assert [mark.label for mark in chart.legend][-1] == "13 others"
    shapes = {(mark.dash, mark.symbol) for mark in chart.legend}
    assert len(shapes) == len(chart.legend) == len(LINES) + 1  # apart without colour too


def test_the_median_over_time_by_hand() -> None:
    assert [s.planner for s in searching(small())] == ["exact"]
    one = replace(packing("a", "p", 100, 100), seconds=9.0)
    rows = (
        replace(one, trajectory=(Improved(1.0, 200, 50), Improved(3.0, 100, 100))),
        replace(one, key="b", point=replace(one.point, workload="b"), trajectory=(Improved(2.0, 120, 90),)),
    )
    study = StudyResults("two", rows)
    (line,) = traces(over_time(study))
    # One plan of two is none at the median; then 100% and 20%, then 0% and 20%.
    assert line["x"] == [2.0, 3.0, 9.0]
    assert line["y"] == [round(place(gap), 4) for gap in (0.6, 0.1, 0.1)]
    assert "after 2.00 s, 2 points" in line["text"][0]


SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("study", [small(), designs(), many(60), merged()])
def test_every_chart_is_a_file_that_stands_alone(study: StudyResults) -> None:
    found = figures(study)
    assert found == figures(study)
    assert found
    for name, svg in found.items():
        assert name.endswith(".svg")
        assert set(name).isdisjoint('/\\:?* "')
        root = ElementTree.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert root.attrib["width"] == str(WIDTH)
        assert "href" not in svg


def test_names_of_the_charts() -> None:
    assert {*figures(small())} == {"peak-gaps.svg", "peak-profile.svg", "time.svg"}
    assert "latency-SharedMemory-zoo_one.svg" in figures(designs())


def test_axes_and_legend_have_their_words() -> None:
    found = figures(small())
    assert {"exact", "best-fit", "naive", "gap to the bound", "not proven"} <= {
        *texts(found["peak-gaps.svg"])
    }
    assert {"share of cases", "100%", "exact"} <= {*texts(found["peak-profile.svg"])}
    assert {"ms", "SharedMemory", "256 KiB", "Pareto front"} <= {
        *texts(figures(designs())["latency-SharedMemory-zoo_one.svg"])
    }


def test_a_name_is_no_markup() -> None:
    rows = tuple(network("n", cycles, streamer=name) for name, cycles in (("<b>&x", 2000), ("y", 1500)))
    assert "<b>&x" in texts(figures(StudyResults("s", rows))["cycles-gaps.svg"])


def test_marks_and_lines_are_where_the_values_are() -> None:
    """By hand: 640 wide and 154 high, so that the plot is 100 high; labels "a" of 6.4 leave 32 to the left,
    and 594 for the axis from 0 to 2. The line is broken where there is no value, and its steps are level."""
    line = {"color": "#123", "shape": "hv"}
    marker = {"color": "#456", "symbol": "circle-open", "size": 16}
    told = ["<a>\n1 B"] * 4
    drawn = trace("lines+markers", [0, 1, None, 2], [0, 1, None, 4], told, line=line, marker=marker)
    layout = {
        "xaxis": {"title": {"text": "x"}, "range": [0, 2], "tickvals": [1], "ticktext": ["one"]},
        "yaxis": {"range": [0, 4], "tickvals": [4], "ticktext": ["a"]},
    }
    chart = StudyChart({"data": [drawn], "layout": layout}, (), 154)
    svg = figure_svg(chart, (SeriesStyle("kind", "#456", symbol="square"),))
    root = ElementTree.fromstring(svg)
    assert [node.attrib["points"] for node in root.iter(f"{SVG}polyline")] == [
        "32.0,110.0 329.0,110.0 329.0,85.0",
        "626.0,10.0",
    ]
    marks = [node for node in root.iter(f"{SVG}path") if "transform" in node.attrib]
    assert [node.attrib["transform"] for node in marks[:3]] == [
        "translate(32.0 110.0) scale(2.0)",
        "translate(329.0 85.0) scale(2.0)",
        "translate(626.0 10.0) scale(2.0)",
    ]
    assert (marks[0].attrib["fill"], marks[3].attrib["fill"]) == ("none", "#456")
    assert texts(svg) == ["a", "one", "x", "kind"]
    assert [node.findtext(f"{SVG}title") for node in marks] == ["<a>\n1 B"] * 3 + [None]


def test_the_scale_begins_at_zero_and_ends() -> None:
    assert place(0) == 0
    assert place(0.01) == pytest.approx(0.30103)
    assert place(0.99) == pytest.approx(2.0)
    assert place(1e9) == place(1e12)


@given(st.floats(0, 900), st.floats(0, 900))
def test_it_keeps_the_order(one: float, two: float) -> None:
    assert (place(one) <= place(two)) or one > two


@given(st.floats(0, 100))
def test_labels_never_run_into_one_another_and_zero_is_one(most: float) -> None:
    ticks = gap_ticks(most)
    assert ticks.texts[0] == "0%"
    room = APART * place(max(most, 0.01))
    assert all(after - before >= room for before, after in pairwise(ticks.places))
    assert len(ticks.places) >= 2
