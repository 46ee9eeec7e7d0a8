"""The affine transfer model against the LUNA vendor's own table.

Figures: luna_transfer, LISTENAI/thinker (Apache-2.0), commit 562ddc70: core cycles at 300 MHz.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from chipmodel.chip_file import load_chip
from dma.timing import cycles_per_byte, transfer_cycles

LOADS = {1024: 1645, 4096: 4612, 16384: 16468, 65536: 63922}
STORES = {1024: 1405, 4096: 3778, 16384: 13261, 65536: 51205}


@pytest.mark.parametrize(("size", "cycles"), LOADS.items())
def test_loads_on_luna(size: int, cycles: int) -> None:
    assert transfer_cycles(load_chip("luna-arcs"), "load", size) == pytest.approx(cycles, rel=0.001)


@pytest.mark.parametrize(("size", "cycles"), STORES.items())
def test_stores_on_luna(size: int, cycles: int) -> None:
    assert transfer_cycles(load_chip("luna-arcs"), "store", size) == pytest.approx(cycles, rel=0.001)


def test_the_published_slopes_follow_from_the_burst() -> None:
    chip = load_chip("luna-arcs")
    assert cycles_per_byte(chip, "load") * 32 == Fraction("30.891")
    assert cycles_per_byte(chip, "store") * 32 == Fraction("24.702")


def test_half_the_psram_clock_doubles_the_slope() -> None:
    fast, slow = load_chip("luna-arcs"), load_chip("luna-arcs", ["psram.clock_mhz=120"])
    assert cycles_per_byte(slow, "load") == 2 * cycles_per_byte(fast, "load")
