"""The HyperBus controller at every phase of its clocks; the RTL's tables are in ``measured/test_compare``."""

import csv
from dataclasses import replace
from fractions import Fraction
from typing import cast

import pytest
from hypothesis import assume, given, strategies as st

from chipmodel.errors import BadInput
from chipmodel.hardware.chip import HyperBusDma
from chipmodel.hardware.chip_file import load_chip
from chipmodel.hardware.clocks import Clock, rescaled
from chipmodel.timing.controllers import HyperBus, ef_protocol
from tests.support.folders import HARDWARE

PULP = cast(HyperBusDma, load_chip("pulp-hyperbus").dma)


def hyperbus(sys_mhz: Fraction | int, ck_mhz: Fraction | int, **constants: int) -> HyperBus:
    """The controller at a latency of 6 clocks, with other ``constants`` of it."""
    return HyperBus(Clock(Fraction(sys_mhz)), Clock(Fraction(ck_mhz)), replace(PULP, **constants))  # type: ignore[arg-type]


def label(row: dict[str, str]) -> str:
    return "-".join(row.values())


READS = list(csv.DictReader((HARDWARE / "rtl_hyperbus_read.csv").read_text().splitlines()))
LATENCY = ("latency_clocks", "latency_multiple", "max_burst_words")


@pytest.mark.parametrize("row", READS, ids=label)
def test_every_measurement_is_one_of_the_phases(row: dict[str, str]) -> None:
    constants = {key: int(row[key]) for key in LATENCY}
    bus = hyperbus(Fraction(row["sys_mhz"]), Fraction(row["ck_mhz"]), **constants)
    low, high = bus.spread(int(row["bytes"]))
    assert low <= int(row["last_beat_sys_cycle"]) <= high


@given(
    st.integers(3, 7),
    st.integers(1, 2),
    st.integers(8, 400),
    st.integers(4, 3000),
    st.sampled_from([100, 200]),
)
def test_equal_clocks_are_the_published_closed_form(
    code: int, multiple: int, longest: int, words: int, mhz: int
) -> None:
    """hardware.md: last = 18 + L + N/2 + (segments - 1) * (8 + L), 19 at 200/200 MHz."""
    bus = hyperbus(mhz, mhz, latency_clocks=code, latency_multiple=multiple, max_burst_words=longest)
    read = bus.read(2 * words)
    latency, segments = code * multiple, -(-words // longest)
    fixed = 18 if mhz == 100 else 19
    assert read.last_beat == fixed + latency + words + (segments - 1) * (8 + latency)
    assert read.first_beat == fixed + latency + 4


def edge_by_edge(bus: HyperBus, words: int, reads: int, lead: Fraction) -> int:
    """System cycles of queued reads, every edge of both clocks visited in turn; system edge 0 puts the
    first request out, ``lead`` microseconds before an edge of the Psram clock, which goes first where
    the two coincide. One read is at most one CS# low here."""
    sys_edge, ck_edge = 0, 0
    busy, asked, done, released = 0, reads, 0, 0
    captured: int | None = None
    requests: list[int] = [0]
    while True:
        ck_time = lead + bus.ck.time(ck_edge)
        if ck_time <= bus.sys.time(sys_edge):
            # A toggle of an earlier system edge is seen; one of this very edge is not.
            if busy:
                busy -= 1
                captured = 0 if not busy else captured
            elif requests and bus.sys.time(requests[0]) < ck_time:
                requests.pop()
                busy = bus.capture_clocks + bus.dma.latency + words
            ck_edge += 1
            continue
        if captured is not None:
            captured, done, released = None, done + 1, sys_edge + bus.dma.turnaround_cycles
            if done == asked:
                return bus.dma.request_cycles + sys_edge + bus.dma.response_cycles
            requests.append(released)
        sys_edge += 1


@given(
    st.sampled_from([(100, 100), (200, 100), (400, 100), (300, 166), (200, 133), (300, 200), (250, 100)]),
    st.integers(4, 60),
    st.integers(1, 5),
    st.integers(0, 400),
)
def test_phases_edge_by_edge(clocks: tuple[int, int], words: int, reads: int, step: int) -> None:
    """No phase of the clocks ends later than the aligned one. The shortest first wait of
    several reads in a row need not end first: the second may wait longer."""
    bus = hyperbus(*clocks)
    shortest = Fraction(1, 1200 * 166 * 133)
    longest = 1 / bus.ck.mhz
    waits = [shortest, longest, min(longest, shortest + step * longest / 400)]
    first, last, some = (edge_by_edge(bus, words, reads, wait) for wait in waits)
    assert max(first, some) <= last
    assert reads > 1 or first <= some
    assert bus.back_to_back(reads, 2 * words, phase="aligned").last_beat == last
    if reads == 1:
        assert bus.spread(2 * words)[1] == last
        assert bus.spread(2 * words)[0] >= first


@given(st.integers(100, 400), st.sampled_from([100, 133, 166, 200]), st.integers(4, 600))
def test_the_middle_is_within_a_cycle_of_every_phase(sys: int, ck: int, words: int) -> None:
    """Where the system clock is less than twice the Psram clock: three cycles are all there are."""
    assume(ck <= sys < 2 * ck)
    bus = hyperbus(sys, ck)
    low, high = bus.spread(2 * words)
    middle = bus.read(2 * words, phase="middle").last_beat
    assert max(middle - low, high - middle) <= 1


def test_an_address_inside_a_beat_makes_the_first_one_earlier() -> None:
    bus = hyperbus(100, 100)
    assert bus.read(64, 4).first_beat == bus.read(64).first_beat - 2


def test_the_additional_clock_comes_from_the_round_trip() -> None:
    """Anything from 1.51 to 2.5 ns adds the clock that the tables show at 166 and 200 MHz but not at 100."""
    bus = hyperbus(200, 200)
    quick = replace(bus, dma=replace(bus.dma, round_trip_ns=Fraction(1)))
    assert [each.read(64).last_beat for each in (bus, quick)] == [57, 56]


def test_a_system_clock_that_cannot_follow_is_refused() -> None:
    with pytest.raises(BadInput, match="100 MHz cannot empty what 166 MHz"):
        hyperbus(100, 166)


def test_unknown_commands_of_serial_psram_are_refused() -> None:
    with pytest.raises(BadInput, match="command 'EBh' names no protocol"):
        ef_protocol("EBh")


def test_edges() -> None:
    clock = Clock(Fraction(100))
    on, before = Fraction(3, 100), Fraction(29, 1000)
    assert (clock.edge_at(on), clock.edge_after(on)) == (3, 4)
    assert (clock.edge_at(before), clock.edge_after(before)) == (3, 3)
    assert rescaled(10, clock, Clock(Fraction(300))) == 30
    with pytest.raises(ValueError, match="positive frequency"):
        Clock(Fraction(0))
