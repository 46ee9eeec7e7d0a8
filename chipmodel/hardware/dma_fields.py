"""Build the DMA engine and the Psram from the fields of a chip file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, cast

from chipmodel.errors import BadInput, Place
from chipmodel.hardware.chip import (
    AnyDma,
    BurstDma,
    CdmaDma,
    Channels,
    Chip,
    Dma,
    DramDma,
    EfPsramDma,
    HyperBusDma,
    InPlaceReading,
    InPlaceWish,
    Psram,
    Route,
    WeightMemory,
)
from chipmodel.hardware.dram import Dram
from chipmodel.hardware.psram_device import WIRES, Protocol
from chipmodel.hardware.psram_parts import device_named

Numbers = Mapping[str, Fraction]
Choices = Mapping[str, str]


def dma_of(numbers: Numbers, choices: Choices) -> AnyDma:
    """The engine that ``dma.model`` names."""
    channels = _channels(numbers, choices)
    match choices["dma.model"]:
        case "bursts":
            overlap = choices["dma.bursts.overlap"] == "yes"
            return BurstDma(**numbers_at("dma.bursts", numbers, BurstDma), channels=channels, overlap=overlap)
        case "hyperbus":
            own = numbers_at("dma.hyperbus", numbers, HyperBusDma)
            there_and_back = numbers["dma.hyperbus.round_trip_ns"] / 1000
            return HyperBusDma(**own, round_trip_us=there_and_back, channels=channels)
        case "cdma":
            return CdmaDma(**numbers_at("dma.cdma", numbers, CdmaDma), channels=channels)
        case "ef-psram":
            read = cast("Protocol", choices["dma.ef_psram.read_mode"])
            write = cast("Protocol", choices["dma.ef_psram.write_mode"])
            own = numbers_at("dma.ef_psram", numbers, EfPsramDma)
            return EfPsramDma(read, write, **own, channels=channels)
        case "dram":
            memory = Dram(**numbers_at("psram.dram", numbers, Dram))
            return DramDma(memory, **numbers_at("dma.dram", numbers, DramDma), channels=channels)
        case _:
            return _lines(numbers, channels)


def psram_of(numbers: Numbers, choices: Choices) -> Psram:
    """The Psram that ``dma.model`` needs: a part, a rate in bytes a clock, or the memory that a public RTL
    controller drives. A controller with a single clock domain fixes the Psram's clock."""
    size, clock = int(numbers["psram.bytes"]), numbers.get("psram.clock_mhz", numbers["core_mhz"])
    match choices["dma.model"]:
        case "bursts":
            return _part(size, clock, choices)
        case "hyperbus":
            rate = WIRES["HyperBus"].bytes_per_clock
        case "cdma":
            clock, rate = numbers["core_mhz"], numbers["dma.cdma.data_bits"] / 8
        case "ef-psram":
            rate = WIRES[cast("Protocol", choices["dma.ef_psram.read_mode"])].bytes_per_clock
            clock = numbers["core_mhz"] / numbers["dma.ef_psram.clocks_per_sck"]
        case "dram":
            rate = numbers["psram.dram.bus_bits"] * numbers["psram.dram.transfers_per_clock"] / 8
        case _:
            return Psram(size, clock, numbers["psram.bytes_per_clock"])
    low, high = numbers.get("psram.ce_low_max_us"), numbers.get("psram.ce_high_ns", Fraction(0))
    return Psram(size, clock, rate, ce_low_max_us=low, ce_high_ns=high)


def weights_of(numbers: Numbers, choices: Choices) -> WeightMemory | None:
    """The memory of the weights; None where they lie in Psram."""
    kind = choices["weights.memory"]
    if kind == "psram":
        return None
    setup, burst = int(numbers["weights.setup_cycles"]), int(numbers["weights.burst_bytes"])
    route = Route(setup, burst, numbers["weights.burst_overhead_clocks"])
    size, clock = int(numbers["weights.bytes"]), numbers["weights.clock_mhz"]
    memory = Psram(size, clock, numbers["weights.bytes_per_clock"])
    return WeightMemory(cast('Literal["flash", "mram", "sram"]', kind), memory, Dma(route, route))


def in_place_of(numbers: Numbers, choices: Choices) -> InPlaceReading:
    """Whether and how fast weights are read where they lie."""
    wish = cast(InPlaceWish, choices["weights.in_place"])
    if wish == "no":
        return InPlaceReading()
    rate = numbers["weights.in_place_bytes_per_cycle"]
    return InPlaceReading(wish, rate, int(numbers["weights.in_place_latency_cycles"]))


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


def _part(size: int, clock: Fraction, choices: Choices) -> Psram:
    device = replace(device_named(choices["psram.device"]), clock_mhz=clock)
    _ = device.latency_code  # raises BadInput where the part is not made for that clock
    collision = cast('Literal["none", "expected", "worst", "phase"]', choices["psram.collision"])
    return Psram(size, clock, device.wire.bytes_per_clock, device, collision)


def _channels(numbers: Numbers, choices: Choices) -> Channels:
    arbitration = cast('Literal["in order", "round robin"]', choices["dma.arbitration"])
    return Channels(int(numbers["dma.channels"]), arbitration, choices["dma.strided"] == "yes")


def _lines(numbers: Numbers, channels: Channels) -> Dma:
    def route(path: str) -> Route:
        setup, size = int(numbers[f"{path}.setup_cycles"]), int(numbers[f"{path}.burst_bytes"])
        return Route(setup, size, numbers[f"{path}.burst_overhead_clocks"])

    outstanding, port = int(numbers["dma.outstanding"]), int(numbers["dma.port_bytes"])
    return Dma(route("dma.load"), route("dma.store"), channels, outstanding, port)


def numbers_at(path: str, numbers: Numbers, kind: type[Any]) -> dict[str, Any]:
    """The numbers below ``path`` that a dataclass ``kind`` has by the same name, or by that without unit."""
    known = {
        each: numbers[key]
        for each in fields(kind)
        for unit in ("", "_bytes", "_cycles")
        if (key := f"{path}.{each.name}{unit}") in numbers
    }
    return {each.name: int(value) if each.type == "int" else value for each, value in known.items()}
