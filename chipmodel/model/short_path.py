"""A path through a program in which a few iterations of each loop stand for all of them.

From the second iteration on, every iteration begins with what the one before has left, runs the same ops and
leaves the same. So the last but one of those that stand here comes as often as is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import count
from math import prod
from typing import NamedTuple

from chipmodel.model.program import If, Loop, Node, Op, Program
from chipmodel.records import dataclass

ITERATIONS = 4
"""Iterations of a loop that stand for all: what the first leaves, the second changes, the third repeats, the
fourth ends."""


class RepeatedRuns(NamedTuple):
    """Runs ``[start, stop)``, one iteration of a loop, come so many ``times`` in a row."""

    start: int
    stop: int
    times: int


@dataclass(frozen=True, slots=True)
class ShortPath:
    """Runs of ops in order, each with the number of its straight chain: those of one body and one iteration,
    in a row. No op of a chain begins before all chains before it have ended."""

    runs: list[tuple[Op, int]] = field(default_factory=list[tuple[Op, int]])
    repeats: list[RepeatedRuns] = field(default_factory=list[RepeatedRuns])
    """Inner loops first."""
    around: list[list[RepeatedRuns]] = field(default_factory=list[list[RepeatedRuns]])
    """Those of ``repeats`` that each run is in."""

    def times(self, start: int, stop: int) -> int:
        """Return how often the runs ``[start, stop)`` come with nothing in between."""
        return prod(each.times for each in self.around[start] if stop <= each.stop)


def short_path(program: Program, path: Mapping[str, str], most: int) -> ShortPath | None:
    """Return the runs along ``path`` (arms and iterations by name); None for more than ``most`` of them."""
    loops = {node.name for node in program.nodes() if isinstance(node, Loop)}
    short = {name: str(min(int(n), ITERATIONS)) if name in loops else n for name, n in path.items()}
    if sum(times for _, times in program.op_counts(short)) > most:
        return None
    found = ShortPath()
    _walk(found, program.body, path, count())
    return found


def _walk(found: ShortPath, body: tuple[Node, ...], path: Mapping[str, str], chains: count[int]) -> None:
    chain = next(chains)
    for node in body:
        match node:
            case Op():
                found.runs.append((node, chain))
                found.around.append([])
            case If():
                _walk(found, next(a.body for a in node.arms if a.name == path[node.name]), path, chains)
                chain = next(chains)
            case Loop():
                iterations = int(path[node.name])
                for number in range(min(iterations, ITERATIONS)):
                    start = len(found.runs)
                    _walk(found, node.body, path, chains)
                    chain = next(chains)
                    if number + 2 == ITERATIONS < iterations and start < len(found.runs):
                        repeat = RepeatedRuns(start, len(found.runs), iterations - ITERATIONS + 1)
                        found.repeats.append(repeat)
                        for around in found.around[start:]:
                            around.append(repeat)
