"""Build the DMA engine and the Psram from the fields of a chip file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Literal, cast

from chipmodel.errors import BadInput, Place
from chipmodel.hardware.chip import (
    AnyDma,
    BurstDma,
    CdmaDma,
    Channels,
    Chip,
    Controlled,
    Dma,
    EfPsramDma,
    HyperBusDma,
    InPlaceReading,
    InPlaceWish,
    Psram,
    Route,
    WeightMemory,
)
from chipmodel.hardware.psram_device import WIRES, Protocol
from chipmodel.hardware.psram_parts import device_named

Numbers = Mapping[str, Fraction]
Choices = Mapping[str, str]


def dma_of(numbers: Numbers, choices: Choices) -> AnyDma:
    """The engine that ``dma.model`` names."""
    match choices["dma.model"]:
        case "bursts":
            return _bursts(numbers, choices)
        case "hyperbus":
            return _hyperbus(numbers, choices)
        case "cdma":
            return CdmaDma(
                **_wholes(numbers, "dma.cdma", CdmaDma),
                channels=_channels(numbers, choices),
            )
        case "ef-psram":
            return _ef_psram(numbers, choices)
        case _:
            return _lines(numbers, choices)


def psram_of(numbers: Numbers, choices: Choices) -> Psram:
    """The Psram that ``dma.model`` needs: a part, a rate in bytes a clock, or the memory that a public RTL
    controller drives. A controller with a single clock domain fixes the Psram's clock."""
    size, core = int(numbers["psram.bytes"]), numbers["core_mhz"]
    limits = numbers.get("psram.ce_low_max_us"), numbers.get("psram.ce_high_ns", Fraction(0))
    match choices["dma.model"]:
        case "bursts":
            return _part(size, numbers["psram.clock_mhz"], choices)
        case "hyperbus":
            wire = WIRES["HyperBus"]
            return Psram(
                size,
                numbers["psram.clock_mhz"],
                wire.bytes_per_clock,
                ce_low_max_us=limits[0],
                ce_high_ns=limits[1],
            )
        case "cdma":
            return Psram(size, core, numbers["dma.cdma.data_bits"] / 8)
        case "ef-psram":
            wire = WIRES[cast("Protocol", choices["dma.ef_psram.read_mode"])]
            clock = core / numbers["dma.ef_psram.clocks_per_sck"]
            return Psram(size, clock, wire.bytes_per_clock, ce_low_max_us=limits[0], ce_high_ns=limits[1])
        case _:
            return Psram(size, numbers["psram.clock_mhz"], numbers["psram.bytes_per_clock"])


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
    """Raise ``BadInput`` where the controller cannot work at these clocks, or would hold CE# low for too long
    or high for too short a time."""
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


def _lines(numbers: Numbers, choices: Choices) -> Dma:
    def route(path: str) -> Route:
        setup, size = int(numbers[f"{path}.setup_cycles"]), int(numbers[f"{path}.burst_bytes"])
        return Route(setup, size, numbers[f"{path}.burst_overhead_clocks"])

    outstanding, port = int(numbers["dma.outstanding"]), int(numbers["dma.port_bytes"])
    return Dma(route("dma.load"), route("dma.store"), _channels(numbers, choices), outstanding, port)


def _wholes(numbers: Numbers, path: str, engine: type[BurstDma | Controlled]) -> dict[str, int]:
    """The integers of an engine, whose fields in chip files have the same names."""
    return {each.name: int(numbers[f"{path}.{each.name}"]) for each in fields(engine) if each.type == "int"}


def _bursts(numbers: Numbers, choices: Choices) -> BurstDma:
    return BurstDma(
        **_wholes(numbers, "dma.bursts", BurstDma),
        channels=_channels(numbers, choices),
        overlap=choices["dma.bursts.overlap"] == "yes",
    )


def _hyperbus(numbers: Numbers, choices: Choices) -> HyperBusDma:
    return HyperBusDma(
        **_wholes(numbers, "dma.hyperbus", HyperBusDma),
        round_trip_us=numbers["dma.hyperbus.round_trip_ns"] / 1000,
        channels=_channels(numbers, choices),
    )


def _ef_psram(numbers: Numbers, choices: Choices) -> EfPsramDma:
    return EfPsramDma(
        read_mode=cast("Protocol", choices["dma.ef_psram.read_mode"]),
        write_mode=cast("Protocol", choices["dma.ef_psram.write_mode"]),
        **_wholes(numbers, "dma.ef_psram", EfPsramDma),
        channels=_channels(numbers, choices),
    )
