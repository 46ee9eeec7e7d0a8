"""Core cycles of a DMA transfer, in one piece (``contiguous``) or in several runs of bytes (``strided``).

``dma.model: line`` is the affine form ``setup + bytes * k / 32``, where ``k`` are the cycles of one Psram
burst, overhead and data, so that it follows the Psram's clock and width. ``dma.model: bursts`` is the
mechanism that explains the LUNA vendor's measured table (``chipmodel.timing.routes``). The other models are
public controllers (``chipmodel.timing.controlled``).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import suggest
from chipmodel.hardware.chip import AnyDma, BurstDma, Channels, Chip, Dma, Psram, Route
from chipmodel.hardware.further_memories import FurtherMemory
from chipmodel.model.schedule import PSRAM, SHARED, WEIGHTS, Direction, Hop, Traffic
from chipmodel.timing.contiguous import NAMES, ROUTES, contiguous_cycles, line_slope, routes_of
from chipmodel.timing.controlled import controlled_least, controlled_slope
from chipmodel.timing.routes import TransferRoute
from chipmodel.timing.strided import run_times


class OffChipLink(NamedTuple):
    """The memory, the engine that reads or writes it, and in which direction."""

    memory: Psram
    dma: AnyDma
    direction: Direction


BURST_BYTES = 64
"""Bytes after which a transfer from or to a further memory lets one of another channel pass (assumed: a line
of the controllers)."""

PORT_BYTES = 8
"""Bytes of a beat of such a transfer where the engine's model has none (assumed)."""


def link(chip: Chip, traffic: Traffic) -> OffChipLink:
    """What transfers of that way use; of one between two memories off chip, what it takes longer on."""
    if isinstance(traffic, Hop):
        return _hop(chip, traffic)[0]
    if traffic == "weights":
        own = chip.weights
        return OffChipLink(own.memory, own.dma, "load") if own else OffChipLink(chip.psram, chip.dma, "load")
    return OffChipLink(chip.psram, chip.dma, traffic)


def set_up_before(chip: Chip, traffic: Traffic) -> int:
    """Core cycles of a transfer before those of its ``link``: between two memories off chip, the set-up on
    the other one. The engine writes a line while it reads the next one, so that the data take the time of the
    slower memory."""
    ends = _hop(chip, traffic)[1:] if isinstance(traffic, Hop) else ()
    return sum(_set_up(end) for end in ends)


def _set_up(end: OffChipLink) -> int:
    dma = end.dma
    if isinstance(dma, Dma):
        return (dma.load if end.direction == "load" else dma.store).setup_cycles
    return dma.setup_cycles


def _hop(chip: Chip, hop: Hop) -> list[OffChipLink]:
    """Return what a transfer uses at its ends off chip, the slower one first."""
    off_chip: tuple[tuple[str, Direction], ...] = (hop.source, "load"), (hop.target, "store")
    ends = [_end(chip, name, direction) for name, direction in off_chip if name != SHARED]
    return sorted(ends, key=lambda end: -_slope(chip.core_mhz, end))


def _end(chip: Chip, name: str, direction: Direction) -> OffChipLink:
    if name in (PSRAM, WEIGHTS):
        return link(chip, "weights" if name == WEIGHTS else direction)
    memory = next(each for each in chip.memories if each.name == name)
    port = chip.dma.port_bytes if isinstance(chip.dma, Dma) else PORT_BYTES
    return _further(memory, direction, chip.core_mhz, chip.dma.channels, port)


@lru_cache(maxsize=256)
def _further(
    memory: FurtherMemory, direction: Direction, core_mhz: Fraction, channels: Channels, port: int
) -> OffChipLink:
    rate = memory.load_bytes_per_cycle if direction == "load" else memory.store_bytes_per_cycle
    load, store = (Route(s, BURST_BYTES, Fraction(0)) for s in (memory.load_latency, memory.store_latency))
    return OffChipLink(
        Psram(memory.bytes, core_mhz, rate), Dma(load, store, channels, port_bytes=port), direction
    )


def transfer_cycles(chip: Chip, traffic: Traffic, size: int, runs: int = 1) -> int:
    """Core cycles of a transfer of ``size`` bytes in ``runs`` equal runs off chip, from start to end."""
    used, before = link(chip, traffic), set_up_before(chip, traffic)
    if runs == 1:
        return before + contiguous_cycles(chip.core_mhz, *used, size)
    times = run_times(chip.core_mhz, *used, size, runs)
    return before + times.setup + times.data


def cycles_per_byte(chip: Chip, traffic: Traffic) -> Fraction:
    """Core cycles that each byte of a long transfer adds (``k / 32``)."""
    return _slope(chip.core_mhz, link(chip, traffic))


def _slope(core_mhz: Fraction, end: OffChipLink) -> Fraction:
    memory, dma, direction = end
    if isinstance(dma, Dma):
        return line_slope(core_mhz, memory, dma, direction)
    if isinstance(dma, BurstDma):
        return routes_of(core_mhz, memory, dma)[NAMES[direction]].per_byte
    return controlled_slope(core_mhz, memory, dma, direction)


def least_cost(chip: Chip, traffic: Traffic) -> tuple[int, Fraction]:
    """A lower bound on any number of transfers together: cycles once, and cycles for each byte."""
    return _least_cost(chip, link(chip, traffic))


def least_cost_anywhere(chip: Chip, traffic: Traffic) -> tuple[int, Fraction]:
    """Return ``least_cost``'s lower bound for data in any memory off chip, as of what was moved before."""
    direction: Direction = "store" if traffic == "store" else "load"
    further = (_end(chip, memory.name, direction) for memory in chip.memories)
    costs = [_least_cost(chip, end) for end in chain((link(chip, traffic),), further)]
    return min(once for once, _ in costs), min(each for _, each in costs)


def _least_cost(chip: Chip, end: OffChipLink) -> tuple[int, Fraction]:
    memory, dma, direction = end
    if isinstance(dma, Dma):
        setup = (dma.load if direction == "load" else dma.store).setup_cycles
        return setup, _slope(chip.core_mhz, end)
    if not isinstance(dma, BurstDma):
        once, each = controlled_least(chip.core_mhz, memory, dma, direction)
        return dma.setup_cycles + once, each
    route = routes_of(chip.core_mhz, memory, dma)[NAMES[direction]]
    if route.least_setup < 0:
        return 0, route.least_per_byte
    return int(route.least_setup), route.per_byte


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
    return routes_of(chip.core_mhz, chip.psram, chip.dma) if isinstance(chip.dma, BurstDma) else {}
