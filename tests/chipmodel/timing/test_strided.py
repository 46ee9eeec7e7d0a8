"""Cycles of transfers in several runs, by hand and in relation to those in one."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, strategies as st

from chipmodel.hardware.chip import BurstDma, Channels, Chip, Dma, HyperBusDma
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.model.schedule import Direction
from chipmodel.timing.transfer import least_cost, transfer_cycles
from tests.support.chips import tiny_chip

DIRECTIONS: tuple[Direction, ...] = ("load", "store")
CHIPS = {name: load_chip(name) for name in preset_names()}
SMALL_CHIPS = [tiny_chip(Random(seed)) for seed in range(800)]


def test_a_run_on_luna_opens_a_burst_and_moves_whole_lines() -> None:
    """docs/reference/hardware.md, "DMA routes": set-up 634; a load's run 18 clocks at 240 MHz (22.5 cycles at
    300) and 92.5 / 3 cycles a line; a store's run 24.75 a line, or its Psram burst: 18 clocks, 16 a line and
    8 of CE# high."""
    luna = CHIPS["luna-arcs"]
    # 22.5 + 30.83 = 53.33, so 54 for a line of 32 bytes, and for 20 bytes as well.
    assert transfer_cycles(luna, "load", 128 * 32, 128) == 634 + 128 * 54
    assert transfer_cycles(luna, "load", 100 * 20, 100) == 634 + 100 * 54
    assert transfer_cycles(luna, "load", 100 * 33, 100) == 634 + 100 * 85
    # 42 clocks are 52.5 cycles, so 53; the last line's 16 clocks are in flight at the end: 634 - 20.
    assert transfer_cycles(luna, "store", 128 * 32, 128) == 614 + 128 * 53
    # 16 lines at 24.75 are 396, more than the Psram's 18 + 256 + 8 clocks.
    assert transfer_cycles(luna, "store", 8 * 512, 8) == 614 + 8 * 396


def test_a_run_in_the_line_model_pays_for_a_burst_of_its_own() -> None:
    """STM32N6: 14 clocks of overhead and 4 bytes a clock, at 200 MHz under a core of 1 GHz; set-up 200. A
    burst of 64 bytes takes 150 cycles, one of 32 takes 110, and 72 bytes are a burst of 64 and one of 8."""
    chip = CHIPS["stm32n6"]
    assert transfer_cycles(chip, "load", 128 * 32, 128) == 200 + 128 * 110
    assert transfer_cycles(chip, "store", 10 * 72, 10) == 200 + 10 * (150 + 80)
    assert transfer_cycles(chip, "load", 64 * 64, 64) == 200 + 64 * 150 == transfer_cycles(chip, "load", 4096)
    # Set up for each run: as many transfers, which the model counts by their share of a burst.
    apart = load_chip("stm32n6", ["dma.strided=no"])
    assert transfer_cycles(apart, "load", 128 * 32, 128) == 128 * (200 + 75)


def test_runs_through_public_controllers() -> None:
    """The axi_cdma needs a descriptor for each run; a word-by-word controller does not notice runs of whole
    words."""
    cdma = load_chip("axi-cdma", ["dma.cdma.setup_cycles=100"])
    assert not cdma.dma.channels.strided
    assert transfer_cycles(cdma, "load", 16 * 256, 16) == 16 * transfer_cycles(cdma, "load", 256)
    words = CHIPS["ef-psram"]
    assert transfer_cycles(words, "load", 64 * 16, 16) == transfer_cycles(words, "load", 64 * 16)
    # 6 bytes are a word of 46 cycles and one of 2 bytes, 38, with a pause of 1 after each but the last.
    assert transfer_cycles(words, "load", 5 * 6, 5) == 5 * (46 + 1 + 38 + 1) - 1
    hyperbus = CHIPS["pulp-hyperbus"]
    assert transfer_cycles(hyperbus, "load", 16 * 256, 16) == 16 * transfer_cycles(hyperbus, "load", 256)


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("direction", DIRECTIONS)
@given(size=st.integers(1, 5000), runs=st.integers(1, 5000))
def test_runs_never_take_less_than_the_same_bytes_in_one(
    name: str, direction: Direction, size: int, runs: int
) -> None:
    runs = min(size, runs)
    cycles = transfer_cycles(CHIPS[name], direction, size, runs)
    once, each = least_cost(CHIPS[name], direction)
    assert cycles >= transfer_cycles(CHIPS[name], direction, size)
    assert cycles >= once + size * each


def bursts_may_be_shorter(chip: Chip, direction: Direction, run: int) -> bool:
    """Whether the halves of a run of ``2 * run`` bytes may be quicker: only where they are not just its own
    bursts cut in two, and the model of the engine favours the new ones.

    * Several bursts at once hide their overhead only behind data as long: a whole burst and a short one may
      take longer than two of middle length.
    * A HyperBus request has its CS# lows from its beginning, and a run its requests: a full request and a
      short one may have more CS# lows than two halves.
    * A load on LUNA ARCS is at the quick pace of short transfers up to ``short_bytes``, so that two transfers
      set up apart may be quicker than one.
    """
    dma = chip.dma
    if isinstance(dma, Dma):
        burst = (dma.load if direction == "load" else dma.store).burst_bytes
        return dma.channels.strided and dma.outstanding > 1 and 2 * run > burst and run % burst > 0
    if isinstance(dma, HyperBusDma):
        return 2 * run > dma.request_bytes and run % dma.request_bytes > 0
    return (
        isinstance(dma, BurstDma)
        and direction == "load"
        and not dma.channels.strided
        and 2 * run > dma.short_bytes
    )


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("doubled", range(1, 7))
def test_runs_cut_in_two_are_no_quicker_but_for_better_bursts(doubled: int, direction: Direction) -> None:
    """All runs of up to 12 bytes on 800 chips; cut from one run, they are no quicker whatever the bursts."""
    runs, quicker = 1 << doubled, 0
    for chip in SMALL_CHIPS:
        for run in range(1, 13):
            cut = transfer_cycles(chip, direction, run * runs, runs)
            if cut < transfer_cycles(chip, direction, run * runs, runs // 2):
                assert doubled > 1, (chip, run)
                assert bursts_may_be_shorter(chip, direction, run), (chip, run)
                quicker += 1
    assert bool(quicker) == (doubled > 1)


@given(st.integers(0, 10_000), st.integers(1, 300), st.integers(2, 40), st.sampled_from(DIRECTIONS))
def test_without_striding_each_run_is_a_transfer(
    seed: int, size: int, runs: int, direction: Direction
) -> None:
    """Pauses between the words of a serial controller, and rounding, come on top."""
    chip = tiny_chip(Random(seed))
    apart = replace(chip, dma=replace(chip.dma, channels=Channels(strided=False)))
    alone = transfer_cycles(apart, direction, size)
    assert transfer_cycles(apart, direction, runs * size, runs) >= runs * alone
