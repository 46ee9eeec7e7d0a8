"""Cycles of a transfer on a whole chip, in any of its DMA models (the controllers: test_controlled)."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given, strategies as st

from chipmodel.hardware.chip import Chip, Dma
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.model.schedule import Direction
from chipmodel.timing.shape import shape_of
from chipmodel.timing.transfer import cycles_per_byte, least_cost, transfer_cycles

LUNA = load_chip("luna-arcs")
chips = st.sampled_from([load_chip(name) for name in preset_names()])
DIRECTIONS: tuple[Direction, ...] = ("load", "store")
directions = st.sampled_from(DIRECTIONS)


def test_a_line_by_hand() -> None:
    """GAP9: 256-byte bursts of 11 + 128 clocks at 133 MHz, 370 MHz core, 200 cycles of set-up."""
    chip = load_chip("gap9-psram")
    assert cycles_per_byte(chip, "load") == Fraction(139 * 370, 256 * 133)
    assert transfer_cycles(chip, "load", 1024) == 200 + -(-1024 * 139 * 370 // (256 * 133))


@pytest.mark.parametrize(
    ("overhead", "outstanding", "clocks"),
    [
        # 64 bytes at 4 a clock are 16 clocks of data; with its overhead, a burst lasts 16 + overhead.
        (14, 1, 30),
        (14, 2, 16),  # two at once share 30 clocks: 15 each, but the bus carries 16 of data
        (34, 2, 25),  # 50 clocks shared by two
        (34, 3, Fraction(50, 3)),
        (34, 4, 16),
    ],
)
def test_outstanding_bursts_hide_their_overhead(
    overhead: int, outstanding: int, clocks: int | Fraction
) -> None:
    """A DMA that asks for several bursts at once pays the overhead of one during the data of the others."""
    chip = load_chip("stm32n6", [f"dma.outstanding={outstanding}"])
    assert isinstance(chip.dma, Dma)
    traffic = replace(chip.dma.load, burst_overhead_clocks=Fraction(overhead))
    chip = replace(chip, dma=replace(chip.dma, load=traffic, store=traffic))
    for direction in DIRECTIONS:
        # Five cycles of the core (1 GHz) for a clock (200 MHz); 200 of set-up; 10 bursts.
        assert cycles_per_byte(chip, direction) == Fraction(clocks) * 5 / 64
        assert transfer_cycles(chip, direction, 640) == 200 + ceil(10 * 5 * Fraction(clocks))


def test_the_least_cost_of_luna_by_hand() -> None:
    """A load of 1 KB or more takes 656.5 cycles and 92.5 for three lines (96 bytes), one of 256 bytes 824.5,
    which is 577.8 more than 92.5 for each 96 of its bytes: the least of all sizes."""
    assert least_cost(LUNA, "load") == (577, Fraction(925, 960))
    # Without a set-up, 256 bytes in 190.5 cycles are cheaper for their bytes than any long transfer.
    bare = load_chip("luna-arcs", ["dma.bursts.setup_cycles=0"])
    assert least_cost(bare, "load") == (0, Fraction("190.5") / 256)
    assert least_cost(load_chip("stm32n6"), "load") == (200, Fraction(150, 64))


@given(chips, directions, st.integers(1, 1 << 16))
def test_more_bytes_never_take_less(chip: Chip, direction: Direction, size: int) -> None:
    assert transfer_cycles(chip, direction, size) <= transfer_cycles(chip, direction, size + 1)


# The other controllers have one clock; HyperBus bursts must stay short enough at the slow one.
@pytest.mark.parametrize("name", sorted({*preset_names()} - {"axi-cdma", "ef-psram", "gap9"}))
def test_a_slower_psram_clock_is_never_faster(name: str) -> None:
    shorter = ["dma.hyperbus.max_burst_words=190"] if name == "pulp-hyperbus" else []
    fast = load_chip(name, shorter)
    slow = load_chip(name, [*shorter, f"psram.clock_mhz={fast.psram.clock_mhz / 2}"])
    for size in (64, 1000, 100_000):
        assert transfer_cycles(slow, "load", size) > transfer_cycles(fast, "load", size)
        assert transfer_cycles(slow, "store", size) > transfer_cycles(fast, "store", size)


def test_a_refresh_slows_a_part_of_variable_latency_and_no_other() -> None:
    """APS256 at 200 MHz: 7 clocks more for each burst that collides with one; LUNA's own part hides them."""

    def load(*overrides: str) -> int:
        return transfer_cycles(load_chip("luna-arcs", overrides), "load", 65536)

    part = ("psram.device=APS256XXN-x8", "psram.clock_mhz=200")
    none, share, worst = (load(*part, f"psram.collision={c}") for c in ("none", "expected", "worst"))
    assert none < share < worst
    bursts = 65536 / 96
    assert worst - none == pytest.approx(bursts * 7 * 300 / 200, rel=0.01)
    assert load() == load("psram.collision=worst")


def test_weights_come_from_a_memory_of_their_own() -> None:
    """Octo-SPI flash: 200 MHz at 2 bytes a clock, bursts of 1,024 bytes with 12 clocks, a core of 1 GHz."""
    fields = ("bytes=64MiB", "clock_mhz=200", "bytes_per_clock=2", "setup_cycles=30", "burst_bytes=1024")
    own = [f"weights.{field}" for field in (*fields, "burst_overhead_clocks=12", "memory=flash")]
    chip, plain = load_chip("stm32n6", own), load_chip("stm32n6", ("weights.memory=psram",))
    assert transfer_cycles(chip, "weights", 4096) == 30 + 4 * (12 + 512) * 5
    assert least_cost(chip, "weights") == (30, Fraction(524 * 5, 1024))
    assert transfer_cycles(chip, "load", 4096) == transfer_cycles(plain, "load", 4096)
    assert transfer_cycles(plain, "weights", 4096) == transfer_cycles(plain, "load", 4096)
    shape = shape_of(chip, "weights", 4096)
    assert shape.setup + shape.data == transfer_cycles(chip, "weights", 4096)
