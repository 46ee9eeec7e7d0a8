"""Transfers from, to and between further memories, from their latencies and rates."""

from dataclasses import replace
from fractions import Fraction

import pytest

from chipmodel.hardware.chip import BurstDma, Channels, Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.hardware.further_memories import FurtherMemory
from chipmodel.model.schedule import PSRAM, SHARED, WEIGHTS, Hop, Traffic
from chipmodel.timing.shape import shape_of
from chipmodel.timing.transfer import least_cost, least_cost_anywhere, transfer_cycles
from tests.support.chips import LUNA_LIKE

FAST = FurtherMemory("fast", 4096, 40, Fraction(8), 9, Fraction(16, 3))
SLOW = FurtherMemory("slow", 4096, 7, Fraction(1, 50), 3, Fraction(1, 20))
CHIP = replace(LUNA_LIKE, memories=(FAST, SLOW))


@pytest.mark.parametrize(
    ("hop", "size", "cycles"),
    [
        (Hop("fast", SHARED), 800, 40 + 100),
        (Hop("fast", SHARED), 801, 40 + 101),
        (Hop(SHARED, "fast"), 800, 9 + 150),
        (Hop("slow", SHARED), 10, 7 + 500),
        # One engine: it writes a line while it reads the next, at the pace of the slower memory.
        (Hop("slow", "fast"), 10, 9 + 7 + 500),
        (Hop("fast", "slow"), 10, 40 + 3 + 200),
    ],
)
def test_a_transfer_takes_latency_and_bytes_at_the_rate(hop: Hop, size: int, cycles: int) -> None:
    assert transfer_cycles(CHIP, hop, size) == cycles


def test_a_move_out_of_psram_takes_its_time_and_the_latency_of_the_other() -> None:
    assert transfer_cycles(CHIP, Hop(PSRAM, "fast"), 640) == transfer_cycles(CHIP, "load", 640) + 9
    assert transfer_cycles(CHIP, Hop("fast", PSRAM), 640) == transfer_cycles(CHIP, "store", 640) + 40
    flash = replace(load_chip("stm32n6"), memories=(FAST,))
    assert transfer_cycles(flash, Hop(WEIGHTS, "fast"), 640) == transfer_cycles(flash, "weights", 640) + 9


def test_runs_take_no_longer_than_their_bytes_on_a_port_without_bursts() -> None:
    strided = replace(CHIP, dma=replace(CHIP.dma, channels=Channels(strided=True)))
    assert transfer_cycles(strided, Hop("fast", SHARED), 64, 8) == 40 + 8
    apart = replace(CHIP, dma=replace(CHIP.dma, channels=Channels(strided=False)))
    assert transfer_cycles(apart, Hop("fast", SHARED), 64, 8) == 8 * (40 + 1)


@pytest.mark.parametrize(
    "chip", [LUNA_LIKE, load_chip("luna-arcs"), load_chip("gap9-psram")], ids=lambda c: c.name
)
@pytest.mark.parametrize("size", [1, 63, 256, 1000])
def test_the_shape_of_a_transfer_has_its_cycles(chip: Chip, size: int) -> None:
    chip = replace(chip, memories=(FAST, SLOW))
    hops: list[Traffic] = [Hop("slow", SHARED), Hop(SHARED, "fast"), Hop(PSRAM, "fast"), Hop("slow", PSRAM)]
    for hop in hops:
        shape = shape_of(chip, hop, size)
        assert shape.setup + shape.data == transfer_cycles(chip, hop, size)
    if isinstance(chip.dma, BurstDma):
        assert shape_of(chip, Hop(PSRAM, "fast"), size).setup == shape_of(chip, "load", size).setup + 9


def test_the_least_cost_is_that_of_the_cheapest_memory() -> None:
    assert least_cost_anywhere(CHIP, "load") == (7, Fraction(1, 8))
    assert least_cost_anywhere(CHIP, "store") == (3, Fraction(3, 16))
    assert least_cost(CHIP, "load") == least_cost(LUNA_LIKE, "load") == least_cost_anywhere(LUNA_LIKE, "load")
