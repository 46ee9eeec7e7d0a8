"""Chips whose DMA goes through a public controller: their transfers are the rows of the RTL's tables, and
everything that is derived from a transfer's cycles holds for them.
"""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.hardware.chip import CdmaDma, Chip, Controlled, Cpu, DramDma, EfPsramDma, HyperBusDma
from chipmodel.hardware.chip_file import load_chip
from chipmodel.hardware.clocks import Clock
from chipmodel.hardware.dram import Dram
from chipmodel.hardware.psram_device import Protocol
from chipmodel.model.schedule import Direction
from chipmodel.timing.controllers import HyperBus
from chipmodel.timing.interruptions import interruptions
from chipmodel.timing.shape import shape_of
from chipmodel.timing.transfer import cycles_per_byte, least_cost, transfer_cycles
from tests.support.narrowed import of_kind

PULP, COPY, SERIAL, LPDDR4 = map(load_chip, ("pulp-hyperbus", "axi-cdma", "ef-psram", "imx93-lpddr4"))
DIRECTIONS: tuple[Direction, Direction] = ("load", "store")


def test_words_follow_one_another_after_a_cycle() -> None:
    """EBh QPI: 2 x (2 + 6 + 6 + 8) + 2 = 46 cycles a word; three bytes more move as a word."""
    assert [transfer_cycles(SERIAL, "load", size) for size in (4, 8, 4096)] == [46, 93, 1024 * 47 - 1]
    assert transfer_cycles(SERIAL, "load", 7) == 93
    assert transfer_cycles(SERIAL, "load", 6) == 47 + 38
    slow = load_chip("ef-psram", ["dma.ef_psram.gap_cycles=9", "dma.ef_psram.setup_cycles=100"])
    assert transfer_cycles(slow, "load", 8) == 100 + 46 + 9 + 46


@pytest.mark.parametrize("chip", [PULP, COPY, SERIAL, LPDDR4], ids=lambda c: c.name)
def test_set_up_comes_before_the_controller(chip: Chip) -> None:
    dma = cast(Controlled, chip.dma)
    slow = replace(chip, dma=replace(dma, setup_cycles=dma.setup_cycles + 77))
    for direction in DIRECTIONS:
        assert transfer_cycles(slow, direction, 1000) == transfer_cycles(chip, direction, 1000) + 77
        assert least_cost(slow, direction)[0] == least_cost(chip, direction)[0] + 77
        assert shape_of(slow, direction, 1000).setup == dma.setup_cycles + 77


def test_the_cpu_takes_a_line_through_the_controller() -> None:
    """32 bytes at 100/100 MHz: 40 cycles (rtl_hyperbus_read)."""
    busy = replace(PULP, cpu=Cpu(psram_every=500, line_bytes=32))
    (line,) = interruptions(busy)
    assert (line.cause, line.due(2), line.busy) == ("cpu", 1000, 40)


@pytest.mark.slow
@given(
    st.sampled_from([(100, 100), (200, 100), (300, 166), (333, 200), (250, 133)]),
    st.lists(st.integers(1, 400), min_size=1, max_size=3),
    st.integers(1, 300),
)
def test_skipped_repetitions_of_phases_change_nothing(
    clocks: tuple[int, int], words: list[int], reads: int
) -> None:
    """Against one run for each read, in which there is nothing to skip."""
    bus = HyperBus(Clock(Fraction(clocks[0])), Clock(Fraction(clocks[1])), of_kind(HyperBusDma, PULP.dma))
    for wait in (1 / bus.ck.mhz, bus._shortest_wait()):  # pyright: ignore[reportPrivateUsage]
        many = bus._last_beat([(reads, w) for w in words], wait)  # pyright: ignore[reportPrivateUsage]
        single = [(1, w) for w in words for _ in range(reads)]
        assert many == bus._last_beat(single, wait)  # pyright: ignore[reportPrivateUsage]


