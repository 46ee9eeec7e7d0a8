"""The routes of LUNA ARCS against the vendor's figures (hardware.md, "DMA routes")."""

import csv
from dataclasses import replace
from fractions import Fraction
from typing import cast

import pytest

from chipmodel.errors import BadInput
from chipmodel.hardware.chip import BurstDma
from chipmodel.hardware.chip_file import load_chip
from chipmodel.hardware.clocks import Clock
from chipmodel.hardware.psram_parts import device_named
from chipmodel.timing.routes import (
    PsramPort,
    TransferRoute,
    flash_to_shared,
    line,
    psram_to_shared,
    shared_to_psram,
)
from chipmodel.timing.transfer import burst_routes_of, route_cycles
from tests.support.bursts import assert_legal, bursts_of
from tests.support.folders import HARDWARE

LUNA = load_chip("luna-arcs")
LUNA_ROUTES = burst_routes_of(LUNA)
LUNA_CORE = Clock(Fraction(300))
LUNA_DMA = cast(BurstDma, LUNA.dma)
LUNA_PORT = PsramPort(device_named("LUNA-ARCS"), LUNA_CORE)


def route_named(name: str) -> TransferRoute:
    return LUNA_ROUTES[name]


TABLE = HARDWARE / "luna_transfer.csv"
ROWS = [(r["route"], int(r["bytes"]), int(r["core_cycles"])) for r in csv.DictReader(TABLE.open())]


def bar(route: str, size: int) -> float:
    """The largest relative error that is accepted."""
    if size < 1024:
        return 0.12
    return 0.02 if route == "npu shared->shared" else 0.01


def near(found: float, right: float, relative: float) -> bool:
    return abs(found - right) <= relative * right


def test_a_part_with_ce_set_up_and_hold_pays_them_on_every_burst() -> None:
    """hardware.md, octal Psram on ESP32-S3: 12 clocks, CS set-up and hold 6, delay 2, and 16 for 32 bytes."""
    port = PsramPort(device_named("ESP32-S3-octal"), LUNA_CORE, prefetch_lines=0)
    assert port.read_clocks(1) == 12 + 16 + 6 + 2
    assert psram_to_shared(LUNA_DMA, port).per_byte == Fraction(36 * 300, 80 * 32)


@pytest.mark.parametrize(("route", "size", "cycles"), ROWS)
def test_the_measured_table(route: str, size: int, cycles: int) -> None:
    assert near(route_named(route).cycles(size), cycles, bar(route, size))


def test_from_a_page_on_the_npu_reads_line_by_line() -> None:
    route = route_named("npu psram->shared")
    below, page = (route.cycles(size) for size in (1023, 1024))
    assert page - below > 600
    assert route.least_per_byte * 1023 <= below


@pytest.mark.parametrize(
    ("size", "load", "store"),
    [
        # Up to 256 bytes at the copy's pace: 8 lines of 21 cycles after 634 and the opening, 18 clocks of
        # 1.25 cycles (22.5) for a load and 3 more at the crossing (26.25) for a store: 824.5 and 828.25.
        (256, 825, 829),
        # A little more than the short size: 8 of 768 bytes on the way to the pace of 1 KB.
        (264, 834, 835),  # 833.03 and 834.27
        # 1 KB at the Psram's pace: 656.5 + 32 * 92.5 / 3 = 1643.17; 634 - 20 + 32 * 24.75 = 1406.
        (1024, 1644, 1406),
        # On the straight line between the two: half and two thirds of the way.
        (640, 1234, 1118),  # 1233.83 and 1117.13
        (768, 1371, 1214),  # 1370.28 and 1213.42
    ],
)
def test_short_transfers_settle_at_four_times_the_short_size(size: int, load: int, store: int) -> None:
    """hardware.md, "DMA routes": the lines hold from 1 KiB on; 256 bytes take 821 and 829 as measured."""
    assert route_named("dma psram->shared").cycles(size) == load
    assert route_named("dma shared->psram").cycles(size) == store
    # The sizes that a route has where its chip names none are those of LUNA.
    assert psram_to_shared(LUNA_DMA, LUNA_PORT).cycles(size) == load


def test_a_store_without_a_set_up_of_its_own_hides_the_posted_line() -> None:
    """A set-up of 10 cycles is less than the 20 (16 clocks) that the last line is still in flight: nothing
    is left of it, and 32 lines take 24.75 cycles each."""
    quick = replace(LUNA_DMA, setup_cycles=10)
    assert shared_to_psram(quick, LUNA_PORT).cycles(1024) == 32 * 99 // 4


def test_a_store_is_as_slow_as_the_psram_where_that_is_slower_than_the_copy() -> None:
    """APS6404L in QPI at 84 MHz: two clocks a byte. CE# may be low for 8 us, 672 clocks: 8 of command and
    address, and 332 bytes. A page of 1 KB is four bursts, each with 50 ns of CE# high, 5 clocks."""
    port = replace(LUNA_PORT, device=device_named("APS6404L-QPI"))
    clocks = 4 * (2 + 6 + 5) + 2 * 1024
    assert shared_to_psram(LUNA_DMA, port).per_byte == Fraction(clocks * 300, 84 * 1024)


def test_bounds_of_a_route_whose_short_transfers_are_cheap_by_hand() -> None:
    """32 cycles for a line of 32 bytes up to 256, 64 from 1024 on, and a straight line between."""
    route = TransferRoute("r", 32, line(0, 64), line(0, 32))
    assert (route.cycles(256), route.cycles(640), route.cycles(1024)) == (256, 1152, 2048)
    assert route.per_byte == 2
    assert route.least_per_byte == 1  # 256 cycles for 256 bytes; 2 at 1024
    assert route.least_setup == 256 - 2 * 256
    assert replace(route, head=None).least_per_byte == 2
    assert replace(route, head=None).least_setup == 0


def test_the_flash_sets_the_pace_until_it_is_faster_than_the_copy() -> None:
    fast = flash_to_shared(LUNA_DMA, LUNA_CORE, Clock(Fraction(1000)))
    assert fast.cycles(65536) - fast.cycles(32768) == 1024 * LUNA_DMA.line_cycles


@pytest.mark.parametrize(("write", "burst"), [(False, 96), (False, 256), (True, 32), (True, 256)])
def test_the_bursts_behind_the_routes_are_legal(write: bool, burst: int) -> None:
    """Reads of three lines, writes of one; and the single burst of a transfer of 256 bytes."""
    device = device_named("LUNA-ARCS")
    bursts = list(bursts_of(device, 0, 65536, write, max_burst=burst))
    assert_legal(device, bursts)
    assert bursts[0].low + device.ce_high_min == (18 + burst // 2 + 8)


def test_unknown_routes_and_empty_transfers_are_refused() -> None:
    with pytest.raises(BadInput, match="did you mean 'dma psram->shared'"):
        route_cycles(LUNA, "dma psram->share", 4)
    with pytest.raises(BadInput, match="does not model the route 'dma flash->shared'"):
        route_cycles(load_chip("gap9-psram"), "dma flash->shared", 4)
    with pytest.raises(BadInput, match="a transfer of 0 bytes on"):
        route_named("dma shared->shared").cycles(0)
