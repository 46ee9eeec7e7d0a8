from typing import Any

from reports.run.figures import RunChart, timeline
from tests.reports.sample import large, sample


def traces(chart: RunChart) -> list[dict[str, Any]]:
    data: Any = chart.figure["data"]
    return list(data)


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


def test_needs_are_the_marks_of_other_bars() -> None:
    chart = timeline(sample())
    listed = traces(chart)

    def name(trace: int, point: int) -> str:
        return str(listed[trace]["customdata"][point][0])

    assert [len(points) for points in chart.needs] == [len(t["x"]) for t in listed]
    found: dict[str, set[str]] = {}
    for data, flat in zip(listed[0]["customdata"], chart.needs[0], strict=True):
        needed = {name(a, b) for a, b in zip(flat[::2], flat[1::2], strict=True)}
        assert set(data[5].removeprefix("<br>depends on ").split(", ")) - {""} == needed
        found[data[0]] = needed
    assert listed[0]["name"] == "compute"
    assert found["stem"] == {"load stem", "load audio"}
    assert found["refine.b"] == {"refine.a", "load refine.b"}


def test_merged_bars_have_no_dependencies() -> None:
    chart = timeline(large(100), most=50)
    for trace, points in zip(traces(chart), chart.needs, strict=True):
        for data, flat in zip(trace["customdata"], points, strict=True):
            assert not (flat and " events, the first" in data[0])
