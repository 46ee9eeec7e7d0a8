"""Strips, profiles and curves over time as data."""

from dataclasses import replace
from typing import Any

import pytest

from chipmodel.answers.study_results import CYCLES, PEAK, StudyResults
from chipmodel.answers.study_row import Improved
from reports.study.chart import LINES, StudyChart
from reports.study.scale import place
from reports.study.strips import MOST_MARKS, gap_strips, mark_text, over_time, profile, searching
from tests.reports.study_sample import EVIL, designs, many, packing, small


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
    for trace in (proven, others):
        numbers: list[int] = trace["customdata"]
        for x, y, number in zip(trace["x"], trace["y"], numbers, strict=True):
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
