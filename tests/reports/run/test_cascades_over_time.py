from typing import Any

from reports.run.chrome_trace import chrome_trace
from reports.run.figures import CASCADE_ROW, timeline
from reports.run.memory_map import memory_map
from reports.run.page import render_page
from tests.reports.cascade_sample import NAME, cascaded
from tests.reports.run.test_figures import traces


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


def test_the_page_and_the_trace_file_name_the_cascade() -> None:
    page = render_page(cascaded(3))
    assert f"<summary>{NAME}</summary>" in page
    assert 'id="cascades-title"' not in render_page(cascaded(cascade="off"))
    events: Any = chrome_trace(cascaded(3))["traceEvents"]
    assert [e["name"] for e in events if e.get("cat") == "cascade"] == [NAME] * 3
