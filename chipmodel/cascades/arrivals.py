"""Tensors from other cores in a program with cascades: which cascades may wait for them, and at which op.

A core waits for a tensor of another core no earlier than at its first op after the maker
(``Program.arrivals``), and hands its own on when their cascade has ended. So that cores still never wait for
one another in a circle, a cascade has a *place* in the order of the whole program: that of the first of its
ops that makes an output, or of its last op where none before it does. What it hands on is made at its
place or later, and what it waits for must be made before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from chipmodel.errors import Place
from chipmodel.model.program import Body, Op, Program, ops


class LateArrival(ValueError):
    """A cascade needs a tensor that another core makes only after it has made what that core may need."""

    def __init__(self, message: str, place: Place | None) -> None:
        super().__init__(message)
        self.place = place


def refuse_late_arrivals(program: Program, cascade: Sequence[Op]) -> None:
    """Raise LateArrival where ``cascade`` reads a tensor of another core that arrives after its place."""
    late = late_arrival(program, cascade)
    if late is not None:
        op, name = late
        message = f"{op.name!r} waits for {name!r} of another core, which may wait for this cascade"
        raise LateArrival(message, op.place)


def late_arrival(program: Program, cascade: Sequence[Op]) -> tuple[Op, str] | None:
    """The first op of ``cascade`` with a tensor that arrives after the cascade's place; None for none."""
    if not program.arrivals:
        return None
    first = next(index for index, op in enumerate(program.ops()) if op.name == cascade[0].name)
    place = first + _place(program, cascade)
    reads = ((op, name) for op in cascade for name in op.inputs)
    return next(((op, name) for op, name in reads if program.arrivals.get(name, 0) > place), None)


def renumbered_arrivals(program: Program, body: Body) -> dict[str, int]:
    """The arrivals of ``program`` by the ops of ``body``, some of which are cascades of its ops."""
    places: list[int] = []
    number = 0
    for op in ops(body) if program.arrivals else ():
        places.append(number + (_place(program, op.cascade) if op.cascade else 0))
        number += len(op.cascade) or 1
    return {
        name: next((index for index, place in enumerate(places) if place >= first), len(places))
        for name, first in program.arrivals.items()
    }


def _place(program: Program, cascade: Sequence[Op]) -> int:
    """The number within ``cascade`` of the first op that makes an output, otherwise of the last one."""
    outputs = frozenset(program.outputs)
    made = (index for index, op in enumerate(cascade) if not outputs.isdisjoint(op.outputs))
    return next(made, len(cascade) - 1)
