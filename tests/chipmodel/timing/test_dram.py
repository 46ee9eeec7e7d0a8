"""DRAM by rows and banks: by hand, and against a controller that steps through every clock."""

from dataclasses import replace
from fractions import Fraction
from typing import cast

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip, DramDma
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.dma_engine import DmaEngine
from chipmodel.timing.dram import DramClocks, dram_clocks, refresh_clocks
from chipmodel.timing.interruptions import Interruption, interruptions
from chipmodel.timing.transfer import transfer_cycles
from tests.support.dram_stepper import DramStepper
from tests.support.mistakes import mistakes

LPDDR4, LPDDR5 = (load_chip(name) for name in ("imx93-lpddr4", "corstone-320-lpddr5"))
GHZ = Fraction(1000)
"""At which a nanosecond is a clock."""


def clocks_of(chip: Chip, write: bool = False, *, queue: int = 32, setup: int = 478) -> DramClocks:
    dma = replace(cast(DramDma, chip.dma), queue=queue, setup_cycles=setup)
    return dram_clocks(chip.core_mhz, chip.psram.clock_mhz, dma, write)


def test_lpddr4_by_hand() -> None:
    """Read latency of 32 clocks, 8 of data; 64 accesses fill a row, and the next opens while they move."""
    clocks = clocks_of(LPDDR4)
    assert clocks.transfer(1) == clocks.transfer(32) == 32 + 8
    assert clocks.transfer(33) == 8 + 32 + 8
    assert clocks.transfer(3 * 2048) == (3 * 64 - 1) * 8 + 40
    assert transfer_cycles(LPDDR4, "load", 32) == 478 + 22  # 40 clocks of 1866.5 MHz are 21.4 cycles


def test_the_bus_turns_round_for_a_load_while_that_is_set_up() -> None:
    """10 ns are 19 clocks; a set-up of 5 cycles is 9 of them."""
    assert clocks_of(LPDDR4, write=True).transfer(32) == 16 + 8
    assert clocks_of(LPDDR4, write=True, setup=5).transfer(32) == 16 + 8 + 10
    two = load_chip("imx93-lpddr4", ["dma.channels=2"])
    assert clocks_of(two, write=True).transfer(32) == 16 + 8 + 19


def test_a_controller_that_sees_little_waits_for_each_row() -> None:
    """Closing and opening a row take 68 clocks, of which three accesses hide 24."""
    assert clocks_of(LPDDR4, queue=3).row_clocks(64) == 64 * 8 + (68 - 3 * 8)


def test_runs_in_other_rows_take_what_opening_a_row_takes() -> None:
    """Four rows in 40 ns, 75 clocks: 19 for each run of a single access, whose data take 8."""
    clocks = clocks_of(LPDDR4)
    assert [clocks.run(size) for size in (32, 64, 96, 2048)] == [19, 19, 24, 512]
    assert clocks.run(2048 + 32) == 512 + 19
    assert transfer_cycles(LPDDR4, "load", 3200, 100) > transfer_cycles(LPDDR4, "load", 3200)


GRADES = (("800", 14, 8), ("1066.5", 20, 10), ("1333", 24, 12), ("1600", 28, 14), ("1866.5", 32, 16))
"""LPDDR4 (JESD209-4) by its clock: latencies of reads and, in set A, of writes."""


@given(st.integers(1, 100_000), st.booleans())
def test_a_faster_grade_of_lpddr4_is_never_slower(size: int, write: bool) -> None:
    dma = cast(DramDma, LPDDR4.dma)
    times: list[Fraction] = []
    for mhz, read, store in GRADES:
        memory = replace(dma.memory, read_latency_clocks=read, write_latency_clocks=store)
        clocks = dram_clocks(LPDDR4.core_mhz, Fraction(mhz), replace(dma, memory=memory), write)
        times.append(clocks.transfer(size) / Fraction(mhz))
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("chip", [LPDDR4, LPDDR5], ids=lambda c: c.name)
@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("size", [1, 32, 33, 2048, 2049, 5000, 8192, 40_000])
def test_presets_as_clock_by_clock(chip: Chip, write: bool, size: int) -> None:
    stepped = DramStepper(cast(DramDma, chip.dma), chip.psram.clock_mhz, size, write)
    assert clocks_of(chip, write).transfer(size) == stepped.clocks()


