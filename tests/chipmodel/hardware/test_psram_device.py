"""Psram devices against worked examples of their datasheets (docs/reference/hardware.md)."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput
from chipmodel.hardware.psram_device import (
    Device,
    burst_clocks,
    data_clocks,
    latency_clocks,
    overhead_clocks,
)
from chipmodel.hardware.psram_parts import DEVICES, device_named
from tests.support.bursts import bursts_of, held_clocks


def at(name: str, mhz: Fraction | int, **settings: object) -> Device:
    changed: dict[str, object] = {"clock_mhz": Fraction(mhz), **settings}
    return replace(device_named(name), **changed)  # type: ignore[arg-type]


VARIABLE = {"latency_mode": "variable"}
WORKED = {
    "APS6404L QPI 84 MHz": (at("APS6404L-QPI", 84), 14, (22, 78, 526, 2062)),
    "HyperRAM 166 MHz, LC 6": (at("S27KS0641", 166, **VARIABLE), 8, (10, 24, 136, 520)),
    "HyperRAM 200 MHz, LC 7 doubled": (at("S27KS0642", 200), 16, (18, 32, 144, 528)),
    "W958D8 200 MHz, LC 7 doubled": (at("W958D8NBYA", 200), 16, (18, 32, 144, 528)),
    "HyperRAM 3.0 x16 200 MHz, LC 7 variable": (at("S80KS2564", 200), 9, (10, 17, 73, 265)),
    "Xccela x8 80 MHz, RL 10": (at("ESP32-S3-octal", 80), 12, (14, 28, 140, 524)),
    "Xccela x8 240 MHz, RL 16": (at("LUNA-ARCS", 240), 18, (20, 34, 146, 530)),
    "Xccela x16 200 MHz, LC 7 variable": (at("APS256XXN-x16", 200), 9, (10, 17, 73, 265)),
}


@pytest.mark.parametrize("example", WORKED)
def test_worked_examples_are_exact(example: str) -> None:
    device, overhead, clocks = WORKED[example]
    assert overhead_clocks(device) == overhead
    assert tuple(burst_clocks(device, 0, size) for size in (4, 32, 256, 1024)) == clocks


@pytest.mark.parametrize(("code", "mhz", "first_data"), [(3, 83, 5), (6, 166, 8), (7, 200, 9)])
def test_first_data_of_hyperram_as_on_the_vendors_model(code: int, mhz: int, first_data: int) -> None:
    device = at("S27KS0642", mhz, **VARIABLE)
    assert device.latency_code == code
    assert overhead_clocks(device) == first_data


def test_doubled_latency_of_hyperram_as_on_the_vendors_model() -> None:
    assert overhead_clocks(at("S27KS0642", 166)) == 14
    assert overhead_clocks(at("S27KS0642", 166, **VARIABLE), collided=True) == 14


@pytest.mark.parametrize(
    ("name", "fixed", "per_byte"),
    [("APS6404L-QPI-0Bh", 12, 2), ("APS6404L-1-4-4", 20, 2), ("APS6404L-SPI", 40, 8)],
)
def test_serial_protocols(name: str, fixed: int, per_byte: int) -> None:
    device = device_named(name)
    assert all(burst_clocks(device, 0, n) == fixed + per_byte * n for n in (1, 3, 17))


def test_serial_writes_do_not_wait() -> None:
    assert overhead_clocks(device_named("APS6404L-QPI"), write=True) == 8


@pytest.mark.parametrize(
    ("mhz", "code"), [(66, 3), (67, 4), (109, 4), (133, 5), (134, 6), (166, 6), (167, 7), (200, 7)]
)
def test_latency_code_of_aps256_follows_the_clock(mhz: int, code: int) -> None:
    device = at("APS256XXN-x8", mhz)
    assert latency_clocks(device) == code
    assert latency_clocks(replace(device, latency_mode="fixed")) == 2 * code


@pytest.mark.parametrize("mhz", [50, 83, 85, 86, 100, 104, 133, 166, 200])
def test_latency_code_of_hyperram_is_its_access_time(mhz: int) -> None:
    access_ns = 35
    assert at("S27KS0642", mhz).latency_code == max(3, -(-access_ns * mhz // 1000))


@given(st.sampled_from(DEVICES), st.integers(1, 9000), st.booleans(), st.sampled_from(["fixed", "variable"]))
def test_a_faster_clock_of_the_datasheet_is_never_slower(
    name: str, size: int, write: bool, latency: str
) -> None:
    """At the fastest clock of each latency code. Between two of them the later code is waited for."""
    device = device_named(name)
    limits = {limit for limit, _ in device.latency_codes} | {device.crossing_mhz or device.clock_mhz}
    parts = (at(name, mhz, latency_mode=latency) for mhz in sorted(limits))
    times = [held_clocks(part, size, write) / part.clock_mhz for part in parts]
    assert times == sorted(times, reverse=True)


def test_clocks_of_aps6404l_are_those_of_its_commands() -> None:
    """Its table of commands: EBh 133 MHz, 84 MHz across pages; 0Bh in QPI 66 MHz with 4 wait clocks."""
    fast, slow = at("APS6404L-QPI", 133), at("APS6404L-QPI", 84)
    assert (fast.crosses(write=False), slow.crosses(write=False)) == (False, True)
    assert [b.bytes for b in bursts_of(fast, 1000, 32)] == [24, 8]
    assert [b.bytes for b in bursts_of(slow, 1000, 32)] == [32]
    for name, mhz in (("APS6404L-QPI", 134), ("APS6404L-QPI-0Bh", 67), ("S27KS0641", 167)):
        with pytest.raises(BadInput, match=f"no latency code for {mhz} MHz"):
            burst_clocks(at(name, mhz), 0, 4)


def test_a_clock_without_a_latency_code_is_refused() -> None:
    with pytest.raises(BadInput, match="no latency code for 250 MHz"):
        burst_clocks(at("S27KS0642", 250), 0, 4)


def test_an_unknown_device_is_named_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'LUNA-ARCS'"):
        device_named("LUNA-ARC")


def test_times_are_rounded_to_clocks_on_the_safe_side() -> None:
    """Datasheets: 7.0 us at 240 MHz, 50 ns at 84 MHz (4.2 clocks), 24 ns at 200 MHz (4.8)."""
    assert device_named("LUNA-ARCS").ce_low_limit == 1680
    assert device_named("LUNA-ARCS").ce_high_min == 8
    assert device_named("APS6404L-QPI").ce_high_min == 5
    assert device_named("APS256XXN-x16").ce_high_min == 5
    assert at("APS256XXN-x16", 133).ce_low_limit == 266


def test_recovery_of_hyperram_overlaps_the_next_command() -> None:
    """tRWR 35 ns is 7 clocks at 200 MHz, of which the command-address covers 3."""
    assert device_named("S27KS0642").ce_high_min == 4


def test_an_odd_address_costs_the_other_half_of_its_word() -> None:
    device = device_named("S27KS0642")
    assert [data_clocks(device, 1, n) for n in (1, 2, 3)] == [1, 2, 2]
    assert [data_clocks(device_named("APS6404L-QPI"), 1, n) for n in (1, 2)] == [2, 4]


def test_every_assumed_field_exists() -> None:
    for device in map(device_named, DEVICES):
        for path in device.assumed:
            assert hasattr(device, path.split(".")[0]), (device.name, path)
