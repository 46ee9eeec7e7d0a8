"""Strips and profiles as figures and as files, the scale of gaps, and the choice of labels."""

import sys
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chipmodel.answers.study_results import CYCLES, PEAK, StudyResults
from chipmodel.errors import BadInput
from reports.chart import Chart
from reports.pictures import picture_files
from reports.study.page import charts_of
from reports.study.scale import APART, gap_ticks, place
from reports.study.strips import MOST_MARKS, gap_strips, mark_text, profile
from tests.reports.study_sample import EVIL, designs, packing, small


def traces(chart: Chart) -> list[dict[str, Any]]:
    return chart.traces


def strips(study: StudyResults) -> Chart:
    return gap_strips(study, PEAK, {row.key: k for k, row in enumerate(study.rows)})


def test_every_plan_is_a_mark_of_its_planners_strip() -> None:
    study = small()
    proven, others, _, medians = traces(strips(study))
    assert (proven["name"], others["name"]) == ("at the bound", "above the bound")
    assert (len(proven["x"]), len(others["x"])) == (4, 6)
    levels = {"exact": 2, "best-fit": 1, "naive": 0}
    for series in (proven, others):
        numbers: list[int] = series["customdata"]
        for x, y, number in zip(series["x"], series["y"], numbers, strict=True):
            row = study.rows[number]
            assert round(y) == levels[row.point.packer]
            assert x == round(place(PEAK.gap(row) or 0), 4)
    assert [round(x, 3) for x in medians["x"]] == [round(place(gap), 3) for gap in (1.5, 0.05, 0.0)]
    assert strips(study).layout["yaxis"]["ticktext"] == ["naive", "best-fit", "exact"]


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
    assert "50.0% of 2 cases within 0.0% of the bound" in best_fit["hovertext"][0]


def test_without_kaleido_a_hint_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(BadInput, match="not installed") as refused:
        picture_files(charts_of(small()))
    assert "chipmodel[figures]" in (refused.value.hint or "")


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
    assert ticks[0] == "0%"
    room = APART * place(max(most, 0.01)) - 1e-4
    assert all(after - before >= room for before, after in pairwise(ticks))
    assert len(ticks) >= 2
