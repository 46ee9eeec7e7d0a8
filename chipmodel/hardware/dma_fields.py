"""Build the DMA engine and the Psram from the fields of a chip file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import cast

from chipmodel.errors import BadInput, Place
from chipmodel.hardware.chip import (
    AnyDma,
    BurstDma,
    CdmaDma,
    Channels,
    Chip,
    Controlled,
    Dma,
    DramDma,
    EfPsramDma,
    HyperBusDma,
    InPlaceReading,
    Psram,
    Route,
    WeightMemory,
)
from chipmodel.hardware.dram import Dram
from chipmodel.hardware.field_values import Values, read_as
from chipmodel.hardware.psram_device import WIRES, Protocol
from chipmodel.hardware.psram_parts import device_named
from chipmodel.records import dataclass

ENGINES: Mapping[str, type[BurstDma | Controlled]] = {
    "bursts": BurstDma,
    "hyperbus": HyperBusDma,
    "cdma": CdmaDma,
    "ef-psram": EfPsramDma,
    "dram": DramDma,
}
"""Engines but for that of lines, by ``dma.model``."""


def dma_of(values: Values) -> AnyDma:
    """The engine that ``dma.model`` names."""
    model = values["dma.model"]
    channels = read_as(Channels, "dma", values, count=int(values["dma.channels"]))
    if model == "line":
        load, store = (read_as(Route, f"dma.{way}", values) for way in ("load", "store"))
        return read_as(Dma, "dma", values, load=load, store=store, channels=channels)
    memory = {"memory": read_as(Dram, "psram.dram", values)} if model == "dram" else {}
    path = f"dma.{model.replace('-', '_')}"
    return read_as(ENGINES[model], path, values, channels=channels, **memory)


def psram_of(values: Values) -> Psram:
    """The Psram that ``dma.model`` needs: a part, a rate in bytes a clock, or the memory that a public RTL
    controller drives. A controller with a single clock domain fixes the Psram's clock."""
    size, clock = int(values["psram.bytes"]), values.get("psram.clock_mhz", values["core_mhz"])
    match values["dma.model"]:
        case "bursts":
            return _part(size, clock, values)
        case "hyperbus":
            rate = WIRES["HyperBus"].bytes_per_clock
        case "cdma":
            clock, rate = values["core_mhz"], values["dma.cdma.data_bits"] / 8
        case "ef-psram":
            rate = WIRES[cast("Protocol", values["dma.ef_psram.read_mode"])].bytes_per_clock
            clock = values["core_mhz"] / values["dma.ef_psram.clocks_per_sck"]
        case "dram":
            rate = values["psram.dram.bus_bits"] * values["psram.dram.transfers_per_clock"] / 8
        case _:
            return Psram(size, clock, values["psram.bytes_per_clock"])
    low, high = values.get("psram.ce_low_max_us"), values.get("psram.ce_high_ns", Fraction(0))
    return Psram(size, clock, rate, ce_low_max_us=low, ce_high_ns=high)


def weights_of(values: Values) -> WeightMemory | None:
    """The memory of the weights; None where they lie in Psram."""
    kind = values["weights.memory"]
    if kind == "psram":
        return None
    route = read_as(Route, "weights", values)
    return WeightMemory(kind, read_as(Psram, "weights", values), Dma(route, route))


def in_place_of(values: Values) -> InPlaceReading:
    """Whether and how fast weights are read where they lie."""
    wish = values["weights.in_place"]
    if wish == "no":
        return InPlaceReading()
    rate = values["weights.in_place_bytes_per_cycle"]
    return InPlaceReading(wish, rate, int(values["weights.in_place_latency_cycles"]))


def check_controller(chip: Chip, where: Place) -> None:
    """Raise ``BadInput`` where the controller cannot work at these clocks, or breaks the limits on CE#."""
    dma, psram = chip.dma, chip.psram
    if isinstance(dma, HyperBusDma):
        if chip.core_mhz < psram.clock_mhz:
            what = f"core_mhz is {chip.core_mhz}, below psram.clock_mhz = {psram.clock_mhz}"
            hint = "the system clock of this controller must be at least the Psram clock"
            raise BadInput(what, where=where, hint=hint)
        words = int((psram.ce_low_max_us or 0) * psram.clock_mhz) - dma.low_clocks + dma.burst_words
        shorter = f"set dma.hyperbus.max_burst_words to at most {words}" if words > 0 else "raise the clock"
        pulses = _ChipEnable(dma.low_clocks, dma.high_clocks, psram.clock_mhz)
        _check_chip_enable(psram, pulses, (shorter, "dma.hyperbus.segment_clocks"), where)
    elif isinstance(dma, EfPsramDma):
        pulses = _ChipEnable(dma.low_cycles, dma.high_cycles, chip.core_mhz)
        _check_chip_enable(psram, pulses, ("raise core_mhz", "dma.ef_psram.gap_cycles"), where)
    elif isinstance(dma, DramDma):
        _check_dram(dma.memory, where)


def _check_dram(dram: Dram, where: Place) -> None:
    """Raise BadInput where a row is shorter than an access, or refreshes leave no time for accesses."""
    if dram.row_bytes < dram.access_bytes:
        what = f"psram.dram.row_bytes is {dram.row_bytes}, less than the {dram.access_bytes} of an access"
        raise BadInput(what, where=where, hint="an access is psram.dram.burst_length times bus_bits / 8")
    if dram.t_refi_ns and dram.t_refi_ns < 2 * (dram.t_rfc_ns + dram.t_rp_all_ns):
        what = f"psram.dram.t_refi_ns is {dram.t_refi_ns}, too often for refreshes of {dram.t_rfc_ns} ns"
        raise BadInput(what, where=where, hint="give microseconds times 1000, as 3904; 0 for no refresh")


@dataclass(frozen=True, slots=True)
class _ChipEnable:
    """The longest low and the shortest high of CE#, in clocks of ``mhz``."""

    low: int
    high: int
    mhz: Fraction


def _check_chip_enable(psram: Psram, pulses: _ChipEnable, remedies: tuple[str, str], where: Place) -> None:
    """``remedies``: how to shorten the low time, and which field lengthens the high time."""
    low, high = pulses.low / pulses.mhz, pulses.high / pulses.mhz
    longest, shortest = psram.ce_low_max_us, psram.ce_high_ns / 1000
    if longest is not None and low > longest:
        what = f"CE# would be low for {pulses.low} clocks, {_us(low)} of at most {_us(longest)}"
        raise BadInput(what, where=where, hint=remedies[0])
    if high < shortest:
        what = f"CE# would be high for {pulses.high} clocks, {_us(high)} of at least {_us(shortest)}"
        raise BadInput(what, where=where, hint=f"raise {remedies[1]}, or lower the clock")


def _us(time: Fraction) -> str:
    return f"{float(time):.3g} us"


def _part(size: int, clock: Fraction, values: Values) -> Psram:
    device = replace(device_named(values["psram.device"]), clock_mhz=clock)
    _ = device.latency_code  # raises BadInput where the part is not made for that clock
    return Psram(size, clock, device.wire.bytes_per_clock, device, values["psram.collision"])
