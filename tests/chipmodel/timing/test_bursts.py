"""Bursts of transfers: the closed form against a walk word by word, and the rules on every burst."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput
from chipmodel.hardware.psram_device import Collision, Crossing, Device, burst_clocks, burst_limit
from chipmodel.hardware.psram_parts import DEVICES, device_named
from chipmodel.timing.routes import PsramPort
from tests.support.bursts import assert_legal, bursts_of, held_clocks, wall

COLLISIONS: tuple[Collision, ...] = ("none", "worst", "expected", "phase")


@st.composite
def devices(draw: st.DrawFn) -> Device:
    device = draw(st.sampled_from([device_named(name) for name in sorted(DEVICES)]))
    return replace(
        device,
        ce_low_max_us=draw(st.sampled_from([None, Fraction(4, 5), Fraction(1), Fraction(7)])),
        crossing=draw(st.sampled_from(["never", "reads", "always"])),
        boundary_bytes=draw(st.sampled_from([None, 64, 512, 4096])),
        latency_mode=draw(st.sampled_from(["fixed", "variable"])),
    )


@st.composite
def transfers(draw: st.DrawFn) -> tuple[Device, int, int, bool, int | None]:
    return (
        draw(devices()),
        draw(st.integers(0, 9000)),
        draw(st.integers(0, 9000)),
        draw(st.booleans()),
        draw(st.sampled_from([None, 32, 96, 100, 1000])),
    )


def walked(
    device: Device, address: int, size: int, write: bool, max_burst: int | None
) -> Iterator[tuple[int, int]]:
    """Address and bytes of every burst, found byte by byte: a word joins unless that breaks a rule."""
    word = device.word_bytes
    place = first = address - address % word
    for nxt in range(address, address + size):
        if nxt < place + word and nxt != place:
            continue
        place = nxt
        grown = min(place + word, address + size) - first
        worst = burst_clocks(device, first, place + word - first, write, collided=True)
        worst += device.ce_setup_hold_clocks
        full = max_burst is not None and place + word - first > max_burst
        late = device.ce_low_limit is not None and worst > device.ce_low_limit
        edge = wall(device, write)
        at_wall = edge is not None and place % edge == 0
        if place > first and (full or late or at_wall):
            yield max(first, address), place - max(first, address)
            first = place
        assert grown > 0
    if size:
        yield max(first, address), address + size - max(first, address)


@pytest.mark.slow
@given(transfers())
def test_bursts_equal_a_walk_byte_by_byte(transfer: tuple[Device, int, int, bool, int | None]) -> None:
    device, address, size, write, max_burst = transfer
    found = [(b.address, b.bytes) for b in bursts_of(device, address, size, write, max_burst)]
    assert found == list(walked(device, address, size, write, max_burst))


def page_clocks(device: Device, write: bool, collision: Collision) -> Fraction:
    """Clocks for which a page holds the Psram by the closed form of the routes."""
    limit = burst_limit(device, write)
    longest = min(device.page_bytes, limit or device.page_bytes)
    port = PsramPort(device, device.clock, collision=collision)
    return port.run_cycles(Fraction(device.page_bytes, port.line_bytes), longest, write)


@given(devices(), st.booleans())
def test_the_closed_form_of_a_page_is_the_sum_over_its_bursts(device: Device, write: bool) -> None:
    device = replace(device, boundary_bytes=None)
    assert_legal(device, list(bursts_of(device, 0, device.page_bytes, write)))
    both: tuple[tuple[Collision, bool], ...] = ("none", False), ("worst", True)
    for collision, collided in both:
        held = held_clocks(device, device.page_bytes, write, collided)
        assert page_clocks(device, write, collision) == held


def test_collisions_cost_between_none_and_worst() -> None:
    device = replace(device_named("S27KS0642"), latency_mode="variable")
    none, worst, expected, phase = (page_clocks(device, False, each) for each in COLLISIONS)
    # A refresh of 7 clocks each 1562.5, met by each burst at random.
    bursts = len(list(bursts_of(device, 0, device.page_bytes)))
    assert expected - none == bursts * 7 * Fraction(7) / Fraction("1562.5")
    assert worst - none == bursts * 7
    assert phase == none, "the simulation finds these"


def test_fixed_latency_hides_refreshes() -> None:
    device = device_named("S27KS0642")
    assert len({page_clocks(device, False, collision) for collision in COLLISIONS}) == 1


def test_worked_example_a_kilobyte_by_qpi_takes_four_bursts() -> None:
    """hardware.md: "2062, so 4 bursts": 8 us at 84 MHz is 672 clocks, 14 of them overhead."""
    device = device_named("APS6404L-QPI")
    bursts = list(bursts_of(device, 0, 1024))
    assert [b.bytes for b in bursts] == [329, 329, 329, 37]
    assert max(b.low for b in bursts) == 672
    assert held_clocks(device, 1024) == 4 * (14 + 5) + 2048


def test_pages_stop_reads_and_writes_unless_crossing_is_on() -> None:
    device = replace(device_named("APS256XXN-x8"), ce_low_max_us=None)
    counts: list[tuple[Crossing, int, int]] = [("never", 3, 3), ("reads", 1, 3), ("always", 1, 1)]
    for crossing, reads, writes in counts:
        part = replace(device, crossing=crossing)
        assert len(list(bursts_of(part, 1000, 4096))) == reads
        assert len(list(bursts_of(part, 1000, 4096, write=True))) == writes


def test_ce_low_leaves_room_for_a_refresh() -> None:
    """A variable latency may double on any burst, so the split assumes the doubled one."""
    device = replace(device_named("APS256XXN-x16"), crossing="always", page_bytes=1 << 20)
    longest = max(b.bytes for b in bursts_of(device, 0, 1 << 16))
    low = burst_clocks(device, 0, longest, collided=True) + device.ce_setup_hold_clocks
    assert low == device.ce_low_limit == 400


def test_assert_legal_finds_each_broken_rule() -> None:
    device = replace(device_named("APS256XXN-x8"), boundary_bytes=512)
    first, second, *_ = bursts_of(device, 0, 4096)
    assert_legal(device, [first, second])
    broken = {
        "follows CE# high of 4": [first, replace(second, start=second.start - 1)],
        "holds CE# low": [replace(first, low=401)],
        "its data need": [replace(first, low=first.low - 1)],
        "crosses 512": [replace(first, address=256)],
        "is empty": [replace(first, bytes=0)],
    }
    for message, bursts in broken.items():
        with pytest.raises(AssertionError, match=message):
            assert_legal(device, bursts)


def test_what_cannot_be_moved_is_refused() -> None:
    device = device_named("LUNA-ARCS")
    with pytest.raises(BadInput, match="no burst fits"):
        burst_limit(replace(device, ce_low_max_us=Fraction(1, 100)))
    part = replace(device, latency_mode="variable", collided_multiple=2)
    with pytest.raises(BadInput, match="no refresh figures"):
        page_clocks(part, False, "expected")
