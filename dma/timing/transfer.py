"""How long a DMA transfer takes.

``dma.model: line`` is the affine form ``setup + bytes * k / 32``, with ``k`` what one Psram burst takes,
overhead and data, so that it follows the Psram's clock and width. ``dma.model: bursts`` is the
mechanism that explains the LUNA vendor's measured table (``dma.timing.routes``). The other models are public
controllers (``dma.timing.controlled``).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from math import ceil

from chipmodel.chip.chip import AnyDma, BurstDma, Chip, Dma, Psram
from chipmodel.chip.psram_device import Device, ce_low_clocks
from chipmodel.errors import BadInput
from chipmodel.files.suggestions import suggest
from chipmodel.model.schedule import Direction
from dma.timing.bursts import assert_legal as assert_bursts_legal
from dma.timing.bursts import bursts_of
from dma.timing.controlled import controlled_cycles, controlled_least, controlled_slope
from dma.timing.routes import TransferRoute, burst_routes
from dma.timing.split import split

ROUTES: dict[str, Direction] = {"dma psram->shared": "load", "dma shared->psram": "store"}
NAMES: dict[Direction, str] = {direction: name for name, direction in ROUTES.items()}


def transfer_cycles(chip: Chip, direction: Direction, size: int) -> int:
    """Core cycles of one transfer of ``size`` bytes, from its start to its end."""
    return _cycles(chip.core_mhz, chip.psram, chip.dma, direction, size)


def cycles_per_byte(chip: Chip, direction: Direction) -> Fraction:
    """Core cycles that each byte of a long transfer adds (``k / 32``)."""
    if isinstance(chip.dma, Dma):
        return _line_slope(chip.core_mhz, chip.psram, chip.dma, direction)
    if isinstance(chip.dma, BurstDma):
        return _burst_routes(chip.core_mhz, chip.psram, chip.dma)[NAMES[direction]].per_byte
    return controlled_slope(chip.core_mhz, chip.psram, chip.dma, direction)


def least_cost(chip: Chip, direction: Direction) -> tuple[int, Fraction]:
    """Cycles once and cycles a byte that any number of transfers cost together, at least."""
    if isinstance(chip.dma, Dma):
        setup = (chip.dma.load if direction == "load" else chip.dma.store).setup_cycles
        return setup, cycles_per_byte(chip, direction)
    if not isinstance(chip.dma, BurstDma):
        once, each = controlled_least(chip.core_mhz, chip.psram, chip.dma, direction)
        return chip.dma.setup_cycles + once, each
    route = _burst_routes(chip.core_mhz, chip.psram, chip.dma)[NAMES[direction]]
    if route.least_setup < 0:
        return 0, route.least_per_byte
    return int(route.least_setup), route.per_byte


def route_cycles(chip: Chip, route: str, size: int) -> int:
    """Core cycles of ``size`` bytes on any route, by the names of luna_transfer.csv.

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
    """All routes of a chip with ``dma.model: bursts``, none of another."""
    return _burst_routes(chip.core_mhz, chip.psram, chip.dma) if isinstance(chip.dma, BurstDma) else {}


@lru_cache(maxsize=1 << 16)
def _cycles(core: Fraction, psram: Psram, dma: AnyDma, direction: Direction, size: int) -> int:
    if isinstance(dma, Dma):
        setup = (dma.load if direction == "load" else dma.store).setup_cycles
        return setup + ceil(size * _line_slope(core, psram, dma, direction))
    if not isinstance(dma, BurstDma):
        return dma.setup_cycles + controlled_cycles(core, psram, dma, direction, size)
    return _burst_routes(core, psram, dma)[NAMES[direction]].cycles(size)


def _line_slope(core: Fraction, psram: Psram, dma: Dma, direction: Direction) -> Fraction:
    way = dma.load if direction == "load" else dma.store
    data_clocks = way.burst_bytes / psram.bytes_per_clock
    burst_clocks = max(data_clocks, (way.burst_overhead_clocks + data_clocks) / dma.outstanding)
    return burst_clocks / way.burst_bytes * core / psram.clock_mhz


def _burst_routes(core: Fraction, psram: Psram, dma: BurstDma) -> Mapping[str, TransferRoute]:
    assert psram.device is not None
    return burst_routes(dma, psram.device, core, psram.collision)


def assert_legal(chip: Chip, direction: Direction, address: int, size: int) -> None:
    """Raises AssertionError unless the bursts of a transfer from ``address`` of Psram keep CE# low, CE# high
    and pages; all of them by their sizes, the first ones one by one. O(1) in ``size``."""
    device = chip.psram.device
    if isinstance(chip.dma, BurstDma) and device is not None and size:
        # Pages and boundaries repeat, so only the place within them counts.
        _assert_legal(device, chip.dma, direction, address % (1 << 20), size)


@lru_cache(maxsize=1 << 14)
def _assert_legal(device: Device, dma: BurstDma, direction: Direction, address: int, size: int) -> None:
    write, line = direction == "store", dma.beat_bytes * dma.burst_beats
    longest = line if write else line * (1 + dma.prefetch_lines)
    for group in split(device, address, size, write, longest):
        for run in group.runs:
            low = ce_low_clocks(device, 0, run.bytes, write, collided=True)
            limit = device.ce_low_limit
            assert limit is None or low <= limit, f"{device.name}: CE# low for {low} of {limit} clocks"
    assert_bursts_legal(device, islice(bursts_of(device, address, size, write, longest), 8))