@st.composite
def chips(draw: st.DrawFn) -> Chip:
    """Any of the three with constants far from the presets'."""
    small, setup = st.integers(0, 20), draw(st.integers(0, 9))
    ck = draw(st.sampled_from([100, 133, 166, 200]))
    core = ck * draw(st.fractions(1, 4, max_denominator=6))
    hyperbus = HyperBusDma(
        latency_clocks=draw(st.integers(1, 14)),
        latency_multiple=draw(st.integers(1, 2)),
        max_burst_words=draw(st.sampled_from([1, 3, 50, 350, 65535])),
        request_beats=draw(st.sampled_from([1, 2, 16, 256])),
        bus_bytes=draw(st.sampled_from([4, 8])),
        request_cycles=draw(small),
        response_cycles=draw(small),
        turnaround_cycles=draw(st.integers(0, 60)),
        fixed_clocks=draw(st.integers(3, 12)),
        segment_clocks=draw(st.integers(3, 40)),
        round_trip_ns=Fraction(draw(st.integers(0, 20))),
        setup_cycles=setup,
    )
    beats, page = draw(st.sampled_from([1, 2, 3, 16, 256])), draw(st.sampled_from([128, 1024, 4096]))
    copy = CdmaDma(draw(st.sampled_from([8, 32, 64, 512])), beats, page, setup)
    modes: tuple[Protocol, ...] = ("QPI", "1-4-4", "SPI")
    read, write = draw(st.sampled_from(modes)), draw(st.sampled_from(modes))
    access, gap = draw(st.sampled_from([1, 2, 4])), draw(st.integers(0, 99))
    serial = EfPsramDma(read, write, draw(st.integers(0, 8)), access, draw(st.integers(1, 4)), 2, gap, setup)
    psram = replace(PULP.psram, clock_mhz=Fraction(ck), ce_low_max_us=None, ce_high_ns=Fraction(0))
    accesses, row = draw(st.sampled_from([(2, 64), (2, 256), (16, 64)]))
    latencies, times = draw(st.tuples(*[small] * 3)), [Fraction(draw(st.integers(0, 60))) for _ in range(11)]
    memory = Dram(16, 2, accesses, row, draw(st.sampled_from([1, 8])), *latencies, *times)
    queue = draw(st.sampled_from([1, 3, 9]))
    engines: tuple[Controlled, ...] = hyperbus, copy, serial, DramDma(memory, 64, queue, setup)
    dma = draw(st.sampled_from(engines))
    return replace(PULP, core_mhz=core, psram=psram, dma=dma)


sizes = st.one_of(st.integers(1, 70), st.integers(1, 9000), st.integers(1, 1 << 20))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(chips(), st.sampled_from(DIRECTIONS), sizes)
def test_no_transfer_is_below_its_bound(chip: Chip, direction: Direction, size: int) -> None:
    once, each = least_cost(chip, direction)
    assert once >= 0
    assert transfer_cycles(chip, direction, size) >= once + size * each


@settings(max_examples=150, deadline=None)
@given(chips(), st.sampled_from(DIRECTIONS), sizes)
def test_more_bytes_never_take_less(chip: Chip, direction: Direction, size: int) -> None:
    assert transfer_cycles(chip, direction, size) <= transfer_cycles(chip, direction, size + 1)


@settings(max_examples=150, deadline=None)
@given(chips(), st.sampled_from(DIRECTIONS), st.integers(1, 3000))
def test_a_shape_is_the_whole_transfer(chip: Chip, direction: Direction, size: int) -> None:
    """Set-up and data are its cycles; every line has cycles of its own, and every byte a beat."""
    shape = shape_of(chip, direction, size)
    assert shape.setup + shape.data == transfer_cycles(chip, direction, size)
    starts = [shape.line_start(line) for line in range(shape.lines + 1)]
    assert (starts[0], starts[-1]) == (0, shape.data)
    assert all(start < stop for start, stop in pairwise(starts))
    beats = [beat for start in starts[1:] if (beat := shape.beat(start - 1))]
    assert beats[0][0] == 0
    assert sum(length for _, length in beats) == size


@pytest.mark.parametrize("chip", [PULP, COPY, SERIAL, LPDDR4], ids=lambda c: c.name)
def test_long_transfers_come_to_the_cycles_a_byte(chip: Chip) -> None:
    for direction in DIRECTIONS:
        long = transfer_cycles(chip, direction, 1 << 30)
        assert long == pytest.approx(float(cycles_per_byte(chip, direction)) * (1 << 30), rel=0.001)
