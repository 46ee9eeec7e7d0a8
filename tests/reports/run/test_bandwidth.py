from dataclasses import replace

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.trace import Event, Trace
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from reports.run.chrome_trace import rates
from tests.reports.sample import sample
from workloads.load import load


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


@pytest.mark.parametrize("name", ["luna-arcs", "stm32n6", "pulp-hyperbus", "axi-cdma", "ef-psram"])
def test_no_chip_is_faster_than_its_bus(name: str) -> None:
    chip = load_chip(name, ())
    if chip.shared_memory.bytes < 128 * 1024:
        chip = load_chip(name, ("shared_memory.bytes=512KiB",))
    result = run(PlanRequest(load("zoo:resnet8"), chip))
    fastest = max(sum(rate.values()) for _, rate in rates(result))
    assert 0 < fastest <= chip.psram.clock_mhz * chip.psram.bytes_per_clock