@st.composite
def engines(draw: st.DrawFn) -> DramDma:
    """DRAM of one bank, or of so many that none is needed again too early, with short rows and queues."""
    rcd, rp, rtp, wr, rrd = (Fraction(draw(st.integers(1, 30))) for _ in range(5))
    ras = Fraction(draw(st.integers(1, 200)))
    memory = replace(
        cast(DramDma, LPDDR4.dma).memory,
        burst_length=8,
        row_bytes=16 * draw(st.sampled_from([2, 4, 8, 32])),
        banks=draw(st.sampled_from([1, 64])),
        ccd_clocks=draw(st.integers(4, 8)),
        t_rcd_ns=rcd,
        t_rp_ns=rp,
        t_ras_ns=ras,
        t_rtp_ns=rtp,
        t_wr_ns=wr,
        t_wtr_ns=Fraction(0),
        t_rrd_ns=rrd,
        t_faw_ns=4 * rrd,
    )
    return DramDma(memory, 64, draw(st.integers(1, 40)))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(engines(), st.integers(1, 1500), st.booleans())
def test_any_dram_as_clock_by_clock(dma: DramDma, size: int, write: bool) -> None:
    assert dram_clocks(GHZ, GHZ, dma, write).transfer(size) == DramStepper(dma, GHZ, size, write).clocks()


@pytest.mark.parametrize("chip", [LPDDR4, LPDDR5], ids=lambda c: c.name)
def test_a_refresh_costs_what_it_does_clock_by_clock(chip: Chip) -> None:
    dma, mhz, clocks = cast(DramDma, chip.dma), chip.psram.clock_mhz, clocks_of(chip)
    undisturbed = DramStepper(dma, mhz, 6000, write=False).clocks()
    # Where every open row has been open for long enough to close.
    due = 20 * clocks.ccd + 1
    refreshed = DramStepper(dma, mhz, 6000, write=False, refresh_at=due).clocks()
    assert refreshed - undisturbed == sum(refresh_clocks(dma, mhz))


@pytest.mark.parametrize(
    ("gbit", "all_banks", "one_bank"),
    [(2, 130, 60), (4, 180, 90), (6, 280, 140), (8, 280, 140), (12, 380, 190), (16, 380, 190)],
)
def test_refreshes_of_lpddr4_by_density(gbit: int, all_banks: int, one_bank: int) -> None:
    """tRFCab and tRFCpb of JESD209-4 by the density of a channel: one bank at a time stops less, and more
    bits take longer."""
    every, one = (
        load_chip("imx93-lpddr4", [f"psram.dram.refresh={kind}", f"psram.dram.t_rfc_ns={time}"])
        for kind, time in (("all-bank", all_banks), ("per-bank", one_bank))
    )
    busy = [next(interruptions(chip)).busy for chip in (every, one)]
    clocks = [21 + all_banks, 18 + one_bank]  # ns of precharge and refresh
    read = dram_clocks(Fraction(1000), Fraction("1866.5"), cast(DramDma, every.dma), False)
    beside = (read.closing - read.ccd) / Fraction("1.8665")
    assert busy == pytest.approx([ns + float(beside) for ns in clocks], abs=2), gbit


def test_refreshes_interrupt_transfers() -> None:
    """Every 3,904 ns tRTP, tRP of all banks and tRFC, 577 clocks, less one access; then tRCD, 34 clocks, also
    for a transfer that begins later."""
    (refresh,) = interruptions(LPDDR4)
    assert refresh == Interruption("refresh", Fraction(3904), 305, None, after=19)
    assert [refresh.delay(1, 0, cycle, "load") for cycle in (3904, 4000, 4209, 7000)] == [324, 228, 19, 19]
    assert not list(interruptions(load_chip("imx93-lpddr4", ["psram.dram.t_refi_ns=0"])))


def test_the_state_of_the_engine_says_that_a_row_has_to_open_again() -> None:
    """Else paths with and without a burst since the refresh would be taken for equal."""
    before, after = DmaEngine(LPDDR4), DmaEngine(LPDDR4)
    after.handled = [1]
    assert before.key(3903) == DmaEngine(LPDDR4).key(3903)
    assert before.key(7000) != after.key(7000)


@pytest.mark.parametrize(("override", "what"), mistakes("dram"))
def test_impossible_dram_is_refused(override: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        load_chip("imx93-lpddr4", [override, "psram.dram.row_bytes=64"])
