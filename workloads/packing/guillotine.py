"""Random packing problems with a known optimum: a rectangle of time by memory, cut into buffers.

Each cut divides a rectangle from edge to edge (guillotine cuts), so the buffers fill all memory at any time:
the rectangle's height is a lower bound of the peak, and the buffers as they were cut are a plan of that peak.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, PackingTable, Plan, Problem
from chipmodel.records import dataclass
from solvers.core.deadline import NO_DEADLINE, Deadline
from workloads.packing.problem_csv import MAX_ROWS, MAX_VALUE, table_of

SCHEME = "guillotine:"
MAKING = "all buffers were made"
_DEFAULTS = {"seed": 0, "time_steps": 200, "bytes": 1 << 20}


@dataclass(frozen=True, slots=True)
class _Rectangle:
    """Time steps ``[start, stop)`` by bytes ``[low, high)``."""

    start: int
    stop: int
    low: int
    high: int

    @property
    def area(self) -> int:
        return (self.stop - self.start) * (self.high - self.low)


def guillotine(
    n: int, seed: int = 0, time_steps: int = 200, bytes: int = 1 << 20, deadline: Deadline = NO_DEADLINE
) -> Problem:
    """``n`` buffers that fill ``bytes`` of memory, the capacity, at each of ``time_steps`` positions.

    The same arguments give the same problem. Raises BadInput where ``time_steps * bytes`` is less than ``n``,
    TimeIsOver at the deadline.
    """
    return guillotine_with_plan(n, seed, time_steps, bytes, deadline)[0]


def guillotine_with_plan(
    n: int, seed: int = 0, time_steps: int = 200, bytes: int = 1 << 20, deadline: Deadline = NO_DEADLINE
) -> tuple[Problem, Plan]:
    """The problem of ``guillotine``, and the optimal plan from which it was cut."""
    if not 1 <= n <= MAX_ROWS or time_steps < 1 or bytes < 1 or n > time_steps * bytes:
        what = f"a rectangle of {time_steps} steps by {bytes} bytes cannot be cut into {n} buffers"
        raise BadInput(what, hint=f"1 to {MAX_ROWS:,} buffers, and no more than steps times bytes")
    random = Random(seed)
    pieces = _cut(_Rectangle(0, time_steps, 0, bytes), n, random, deadline)
    random.shuffle(pieces)
    buffers = tuple(
        Buffer(f"b{i}", p.high - p.low, (Interval(p.start, p.stop),))
        for i, p in deadline.during(enumerate(pieces), MAKING)
    )
    return Problem(buffers, bytes), Plan({f"b{i}": p.low for i, p in enumerate(pieces)})


def _cut(whole: _Rectangle, n: int, random: Random, deadline: Deadline) -> list[_Rectangle]:
    """Cut rectangles in two, chosen by area, until there are ``n``."""
    pieces = [whole]
    for _ in deadline.during(range(1, n), MAKING):
        index = _by_area(pieces, random)
        first, second = _halves(pieces[index], random)
        pieces[index] = first
        pieces.append(second)
    return pieces


def _by_area(pieces: list[_Rectangle], random: Random) -> int:
    """The index of the largest of four random pieces: prefers large ones, in constant time."""
    drawn = [random.randrange(len(pieces)) for _ in range(4)]
    best = max(drawn, key=lambda i: pieces[i].area)
    if pieces[best].area > 1:
        return best
    return max(range(len(pieces)), key=lambda i: pieces[i].area)


def _halves(piece: _Rectangle, random: Random) -> tuple[_Rectangle, _Rectangle]:
    time, space = piece.stop - piece.start, piece.high - piece.low
    if space == 1 or (time > 1 and random.random() < 0.5):
        at = random.randrange(piece.start + 1, piece.stop)
        return replace(piece, stop=at), replace(piece, start=at)
    at = random.randrange(piece.low + 1, piece.high)
    return replace(piece, high=at), replace(piece, low=at)


def guillotine_table(source: str, capacity: int | None, deadline: Deadline = NO_DEADLINE) -> PackingTable:
    """``guillotine:n=100,seed=3,time_steps=200,bytes=1048576`` as a table; only ``n`` is required.

    The problem has the given ``capacity``, not the optimum, which is the table's ``known_optimum``.
    """
    values = dict(_DEFAULTS)
    for piece in source.removeprefix(SCHEME).split(","):
        key, _, text = (part.strip() for part in piece.partition("="))
        if key not in ("n", *_DEFAULTS):
            hint = suggest(key, ("n", *_DEFAULTS), "write guillotine:n=100,seed=3; keys are")
            raise BadInput(f"{shown(source)} has the unknown key {shown(key)}", hint=hint)
        if not (text.isascii() and text.isdigit() and len(text) <= 19 and int(text) <= MAX_VALUE):
            what = f"{shown(source)} gives {key} the value {shown(text)}"
            raise BadInput(what, hint="write whole numbers, as in guillotine:n=100,seed=3")
        values[key] = int(text)
    if "n" not in values:
        raise BadInput(f"{shown(source)} does not say how many buffers", hint="as in guillotine:n=100,seed=3")
    problem = guillotine(values["n"], values["seed"], values["time_steps"], values["bytes"], deadline)
    table = table_of(replace(problem, capacity=capacity))
    return replace(table, known_optimum=problem.capacity)
