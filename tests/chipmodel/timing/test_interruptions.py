from dataclasses import replace
from fractions import Fraction

from chipmodel.hardware.chip import Cpu
from chipmodel.hardware.chip_file import load_chip
from chipmodel.timing.interruptions import Interruption, interruptions
from tests.support.chips import LUNA_LIKE

REFRESH = Interruption("refresh", Fraction(25, 2), 4, (6, 0))
CPU = Interruption("cpu", Fraction(100), 30, None)


def test_due_times_land_on_whole_cycles() -> None:
    assert [REFRESH.due(k) for k in (1, 2, 3)] == [13, 25, 38]
    assert [REFRESH.last(c) for c in (0, 12, 13, 24, 25, 37, 38)] == [0, 0, 1, 1, 2, 2, 3]


def test_a_burst_collides_with_a_refresh_in_progress() -> None:
    assert REFRESH.delay(1, 0, 13, "load") == 6  # due at 13 on a Psram that is free
    assert REFRESH.delay(1, 0, 16, "load") == 6
    assert REFRESH.delay(1, 0, 17, "load") == 0  # over after 4 cycles
    assert REFRESH.delay(1, 0, 16, "store") == 0
    # It fell due while CE# was low, so it begins when the burst before has ended.
    assert REFRESH.delay(1, 20, 20, "load") == 6
    assert REFRESH.delay(1, 20, 24, "load") == 0


def test_a_burst_waits_for_the_end_of_the_cpus_line() -> None:
    assert CPU.delay(1, 0, 100, "load") == 30
    assert CPU.delay(1, 0, 129, "load") == 1
    assert CPU.delay(1, 0, 130, "load") == 0
    assert CPU.delay(1, 110, 110, "store") == 30


def test_the_interruptions_of_a_chip() -> None:
    assert not list(interruptions(LUNA_LIKE))
    busy = replace(LUNA_LIKE, cpu=Cpu(psram_every=500, line_bytes=32))
    # 8.7128 clocks of overhead and 16 of data at 240 MHz, under a core of 300 MHz.
    assert list(interruptions(busy)) == [Interruption("cpu", Fraction(500), 31, None)]


def test_the_cpus_line_on_luna_is_a_burst_of_its_own() -> None:
    """hardware.md, "DMA routes": a line alone is 18 + 16 + 8 = 42 clocks at 240 MHz, 52.5 cycles."""
    busy = load_chip("luna-arcs", ["cpu.psram_every_cycles=500"])
    assert list(interruptions(busy)) == [Interruption("cpu", Fraction(500), 53, None)]
    wide = load_chip("luna-arcs", ["cpu.psram_every_cycles=500", "cpu.line_bytes=64"])
    assert list(interruptions(wide)) == [Interruption("cpu", Fraction(500), 73, None)]  # 58 clocks, 72.5


def test_a_refresh_by_phase_comes_from_the_parts_figures() -> None:
    sets = ("psram.device=APS256XXN-x8", "psram.clock_mhz=200", "psram.collision=phase")
    chip = load_chip("luna-arcs", sets)
    (refresh,) = interruptions(chip)
    # hardware.md: 64 ms / 8192 rows = 7.8125 us; LC 7 doubled is 7 clocks more, 10.5 of 300 MHz.
    assert (refresh.cause, refresh.period, refresh.cost) == ("refresh", Fraction("7.8125") * 300, (11, 11))
    assert not list(interruptions(load_chip("luna-arcs", sets[:2])))
