from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from reports.run.figures import RunChart
from reports.run.totals import run_totals
from reports.run.waterfall import waterfall
from tests.reports.run.test_cores import result as two_cores
from tests.reports.run.test_figures import traces
from tests.reports.sample import sample


def bars(chart: RunChart) -> list[dict[str, Any]]:
    return [trace for trace in traces(chart) if trace["type"] == "bar"]


@pytest.mark.parametrize("result", [sample(), sample(path="quiet"), two_cores()])
def test_bars_lie_end_to_end_and_end_at_the_run(result: Any) -> None:
    shown = bars(waterfall(result, run_totals(result)))
    at = 0.0
    for bar in shown[:-1]:
        assert bar["base"] == [pytest.approx(at)]
        at += bar["x"][0]
    assert at == pytest.approx(result.trace.cycles)
    assert (shown[-1]["base"], shown[-1]["x"]) == ([0], [result.trace.cycles])


def test_it_begins_with_computing_and_sorts_the_waits() -> None:
    result, sums = sample(), run_totals(sample())
    shown = bars(waterfall(result, sums))
    assert shown[0]["name"] == "compute"
    assert shown[0]["x"] == [sums.compute_cycles]
    waits = [bar["x"][0] for bar in shown[1:-1]]
    assert waits == sorted(waits, reverse=True)
    assert sum(waits) == sum(sums.stalls.values())


def test_the_bound_is_a_mark_at_its_cycles_on_the_bar_of_the_run() -> None:
    result = sample()
    (line,) = [trace for trace in traces(waterfall(result, run_totals(result))) if trace["type"] == "scatter"]
    assert (line["x"], line["y"]) == ([result.lower_bound_cycles], ["whole run"])
    assert f"{result.lower_bound_cycles:,} cycles" in line["hovertemplate"]
    assert "6,789 cycles more than that bound" in waterfall(result, run_totals(result)).remark


def test_a_clock_changes_times_and_no_cycles() -> None:
    slow = replace(sample(), chip=replace(sample().chip, core_mhz=sample().chip.core_mhz / 2))
    a, b = (bars(waterfall(r, run_totals(r))) for r in (sample(), slow))
    assert [bar["x"] for bar in a] == [bar["x"] for bar in b]
    assert [bar["text"] for bar in a] != [bar["text"] for bar in b]
