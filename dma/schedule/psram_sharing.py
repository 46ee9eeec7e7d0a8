"""Tensors in the same bytes of Psram at different times, where Psram is too small to give each its own.

A tensor is in Psram from its first store, or as an input of the program from the start, to its last load, or
as an output to the end. That is a packing problem like that of SharedMemory, solved by first fit. Weights
stay throughout, and so do tensors that ops change slice by slice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.fit import OFF_CHIP_ALIGNMENT, off_chip_bytes
from chipmodel.model.nesting import in_flight
from chipmodel.model.plan import Buffer, Problem
from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import Schedule, Transfer, branches, steps
from chipmodel.passes.liveness import Touch, lifetime, scopes
from dma.schedule.psram_layout import aligned
from solvers.core.first_fit import ORDERS, Order, first_fit

FIRST = -(1 << 62)
"""Sorts before any size."""
BELOW = "throughout"
"""The buffer that stands for all data that stay in Psram from before the first step to after the last."""
Key = TypeVar("Key")
Homes = Mapping[Interval, Interval]
"""New addresses in Psram by old ones."""


def within_psram(program: Program, schedule: Schedule, capacity: int) -> Schedule:
    """``schedule``, with tensors that share bytes of Psram if it needs more than ``capacity`` otherwise.

    The homes of ``schedule`` must not overlap.
    """
    if off_chip_bytes(schedule) <= capacity:
        return schedule
    tight = at_homes(schedule, tight_homes(program, schedule))
    return min(schedule, tight, key=off_chip_bytes)


def at_homes(schedule: Schedule, homes: Homes) -> Schedule:
    """``schedule`` with its data in Psram at the new ``homes``."""

    def move(transfer: Transfer) -> Transfer:
        if transfer.memory:
            return transfer
        home = homes[transfer.home]
        return replace(transfer, psram=transfer.psram + home.start - transfer.home.start, home=home)

    in_place = {op: homes[home] for op, home in schedule.weights_in_place.items()}
    return replace(schedule, transfers=tuple(map(move, schedule.transfers)), weights_in_place=in_place)


def tight_homes(program: Program, schedule: Schedule) -> Homes:
    """New homes from address 0 on for all of ``schedule``, by the first-fit order that needs least."""
    lives = psram_lifetimes(program, schedule)
    throughout = (_throughout(schedule),)
    starts, end = one_after_another({home: len(home) for home, live in lives.items() if live == throughout})
    rest = {home: live for home, live in lives.items() if home not in starts}
    # Weights are many slices, which first fit would look at for each of them: they are one buffer to it.
    below = Buffer(BELOW, end, throughout, OFF_CHIP_ALIGNMENT)
    others = (Buffer(_name(home), len(home), live, OFF_CHIP_ALIGNMENT) for home, live in rest.items())
    problem = Problem((below, *others))

    def packed(order: Order) -> Mapping[str, int]:
        return first_fit(problem, lambda b: FIRST if b.name == BELOW else order(b)).offsets

    def highest(offsets: Mapping[str, int]) -> int:
        return max((offsets[_name(home)] + len(home) for home in rest), default=0)

    offsets = min(map(packed, ORDERS.values()), key=highest)
    starts |= {home: offsets[_name(home)] for home in rest}
    return {home: Interval(starts[home], starts[home] + len(home)) for home in lives}


def one_after_another(sizes: Mapping[Key, int]) -> tuple[dict[Key, int], int]:
    """Return the start of each from address 0 on, and the end of the last."""
    starts: dict[Key, int] = {}
    end = 0
    for each, size in sizes.items():
        starts[each] = aligned(end) if size else 0
        end = max(end, starts[each] + size)
    return starts, end


def psram_lifetimes(program: Program, schedule: Schedule) -> dict[Interval, tuple[Interval, ...]]:
    """Return the positions at which each home in Psram has data that are read later, in the order of
    addresses: -1 stands for before the first step, the number of steps for after the last. Nothing of
    ``schedule`` is moved between memories off chip."""
    control, throughout = scopes(schedule.body), _throughout(schedule)
    kept = changed_in_parts(program)
    alive = {home: [throughout] for home in sorted(schedule.weights_in_place.values())}
    touches: dict[Interval, list[Touch]] = {}
    home_of: dict[str, Interval] = {}
    in_psram = [transfer for transfer in schedule.transfers if not transfer.memory]
    for transfer in sorted(in_psram, key=lambda t: t.home):
        intervals = alive.setdefault(transfer.home, [])
        if transfer.part.weights or transfer.part.name in kept:
            intervals.append(throughout)
            continue
        home_of[transfer.part.name] = transfer.home
        intervals += in_flight(control.section, transfer.issue, transfer.due)
    for touch in [*_outside(program, schedule), *_decisions(program, schedule), *_moves(schedule)]:
        if touch.value in home_of:
            touches.setdefault(home_of[touch.value], []).append(touch)
    for home, found in touches.items():
        alive[home] += lifetime(found, control)
    return {home: merged(intervals) for home, intervals in alive.items()}


def _throughout(schedule: Schedule) -> Interval:
    return Interval(-1, sum(1 for _ in steps(schedule.body)) + 1)


def _name(home: Interval) -> str:
    return f"{home.start}-{home.stop}"


def changed_in_parts(program: Program) -> frozenset[str]:
    """Return the tensors of which an op keeps a part: a store does not end their old value."""
    every = list(ops(program.body))
    updated = (name for op in every for name in op.outputs if name in op.inputs)
    return frozenset((*updated, *(name for op in every if op.allocates for name in op.outputs)))


def _outside(program: Program, schedule: Schedule) -> Iterator[Touch]:
    """The host writes inputs before the run and reads outputs after it."""
    throughout = _throughout(schedule)
    yield from (Touch(throughout.start, True, name) for name in program.inputs)
    yield from (Touch(throughout.stop - 1, False, name) for name in program.outputs)


def _decisions(program: Program, schedule: Schedule) -> Iterator[Touch]:
    """Each ``if`` that reads its condition from Psram, before its first position."""
    conditions = program.conditions
    for position, node in branches(schedule.body):
        if node.condition is None and node.name in conditions:
            yield Touch(position, False, conditions[node.name], node.name)


def _moves(schedule: Schedule) -> Iterator[Touch]:
    """A read for each load and a write for each store; of an op's parts the first alone ends a value."""
    op_at = {step.position: step.op for step in steps(schedule.body)}
    begun: set[tuple[str, str]] = set()
    for transfer in sorted(schedule.transfers, key=lambda t: (t.issue, t.direction == "store")):
        value = transfer.part.name
        if transfer.part.weights:
            continue
        if transfer.direction == "load":
            yield Touch(transfer.issue, False, value)
        else:
            target = op_at[transfer.issue], value
            yield Touch(transfer.issue, target not in begun, value)
            begun.add(target)
