from __future__ import annotations

from typing import Any

from reports.run.cascade_lanes import cascade_lanes
from reports.run.chrome_trace import chrome_trace
from reports.run.figures import CASCADE_ROW, timeline
from reports.run.memory_map import memory_map
from reports.run.page import render_page
from reports.run.roofline import points
from reports.run.totals import run_totals
from tests.reports.cascade_sample import INSIDE, NAME, cascaded
from tests.reports.run.test_figures import traces


def test_a_lane_for_each_op_and_a_bar_for_each_step() -> None:
    [(run, chart)] = cascade_lanes(cascaded(3))
    [compute] = [trace for trace in traces(chart) if trace["name"] == "compute"]
    assert run.name == NAME
    assert [compute["y"].count(name) for name in INSIDE] == [8, 8, 4]
    by_label = {data[0]: data[1] for data in compute["customdata"]}
    assert (
        by_label["second [2/8]"]
        == "<br>makes rows 4 to 7 of 32 of second<br>reads rows 3 to 8 of 32 of first"
    )


def test_the_timeline_has_a_row_with_a_bar_for_each_run() -> None:
    chart = timeline(cascaded(3))
    assert [t["name"] for t in traces(chart)] == [c.label for c in chart.legend]
    bar = traces(chart)[-1]
    assert bar["text"] == [NAME] * 3
    assert set(bar["y"]) == {CASCADE_ROW}
    assert bar["customdata"][0][5] == "<br>first, second, third"
    steps = next(t for t in traces(chart) if t["name"] == "compute")
    assert set(steps["text"]) == {"", "mean", "head"}


def test_the_memory_map_shows_rolling_buffers_and_the_rows_in_them() -> None:
    result = cascaded()
    chart = memory_map(result)
    by_name = {trace["name"]: trace for trace in traces(chart)}
    assert [c.label for c in chart.legend] == [
        *[t["name"] for t in traces(chart)][:-1],
        next(c.label for c in chart.legend if c.key == "capacity"),
    ]
    assert "pattern" in by_name["rolling buffers"]["marker"]
    held = by_name["rows in them"]
    assert held["customdata"][2][:5] == ["4 to 6", 32, "first", "first [2/8]", "0 to 7"]
    bottom = held["y"][0] - held["width"][0] / 2
    assert bottom * 1024 == result.solved.plan.offsets["first rows"]


def test_a_cascade_is_one_point_of_the_roofline() -> None:
    result = cascaded()
    found = {point.op.name: point.op for point in points(result, run_totals(result))}
    assert NAME in found
    assert not set(INSIDE) & set(found)
    sums = [op for op in run_totals(result).ops if op.name in INSIDE]
    assert found[NAME].loaded_bytes == sum(op.loaded_bytes for op in sums)
    assert found[NAME].macs == sum(op.macs for op in sums)


def test_the_page_and_the_trace_file_name_the_cascade() -> None:
    page = render_page(cascaded(3))
    assert f"<summary>{NAME}</summary>" in page
    assert 'id="cascade-1"' in page
    assert 'id="cascades-title"' not in render_page(cascaded(cascade="off"))
    events: Any = chrome_trace(cascaded(3))["traceEvents"]
    assert [e["name"] for e in events if e.get("cat") == "cascade"] == [NAME] * 3
