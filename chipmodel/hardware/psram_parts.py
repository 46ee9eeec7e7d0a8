"""Psram parts by name, with the numbers of their datasheets (docs/reference/hardware.md, "Psram devices")."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import suggest
from chipmodel.hardware.psram_device import Device, Protocol, Refresh

_ROW_US = Fraction(64_000, 8192)
"""Microseconds between row refreshes: 64 ms / 8192 rows (HyperRAM datasheets)."""

_REFRESH = Refresh(_ROW_US, Fraction(35))
"""Assumed: a refresh takes as long as one access of the array, tACC = 35 ns (latency code 7 at 200 MHz)."""


def _latency(*codes: tuple[int, int]) -> tuple[tuple[Fraction, int], ...]:
    return tuple((Fraction(limit), clocks) for limit, clocks in codes)


_XCCELA = _latency((66, 3), (109, 4), (133, 5), (166, 6), (200, 7))
"""APS256XXN-OBR datasheet: latency code by frequency."""

_HYPER = _latency((83, 3), (100, 4), (133, 5), (166, 6), (200, 7))
"""Latency code = ceil(tACC x f) with tACC = 35 ns (HyperRAM datasheets)."""


def _aps6404l(name: str, protocol: str, wait: int, *assumed: str) -> Device:
    settings: dict[str, Any] = {"protocol": protocol, "latency_codes": _latency((84, wait))}
    return Device(
        name,
        clock_mhz=Fraction(84),
        write_latency=0,
        ce_low_max_us=Fraction(8),
        ce_high_ns=Fraction(50),
        crossing="always",
        assumed=assumed,
        **settings,
    )


def _aps256(name: str, protocol: str) -> Device:
    settings: dict[str, Any] = {"protocol": protocol, "latency_codes": _XCCELA}
    return Device(
        name,
        clock_mhz=Fraction(200),
        latency_mode="variable",
        fixed_multiple=2,
        collided_multiple=2,
        ce_low_max_us=Fraction(2),
        ce_high_ns=Fraction(24),
        page_bytes=2048,
        refresh=_REFRESH,
        assumed=("refresh", "write_latency"),
        **settings,
    )


def _hyperram(
    name: str, clock: int, ce_high: Fraction, protocol: Protocol = "HyperBus", codes: int = 5, **settings: Any
) -> Device:
    return Device(
        name,
        protocol=protocol,
        clock_mhz=Fraction(clock),
        latency_codes=_HYPER[:codes],
        fixed_multiple=2,
        collided_multiple=2,
        ce_low_max_us=Fraction(4),
        ce_high_ns=ce_high,
        crossing="always",
        refresh=_REFRESH,
        **settings,
    )


_ALL = (
    _aps6404l("APS6404L-QPI", "QPI", 6),
    _aps6404l("APS6404L-QPI-0Bh", "QPI", 4, "latency_codes"),
    _aps6404l("APS6404L-1-4-4", "1-4-4", 6),
    _aps6404l("APS6404L-SPI", "SPI", 8, "latency_codes"),
    _aps256("APS256XXN-x8", "Xccela x8"),
    _aps256("APS256XXN-x16", "Xccela x16"),
    Device(
        "ESP32-S3-octal",
        protocol="Xccela x8",
        clock_mhz=Fraction(80),
        latency_codes=_latency((80, 10)),
        ce_low_max_us=Fraction(8),
        ce_high_clocks=2,
        ce_setup_hold_clocks=6,
        assumed=("ce_low_max_us", "write_latency", "crossing"),
    ),
    _hyperram(
        "S27KS0642", 200, Fraction(6), recovery_ns=Fraction(35), assumed=("refresh.busy_ns", "recovery_ns")
    ),
    _hyperram(
        *("S80KS2564", 200, Fraction(6), "HyperBus x16"),
        latency_mode="variable",
        recovery_ns=Fraction(35),
        assumed=("refresh", "ce_low_max_us", "ce_high_ns", "recovery_ns"),
    ),
    _hyperram("S27KL0641", 166, Fraction(6), codes=4, assumed=("refresh", "ce_low_max_us", "ce_high_ns")),
    _hyperram(
        "IS66WVH8M8ALL", 166, Fraction(6), codes=4, latency_mode="variable", assumed=("refresh", "page_bytes")
    ),
    Device(
        "LUNA-ARCS",
        protocol="Xccela x8",
        clock_mhz=Fraction(240),
        latency_codes=_latency((240, 16)),
        ce_low_max_us=Fraction(7),
        ce_high_clocks=8,
        # Measured loads show no shorter burst at the end of a page (chipmodel.timing.routes).
        crossing="reads",
        assumed=("write_latency", "crossing"),
    ),
)

DEVICES = {device.name: device for device in _ALL}
"""All known parts by name."""


def device_named(name: str) -> Device:
    """The part with this name. Raises BadInput, with the most similar name, for an unknown one."""
    if name not in DEVICES:
        raise BadInput(f"no Psram device is named '{name}'", hint=suggest(name, DEVICES, "known devices are"))
    return DEVICES[name]
