"""A faster clock is never slower, for all memories off chip, but for what whole clocks cost."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import assume, given, strategies as st

from chipmodel.hardware.chip import DramDma
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.hardware.psram_device import Device, latency_clocks, overhead_clocks
from chipmodel.hardware.psram_parts import DEVICES, device_named
from chipmodel.model.schedule import Traffic
from chipmodel.timing.dram import dram_clocks
from chipmodel.timing.transfer import transfer_cycles
from tests.support.bursts import bursts_of, held_clocks

CHIPS = {name: load_chip(name) for name in preset_names()}
DRAM = [name for name, chip in CHIPS.items() if isinstance(chip.dma, DramDma)]
SLOWEST = Fraction(20)
"""MHz; below it CE# may not stay low for long enough for a burst of some parts."""


def clocks_of(device: Device) -> list[Fraction]:
    """Clocks at, just above and between the steps of the datasheet, in rising order."""
    steps = {limit for limit, _ in device.latency_codes} | {device.crossing_mhz or device.clock_mhz}
    edges = sorted(steps | {SLOWEST})
    above = {edge + Fraction(1, 1000) for edge in edges[:-1]}
    return sorted({*edges, *above, *((low + high) / 2 for low, high in pairwise(edges))})


def code_of(device: Device) -> int:
    """The latency code that the datasheet gives for the clock: the least of those that are fast enough."""
    return min(code for limit, code in device.latency_codes if limit >= device.clock_mhz)


@pytest.mark.parametrize("name", DEVICES)
@given(
    data=st.data(),
    size=st.integers(1, 20_000),
    write=st.booleans(),
    fixed=st.booleans(),
    collided=st.booleans(),
)
def test_a_faster_clock_of_a_psram_costs_only_clocks_of_the_datasheet(
    name: str, data: st.DataObject, size: int, write: bool, fixed: bool, collided: bool
) -> None:
    """The nanoseconds of the faster clock exceed those of the slower one by no more than

    * under one clock a burst, where CE# high or the recovery is a time, which is rounded up to clocks;
    * the later code's longer wait at each burst, if a step of the latency codes lies between the clocks: just
      above a step, 4 clocks at 85 MHz take longer than 3;
    * the fixed clocks of further bursts, if a step lies between, as a longer wait leaves less of CE# low, or
      if bursts may cross pages at the slower clock only. There are none else.
    """
    mode = {"latency_mode": "fixed" if fixed else "variable"}
    places = clocks_of(device_named(name))
    low, high = sorted(data.draw(st.tuples(st.sampled_from(places), st.sampled_from(places))))
    slow, fast = (replace(device_named(name), clock_mhz=mhz, **mode) for mhz in (low, high))  # type: ignore[arg-type]
    before, after = (len(list(bursts_of(part, 0, size, write))) for part in (slow, fast))
    same_code, same_pages = code_of(slow) == code_of(fast), slow.crosses(write) == fast.crosses(write)
    if same_code and same_pages:
        assert after <= before
    waits = [latency_clocks(part, write, collided) / part.clock_mhz for part in (slow, fast)]
    longer = max(Fraction(0), waits[1] - waits[0])
    assert not (same_code and longer)
    rounding = Fraction(bool(fast.ce_high_ns or fast.recovery_ns)) / high
    further = overhead_clocks(fast, write, collided) + fast.ce_setup_hold_clocks + fast.ce_high_min
    allowed = after * (longer + rounding) + max(0, after - before) * further / high
    late = held_clocks(fast, size, write, collided) / high - held_clocks(slow, size, write, collided) / low
    assert late <= allowed
    assert late < allowed or not rounding


@pytest.mark.parametrize("name", DRAM)
@given(
    size=st.integers(1, 200_000),
    write=st.booleans(),
    queue=st.integers(1, 32),
    setup=st.integers(0, 20),
    clocks=st.tuples(*[st.fractions(100, 2200, max_denominator=64)] * 2),
)
def test_a_faster_clock_of_dram_costs_only_what_times_are_rounded_up(
    name: str, size: int, write: bool, queue: int, setup: int, clocks: tuple[Fraction, Fraction]
) -> None:
    """With the latencies of one grade, which are clocks. Opening a row is two times, tRP and tRCD, and each
    is rounded up by less than a clock: under two clocks for each row. A store ends with tWTR, rounded up,
    less the clocks of the set-up, rounded down: under two clocks more. Short queues and set-ups hide little
    of these."""
    low, high = sorted(clocks)
    chip = CHIPS[name]
    dma = replace(cast(DramDma, chip.dma), queue=queue, setup_cycles=setup)
    slow, fast = (dram_clocks(chip.core_mhz, mhz, dma, write) for mhz in (low, high))
    rows = (size - 1) // (fast.row_accesses * fast.access_bytes)
    late = fast.transfer(size) - slow.transfer(size) * high / low
    assert late <= 2 * rows + 2 * write
    assert late < 2 * rows + 2 * write or not (rows or write)


@pytest.mark.parametrize("traffic", ["load", "store", "weights"])
@given(size=st.integers(1, 200_000), clocks=st.tuples(*[st.fractions(10, 400, max_denominator=64)] * 2))
def test_a_faster_clock_of_a_flash_is_never_slower(
    traffic: Traffic, size: int, clocks: tuple[Fraction, Fraction]
) -> None:
    """A memory of shares of bursts, for data or for weights only: no time of it is rounded to its clocks."""
    flash = ("bytes=64MiB", "bytes_per_clock=2", "setup_cycles=30", "burst_bytes=1024", "memory=flash")
    own = [f"weights.{field}" for field in (*flash, "burst_overhead_clocks=12")]
    low, high = sorted(clocks)
    assume(low < high)
    slow, fast = (
        load_chip("stm32n6", [*own, f"psram.clock_mhz={mhz}", f"weights.clock_mhz={mhz}"])
        for mhz in (low, high)
    )
    assert transfer_cycles(fast, traffic, size) <= transfer_cycles(slow, traffic, size)
