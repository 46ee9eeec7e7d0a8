"""The place that the initial rule gives a block in the free spaces of a tier.

Source: the tiered-memory patent (CN, 2022) (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from solvers.tiers.tables import TierTables


def best_fit(
    tables: TierTables,
    block: int,
    tier: int,
    spaces: Iterable[tuple[int, int, int, int]],
    capacity: int | None,
) -> int | None:
    """Return the offset in the smallest of ``spaces`` that holds ``block``, next to the neighbour that dies
    later; None if none does. ``spaces`` are (first byte, end, block below, block above), -1 for a border."""
    size, step = tables.size[block], tables.alignment[block][tier]
    best: tuple[int, int, int, int] | None = None
    for space in spaces:
        low = -(-space[0] // step) * step
        smaller = best is None or space[1] - space[0] < best[1] - best[0]
        if smaller and low + size <= space[1]:
            best = space
    if best is None:
        return None
    low, high, below, above = best
    if _low_side(tables.stop, low, high, below, above, capacity):
        return -(-low // step) * step
    return (high - size) // step * step


def _low_side(stop: Sequence[int], low: int, high: int, below: int, above: int, capacity: int | None) -> bool:
    if below < 0 or above < 0:
        return below < 0 or capacity is None
    if stop[below] != stop[above]:
        return stop[below] > stop[above]
    return capacity is None or low <= capacity - high
