"""Addresses in Psram that change once the transfers are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import Schedule, Transfer
from dma.schedule.psram_layout import aligned

Key = TypeVar("Key")
Homes = Mapping[Interval, Interval]
"""New addresses in Psram by old ones."""


def at_homes(schedule: Schedule, homes: Homes) -> Schedule:
    """``schedule`` with its data in Psram at the new ``homes``."""

    def move(transfer: Transfer) -> Transfer:
        if transfer.memory:
            return transfer
        home = homes[transfer.home]
        return replace(transfer, psram=transfer.psram + home.start - transfer.home.start, home=home)

    in_place = {op: homes[home] for op, home in schedule.weights_in_place.items()}
    return replace(schedule, transfers=tuple(map(move, schedule.transfers)), weights_in_place=in_place)


def one_after_another(sizes: Mapping[Key, int]) -> tuple[dict[Key, int], int]:
    """Return the start of each from address 0 on, and the end of the last."""
    starts: dict[Key, int] = {}
    end = 0
    for each, size in sizes.items():
        starts[each] = aligned(end) if size else 0
        end = max(end, starts[each] + size)
    return starts, end


def changed_in_parts(program: Program) -> frozenset[str]:
    """Return the tensors of which an op keeps a part: a store does not end their old value."""
    every = list(ops(program.body))
    updated = (name for op in every for name in op.outputs if name in op.inputs)
    return frozenset((*updated, *(name for op in every if op.allocates for name in op.outputs)))
