"""The HyperBus controller and EF_PSRAM_CTRL against their RTL, simulated to the cycle elsewhere."""

from __future__ import annotations

import csv
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from chipmodel.errors import BadInput
from chipmodel.hardware.clocks import Clock, rescaled
from chipmodel.timing.controllers import EfPsram, HyperBus, HyperBusRead, ef_protocol
from tests.support.folders import HARDWARE

TABLES = HARDWARE


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((TABLES / f"{name}.csv").read_text().splitlines()))


def hyperbus(row: dict[str, str]) -> HyperBus:
    clocks = Clock(Fraction(row["sys_mhz"])), Clock(Fraction(row["ck_mhz"]))
    if "latency_clocks" not in row:
        return HyperBus(*clocks, 6)
    keys = ("latency_clocks", "latency_multiple", "max_burst_words")
    latency, multiple, longest = (int(row[key]) for key in keys)
    return HyperBus(*clocks, latency, multiple, longest)


def read_of(row: dict[str, str]) -> HyperBusRead:
    return hyperbus(row).read(int(row["bytes"]), int(row["address"]))


def measured(row: dict[str, str]) -> HyperBusRead:
    columns = ("first_beat_sys_cycle", "last_beat_sys_cycle", "cs_low_count", "ck_clocks")
    return HyperBusRead(*(int(row[column]) for column in columns))


def label(row: dict[str, str]) -> str:
    return "-".join(row.values())


READS = rows("rtl_hyperbus_read")
QUEUED = rows("rtl_hyperbus_back_to_back")
EF = rows("rtl_ef_psram")


def equal_clocks(row: dict[str, str]) -> bool:
    return row["sys_mhz"] == row["ck_mhz"]


@pytest.mark.parametrize("row", [row for row in READS if equal_clocks(row)], ids=label)
def test_reads_at_equal_clocks_are_exact(row: dict[str, str]) -> None:
    assert read_of(row) == measured(row)


@pytest.mark.parametrize("row", [row for row in READS if not equal_clocks(row)], ids=label)
def test_reads_at_other_ratios_are_within_a_cycle(row: dict[str, str]) -> None:
    found, real = read_of(row), measured(row)
    assert abs(found.first_beat - real.first_beat) <= 1
    assert abs(found.last_beat - real.last_beat) <= 1
    assert (found.cs_lows, found.ck_clocks) == (real.cs_lows, real.ck_clocks)


@pytest.mark.parametrize("row", READS, ids=label)
def test_every_measurement_is_one_of_the_phases(row: dict[str, str]) -> None:
    low, high = hyperbus(row).spread(int(row["bytes"]))
    assert low <= measured(row).last_beat <= high


@pytest.mark.parametrize("row", [r for r in READS if r["sys_mhz"] != "300" and int(r["bytes"]) >= 8])
def test_reads_in_step_with_the_psram_clock_are_exact_at_any_whole_ratio(row: dict[str, str]) -> None:
    assert read_of(row) == measured(row)


@pytest.mark.parametrize("row", QUEUED, ids=label)
def test_reads_back_to_back(row: dict[str, str]) -> None:
    found = hyperbus(row).back_to_back(int(row["reads"]), int(row["bytes_each"]))
    whole = row["sys_mhz"] != "300"
    assert abs(found.last_beat - int(row["total_sys_cycles"])) <= (0 if whole else 1)
    assert (found.cs_lows, found.ck_clocks) == (int(row["cs_low_count"]), int(row["ck_clocks"]))


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
    clock = Clock(Fraction(mhz))
    read = HyperBus(clock, clock, code, multiple, longest).read(2 * words)
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
                busy = bus.capture_clocks + bus.latency + words
            ck_edge += 1
            continue
        if captured is not None:
            captured, done, released = None, done + 1, sys_edge + bus.turnaround_cycles
            if done == asked:
                return bus.request_cycles + sys_edge + bus.response_cycles
            requests.append(released)
        sys_edge += 1


@given(
    st.sampled_from([(100, 100), (200, 100), (400, 100), (300, 166), (200, 133), (300, 200), (250, 100)]),
    st.integers(4, 60),
    st.integers(1, 5),
    st.integers(0, 400),
)
def test_phases_edge_by_edge(clocks: tuple[int, int], words: int, reads: int, step: int) -> None:
    """Every phase of the clocks ends between the earliest and the latest, and these are reached."""
    bus = HyperBus(Clock(Fraction(clocks[0])), Clock(Fraction(clocks[1])), 6)
    burst_shape = Fraction(1, 1200 * 166 * 133)
    longest = 1 / bus.ck.mhz
    waits = [burst_shape, longest, min(longest, burst_shape + step * longest / 400)]
    first, last, some = (edge_by_edge(bus, words, reads, wait) for wait in waits)
    assert first <= some <= last
    assert bus.back_to_back(reads, 2 * words, phase="aligned").last_beat == last
    if reads == 1:
        assert bus.spread(2 * words)[1] == last
        assert bus.spread(2 * words)[0] >= first


@given(st.integers(100, 400), st.sampled_from([100, 133, 166, 200]), st.integers(4, 600))
def test_the_middle_is_within_a_cycle_of_every_phase(sys: int, ck: int, words: int) -> None:
    """Where the system clock is less than twice the Psram clock: three cycles are all there are."""
    assume(ck <= sys < 2 * ck)
    bus = HyperBus(Clock(Fraction(sys)), Clock(Fraction(ck)), 6)
    low, high = bus.spread(2 * words)
    middle = bus.read(2 * words, phase="middle").last_beat
    assert max(middle - low, high - middle) <= 1


def test_an_address_inside_a_beat_makes_the_first_one_earlier() -> None:
    bus = HyperBus(Clock(Fraction(100)), Clock(Fraction(100)), 6)
    assert bus.read(64, 4).first_beat == bus.read(64).first_beat - 2


def test_the_additional_clock_comes_from_the_round_trip() -> None:
    fast = Clock(Fraction(200))
    bus = HyperBus(fast, fast, 6)
    assert bus.read(64).last_beat == 57
    assert replace(bus, round_trip_us=Fraction(1, 1000)).read(64).last_beat == 56


def test_a_system_clock_that_cannot_follow_is_refused() -> None:
    with pytest.raises(BadInput, match="100 MHz cannot empty what 166 MHz"):
        HyperBus(Clock(Fraction(100)), Clock(Fraction(166)), 6)


@pytest.mark.parametrize("row", EF, ids=label)
def test_ef_psram_to_the_cycle(row: dict[str, str]) -> None:
    access = ef_protocol(row["command"]), int(row["bytes"]), int(row["wait_clocks"])
    assert EfPsram().cycles(*access) == int(row["controller_cycles"])
    assert EfPsram().sck_clocks(*access) == int(row["sck_clocks"])


def test_ef_psram_refuses_unknown_protocols() -> None:
    with pytest.raises(BadInput, match="not HyperBus"):
        EfPsram().cycles("HyperBus", 4)
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
