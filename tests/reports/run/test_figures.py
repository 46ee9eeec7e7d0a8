"""Figures of a run over time: bars, rates, cascades, memory map, and the page's charts of them."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.answers.result import UNITS, Result
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.trace import Event, Trace
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.run.bars import Bar, bars_of, category
from reports.run.charts import charts_data, of_merging, over_time
from reports.run.chrome_trace import rates
from reports.run.figures import CASCADE_ROW, timeline
from reports.run.memory_map import memory_map
from tests.reports.cascade_sample import NAME, cascaded
from tests.reports.pages import marks, told, traces
from tests.reports.run.test_merging import result as merged
from tests.reports.sample import large, sample
from workloads.load import load


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
        return told(listed[trace])[point][0]

    assert [len(points) for points in chart.needs] == [len(t["x"]) for t in listed]
    found: dict[str, set[str]] = {}
    for data, flat in zip(told(listed[0]), chart.needs[0], strict=True):
        needed = {name(a, b) for a, b in zip(flat[::2], flat[1::2], strict=True)}
        assert {each for line in data[4:] for each in line.removeprefix("depends on ").split(", ")} == needed
        found[data[0]] = needed
    assert listed[0]["name"] == "compute"
    assert found["stem"] == {"load stem", "load audio"}
    assert found["refine.b"] == {"refine.a", "load refine.b"}


def test_charts_over_time_are_linked_and_the_others_are_not() -> None:
    timed = over_time(sample(), 1000)
    assert [s.id for s in timed] == ["timeline", "memory"]
    others = of_merging(merged())
    assert [s.id for s in others] == ["merging-before", "merging-after"]
    data: Any = charts_data(timed, others, {op.name: n for n, op in enumerate(sample().program.ops())})
    assert data["linked"] == [s.id for s in timed]
    assert list(data["charts"]) == [s.id for s in (*timed, *others)]
    assert list(data["needs"]) == ["timeline"]


CHAIN = large(300)


def sums(shown: tuple[Bar, ...]) -> Counter[tuple[str, str, str]]:
    totals: Counter[tuple[str, str, str]] = Counter()
    for bar in shown:
        kind = bar.event.unit, category(bar.event)
        totals[*kind, "cycles"] += len(bar.span)
        totals[*kind, "bytes"] += bar.bytes
        totals[*kind, "events"] += bar.events
    return totals


def assert_tiles_the_run(result: Result, shown: tuple[Bar, ...]) -> None:
    for unit in UNITS:
        clock = 0
        for bar in (b for b in shown if b.event.unit == unit):
            assert bar.span.start == clock
            clock = bar.span.stop
        assert clock == result.trace.cycles


@settings(max_examples=25, deadline=None)
@given(most=st.integers(12, 1000))
def test_merged_bars_keep_every_sum_and_never_overlap(most: int) -> None:
    merged = bars_of(CHAIN, most)
    assert len(merged) <= most
    assert sums(merged) == sums(bars_of(CHAIN, len(CHAIN.trace.events)))
    assert_tiles_the_run(CHAIN, merged)


def _trace(*moves: Event) -> Trace:
    return Trace(moves, 100, {}, channels=2)


def _move(channel: int, start: int, stop: int, size: int) -> Event:
    return Event("dma", start, stop, "", "t", "op", "load weights", size, channel=channel)


def test_two_channels_at_once_add_up() -> None:
    result = replace(
        sample(), trace=_trace(_move(0, 0, 50, 100), _move(1, 25, 75, 200), _move(0, 50, 60, 10))
    )
    mhz = float(result.chip.core_mhz)
    assert [(cycle, rate["load weights"] / mhz) for cycle, rate in rates(result)] == [
        (0, 2),
        (25, 6),
        (50, 5),
        (60, 4),
        (75, 0),
    ]


@pytest.mark.parametrize("name", ["luna-arcs", "pulp-hyperbus", "ef-psram"])
def test_no_chip_is_faster_than_its_bus(name: str) -> None:
    chip = load_chip(name, ())
    if chip.shared_memory.bytes < 128 * 1024:
        chip = load_chip(name, ("shared_memory.bytes=512KiB",))
    result = run(PlanRequest(load("zoo:resnet8"), chip))
    fastest = max(sum(rate.values()) for _, rate in rates(result))
    assert 0 < fastest <= chip.psram.clock_mhz * chip.psram.bytes_per_clock


def test_the_timeline_has_a_row_with_a_bar_for_each_run() -> None:
    chart = timeline(cascaded(3))
    assert traces(chart)[-1]["name"] == "cascades"
    bar = traces(chart)[-1]
    assert bar["text"] == [NAME] * 3
    assert set(bar["y"]) == {CASCADE_ROW}
    assert told(bar)[0][-1] == "first, second, third"
    steps = next(t for t in traces(chart) if t["name"] == "compute")
    assert set(steps["text"]) == {"", "mean", "head"}


def test_the_memory_map_shows_rolling_buffers_and_the_rows_in_them() -> None:
    result = cascaded()
    chart = memory_map(result)
    by_name = {trace["name"]: trace for trace in traces(chart)}
    assert "pattern" in by_name["rolling buffers"]["marker"]
    held = by_name["rows in them"]
    assert told(held)[2][:2] == [
        "rows 4 to 6 of 32 of first",
        "made by first [2/8]",
    ]
    bottom = held["y"][0] - held["width"][0] / 2
    assert bottom * 1024 == result.solved.plan.offsets["first rows"]


def test_boxes_lie_at_their_addresses() -> None:
    boxes: dict[str, tuple[float, float]] = {}
    for trace in traces(memory_map(sample())):
        if trace["type"] == "bar":
            boxes |= {c[0]: (y, w) for c, y, w in zip(told(trace), trace["y"], trace["width"], strict=True)}
    assert boxes["relu.stripe"] == (16.0, 32.0)
    assert boxes["w.even"] == (44 + 5, 10.0)


def test_a_low_plan_is_not_squashed_under_the_capacity() -> None:
    chart = memory_map(large(10))
    assert [t["name"] for t in traces(chart)] == ["tensors", "weights", "live bytes"]
    assert "lies above the chart" in chart.remark
    assert "capacity 64.0 KiB" in [t["name"] for t in traces(memory_map(sample()))]


def test_of_too_many_buffers_the_largest_are_drawn() -> None:
    chart = memory_map(sample(), most=5)
    assert f"The {len(sample().problem.buffers) - 5} boxes with the fewest bytes times cycles" in chart.remark
    assert marks(chart) == 5
    names = {c[0] for trace in traces(chart) if trace["type"] == "bar" for c in told(trace)}
    assert {"w.even", "w.odd"} <= names
    assert "softmax" not in names
