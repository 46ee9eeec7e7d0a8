"""Core cycles of a DMA transfer, in one piece or in several runs of bytes.

``dma.model: line`` is the affine form ``setup + bytes * k / 32``, where ``k`` are the cycles of one Psram
burst, overhead and data. ``dma.model: bursts`` is the mechanism that explains the LUNA vendor's measured
table (``chipmodel.timing.routes``). The other models are public controllers
(``chipmodel.timing.controlled``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import chain

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import suggest
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
    Psram,
    Route,
)
from chipmodel.hardware.further_memories import FurtherMemory
from chipmodel.model.identity import Same
from chipmodel.model.schedule import PSRAM, SHARED, WEIGHTS, Direction, Hop, Traffic
from chipmodel.timing.controlled import CdmaLink, DramLink, EfPsramLink, HyperBusLink
from chipmodel.timing.links import ROUTES, BurstLink, LineLink, Link
from chipmodel.timing.routes import TransferRoute, burst_routes

LINKS: Mapping[type[AnyDma], Callable[..., Link]] = {
    Dma: LineLink,
    BurstDma: BurstLink,
    HyperBusDma: HyperBusLink,
    CdmaDma: CdmaLink,
    EfPsramDma: EfPsramLink,
    DramDma: DramLink,
}
BURST_BYTES = 64
"""Bytes after which a transfer from or to a further memory lets one of another channel pass (assumed: a line
of the controllers)."""

PORT_BYTES = 8
"""Bytes of a beat of such a transfer where the engine's model has none (assumed)."""


def link(chip: Chip, traffic: Traffic) -> Link:
    """What transfers of that way use; of one between two memories off chip, what it takes longer on."""
    return _ends(Same(chip), traffic)[0]


def set_up_before(chip: Chip, traffic: Traffic) -> int:
    """Core cycles of a transfer before those of its ``link``: between two memories off chip, the set-up on
    the other one. The engine writes a line while it reads the next one, so that the data take the time of the
    slower memory."""
    return sum(end.setup_cycles for end in _ends(Same(chip), traffic)[1:])


@lru_cache(maxsize=1 << 10)
def _ends(chip_key: Same[Chip], traffic: Traffic) -> list[Link]:
    """Return what a transfer uses at its ends off chip, the slower one first."""
    chip = chip_key.value
    if isinstance(traffic, Hop):
        off_chip: tuple[tuple[str, Direction], ...] = (traffic.source, "load"), (traffic.target, "store")
        ends = [_end(chip, name, direction) for name, direction in off_chip if name != SHARED]
        return sorted(ends, key=lambda end: -end.per_byte)
    if traffic == "weights":
        own = chip.weights
        return [_link(chip.core_mhz, own.memory, own.dma, "load")] if own else [link(chip, "load")]
    return [_link(chip.core_mhz, chip.psram, chip.dma, traffic)]


def _end(chip: Chip, name: str, direction: Direction) -> Link:
    if name in (PSRAM, WEIGHTS):
        return link(chip, "weights" if name == WEIGHTS else direction)
    memory = next(each for each in chip.memories if each.name == name)
    port = chip.dma.port_bytes if isinstance(chip.dma, Dma) else PORT_BYTES
    return _further(memory, direction, chip.core_mhz, chip.dma.channels, port)


@lru_cache(maxsize=256)
def _link(core_mhz: Fraction, memory: Psram, dma: AnyDma, direction: Direction) -> Link:
    return LINKS[type(dma)](core_mhz, memory, dma, direction)


def _further(
    memory: FurtherMemory, direction: Direction, core_mhz: Fraction, channels: Channels, port: int
) -> Link:
    rate = memory.load_bytes_per_cycle if direction == "load" else memory.store_bytes_per_cycle
    load, store = (Route(s, BURST_BYTES, Fraction(0)) for s in (memory.load_latency, memory.store_latency))
    own = Psram(memory.bytes, core_mhz, rate)
    return _link(core_mhz, own, Dma(load, store, channels, port_bytes=port), direction)


def transfer_cycles(chip: Chip, traffic: Traffic, size: int, runs: int = 1) -> int:
    """Core cycles of a transfer of ``size`` bytes in ``runs`` equal runs off chip, from start to end."""
    return set_up_before(chip, traffic) + _cycles(link(chip, traffic), size, runs)


@lru_cache(maxsize=1 << 16)
def _cycles(used: Link, size: int, runs: int) -> int:
    if runs == 1:
        return used.cycles(size)
    times = used.in_runs(size, runs)
    return times.setup + times.data


def cycles_per_byte(chip: Chip, traffic: Traffic) -> Fraction:
    """Core cycles that each byte of a long transfer adds (``k / 32``)."""
    return link(chip, traffic).per_byte


def least_cost(chip: Chip, traffic: Traffic) -> tuple[int, Fraction]:
    """A lower bound on any number of transfers together: cycles once, and cycles for each byte."""
    return link(chip, traffic).least


def least_cost_anywhere(chip: Chip, traffic: Traffic) -> tuple[int, Fraction]:
    """Return ``least_cost``'s lower bound for data in any memory off chip, as of what was moved before."""
    direction: Direction = "store" if traffic == "store" else "load"
    further = (_end(chip, memory.name, direction) for memory in chip.memories)
    costs = [end.least for end in chain((link(chip, traffic),), further)]
    return min(once for once, _ in costs), min(each for _, each in costs)


def route_cycles(chip: Chip, route: str, size: int) -> int:
    """Core cycles of ``size`` bytes on a route, named as in luna_transfer.csv.

    Raises BadInput for a route that is unknown, or not modelled on ``chip``.
    """
    if route in ROUTES:
        return transfer_cycles(chip, ROUTES[route], size)
    known = burst_routes_of(chip)
    if not known:
        hint = f"its routes are {', '.join(ROUTES)}"
        raise BadInput(f"{chip.name} does not model the route '{route}'", hint=hint)
    if route not in known:
        raise BadInput(f"no route is called '{route}'", hint=suggest(route, known, "known routes are"))
    return known[route].cycles(size)


def burst_routes_of(chip: Chip) -> Mapping[str, TransferRoute]:
    """All routes of a chip with ``dma.model: bursts`` by name; empty for other models."""
    if not isinstance(chip.dma, BurstDma) or chip.psram.device is None:
        return {}
    return burst_routes(chip.dma, chip.psram.device, chip.core_mhz, chip.psram.collision)
