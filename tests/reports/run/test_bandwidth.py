from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.trace import Event, Trace
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.run.bandwidth import bandwidth, bins, peak_rate, rates
from reports.run.bars import MOST_BARS
from reports.run.charts import over_time
from tests.reports.run.test_figures import traces
from tests.reports.sample import large, sample
from workloads.load import load


@pytest.mark.parametrize("most", [1, 7, 480, 10**9])
def test_no_byte_is_lost_in_the_bins(most: int) -> None:
    result = sample() if most < 10**6 else large(2)
    spans, moved = bins(result, most)
    assert spans[0].start == 0
    assert spans[-1].stop == result.trace.cycles
    assert all(a.stop == b.start for a, b in pairwise(spans))
    for kind, per_bin in moved.items():
        wanted = sum(e.bytes for e in result.trace.of("dma") if e.kind == kind and not e.cause)
        assert sum(per_bin) == pytest.approx(wanted)


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
    assert bins(result, 4)[1]["load weights"] == [50, 150, 110, 0]


def test_the_chart_is_in_megabytes_a_second() -> None:
    result = replace(sample(), trace=_trace(_move(0, 0, 50, 100)))
    first = traces(bandwidth(result, 4))[0]
    # Two bytes a cycle at 300 MHz.
    assert first["y"] == [600, 600, 0, 0, 0]
    assert first["x"] == [0, 25, 50, 75, 100]
    assert first["customdata"][0] == [600, 50, 25]
    assert [t["name"] for t in traces(bandwidth(result))] == ["load weights", "bus peak"]


@pytest.mark.parametrize("name", ["luna-arcs", "stm32n6", "pulp-hyperbus", "axi-cdma", "ef-psram"])
def test_no_chip_is_faster_than_its_bus(name: str) -> None:
    chip = load_chip(name, ())
    if chip.shared_memory.bytes < 128 * 1024:
        chip = load_chip(name, ("shared_memory.bytes=512KiB",))
    result = run(PlanRequest(load("zoo:resnet8"), chip))
    fastest = max(sum(rate.values()) for _, rate in rates(result))
    assert 0 < fastest <= peak_rate(chip)


def test_names_and_units_are_in_the_hover() -> None:
    shown: list[dict[str, Any]] = traces(bandwidth(sample()))
    assert all("MB/s" in trace["hovertemplate"] for trace in shown)


def test_a_further_memory_is_named_with_its_peak() -> None:
    rates = [f"memories.sram2.{way}.bytes_per_cycle=8" for way in ("load", "store")]
    chip = load_chip("luna-arcs", ["memories.sram2.bytes=32KiB", *rates])
    result = run(PlanRequest(load("zoo:dnn_kws"), chip))
    section = next(each for each in over_time(result, MOST_BARS) if each.id == "bandwidth")
    assert section.hint.startswith("Traffic with Psram and sram2, stacked by kind. ")
    assert section.label == "Off-chip bandwidth over time. At most: Psram 480 MB/s, sram2 2,400 MB/s."
    assert bandwidth(result).legend[-1].label == "bus peak: Psram 480 MB/s, sram2 2,400 MB/s"
