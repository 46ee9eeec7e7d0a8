from __future__ import annotations

from typing import Any

from reports.figures import Chart, memory_map, timeline
from tests.reports.sample import EVIL, large, sample


def traces(chart: Chart) -> list[dict[str, Any]]:
    data: Any = chart.figure["data"]
    return list(data)


def test_one_trace_per_kind_and_one_bar_per_event() -> None:
    chart = timeline(sample())
    assert [t["name"] for t in traces(chart)] == [c.label for c in chart.legend]
    assert sum(len(t["x"]) for t in traces(chart)) == chart.marks == len(sample().trace.events)
    assert chart.remark == ""


def test_bars_are_the_events() -> None:
    result = sample()
    compute = next(t for t in traces(timeline(result)) if t["name"] == "compute")
    spans = [(e.start, e.cycles) for e in result.trace.of("npu") if not e.cause]
    assert list(zip(compute["base"], compute["x"], strict=True)) == spans


def test_waits_are_hatched_in_the_colour_of_what_they_wait_for() -> None:
    by_name = {t["name"]: t["marker"] for t in traces(timeline(sample()))}
    assert by_name["waits for weights"]["pattern"]["fgcolor"] == by_name["load weights"]["color"]
    assert by_name["waits for an input"]["pattern"]["fgcolor"] == by_name["load tensor"]["color"]
    assert "pattern" not in by_name["compute"]


def test_too_many_events_are_merged_and_it_is_said() -> None:
    chart = timeline(large(100), most=50)
    assert chart.marks <= 50
    assert "events are drawn as" in chart.remark


def test_names_are_escaped_for_plotly_which_reads_html() -> None:
    text = str(timeline(sample()).figure) + str(memory_map(sample()).figure)
    assert EVIL not in text
    assert "dw&lt;script&gt;" in text


def test_boxes_lie_at_their_addresses() -> None:
    boxes: dict[str, tuple[float, float]] = {}
    for trace in traces(memory_map(sample())):
        if trace["type"] == "bar":
            boxes |= {
                c[0]: (y, w) for c, y, w in zip(trace["customdata"], trace["y"], trace["width"], strict=True)
            }
    assert boxes["relu.stripe"] == (16.0, 32.0)
    assert boxes["w.even"] == (44 + 5, 10.0)


def test_a_low_plan_is_not_squashed_under_the_capacity() -> None:
    chart = memory_map(large(10))
    assert [c.label for c in chart.legend] == ["tensors", "weights", "bytes alive"]
    assert "lies above the chart" in chart.remark
    assert "capacity 64.0 KiB" in [c.label for c in memory_map(sample()).legend]


def test_too_many_trips_become_one_box_per_buffer() -> None:
    chart = memory_map(sample(), most=5)
    assert "one box from its first to its last use" in chart.remark
    assert chart.marks == len(sample().problem.buffers)
