"""Cycles of transfers in several runs, by hand and in relation to those in one."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, strategies as st

from chipmodel.hardware.chip import Channels
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.model.schedule import Direction
from chipmodel.timing.transfer import least_cost, transfer_cycles
from tests.support.chips import tiny_chip

DIRECTIONS: tuple[Direction, ...] = ("load", "store")
CHIPS = {name: load_chip(name) for name in preset_names()}


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


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(0, 6), st.sampled_from(DIRECTIONS))
def test_runs_cut_in_two_are_no_quicker(seed: int, run: int, doubled: int, direction: Direction) -> None:
    chip = tiny_chip(Random(seed))
    size, runs = run << doubled, 1 << doubled
    assert transfer_cycles(chip, direction, size, runs) >= transfer_cycles(
        chip, direction, size, runs // 2 or 1
    )


@given(st.integers(0, 10_000), st.integers(1, 300), st.integers(2, 40), st.sampled_from(DIRECTIONS))
def test_without_striding_each_run_is_a_transfer(
    seed: int, size: int, runs: int, direction: Direction
) -> None:
    """Pauses between the words of a serial controller, and rounding, come on top."""
    chip = tiny_chip(Random(seed))
    apart = replace(chip, dma=replace(chip.dma, channels=Channels(strided=False)))
    alone = transfer_cycles(apart, direction, size)
    assert transfer_cycles(apart, direction, runs * size, runs) >= runs * alone
