"""From an order of buffers to a plan, quickly: each buffer at its lowest fit or in its smallest gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal

from chipmodel.model.identity import Same
from chipmodel.model.plan import Buffer, Plan, Problem
from solvers.core.conflicts import neighbours

Rule = Literal["lowest fit", "best fit"]
Spans = list[tuple[int, int]]
FEW, FEW_PAIRS = 1024, 1 << 20
"""Buffers, and pairs of their lifetimes, up to which lists are quicker than arrays."""


class Decoder:
    """The non-empty buffers of a problem (``solid``), and which are alive together (``near``)."""

    def __init__(self, problem: Problem, near: Sequence[Sequence[int]]) -> None:
        self.problem, self.near = problem, near
        self.sizes = [b.bytes for b in problem.buffers]
        self.steps = [b.alignment for b in problem.buffers]
        self.solid = [i for i, b in enumerate(problem.buffers) if b.bytes]
        self.pairs = sum(map(len, near))
        self.plans: dict[Callable[[Buffer], int], Plan] = {}
        """Those of first fit, by what orders buffers."""

    def ends(self, order: Sequence[int], rule: Rule, most: int | None = None) -> list[int] | None:
        """The end of every buffer (by index, in bytes) if those of ``order`` are placed in turn; None as soon
        as one ends above ``most``."""
        near, sizes, steps = self.near, self.sizes, self.steps
        ends = [0] * len(sizes)
        place = lowest if rule == "lowest fit" else tightest
        for index in order:
            rivals = sorted([(ends[j] - sizes[j], ends[j]) for j in near[index] if ends[j]])
            end = place(rivals, sizes[index], steps[index]) + sizes[index]
            if most is not None and end > most:
                return None
            ends[index] = end
        return ends

    def plan(self, ends: Sequence[int]) -> Plan:
        """The plan with these ends; buffers that were not placed are at 0."""
        return Plan(
            {b.name: max(0, end - b.bytes) for b, end in zip(self.problem.buffers, ends, strict=True)}
        )


def decoder(problem: Problem, most_pairs: int) -> Decoder | None:
    """Return the decoder of ``problem``; None if more than ``most_pairs`` pairs are alive together."""
    near = neighbours(problem, most_pairs)
    return None if near is None else Decoder(problem, [each.tolist() for each in near])


def small_decoder(problem: Problem) -> Decoder | None:
    """Return the decoder of a small problem, for which several heuristics ask; None of a large one."""
    return _small_decoder(Same(problem)) if len(problem.buffers) <= FEW else None


@lru_cache(maxsize=2)
def _small_decoder(problem: Same[Problem]) -> Decoder | None:
    return decoder(problem.value, FEW_PAIRS)


def lowest(rivals: Spans, size: int, step: int) -> int:
    """Return the lowest multiple of ``step`` from which ``size`` bytes overlap no ``rivals`` (sorted)."""
    offset = 0
    for low, high in rivals:
        if low - offset >= size:
            break
        if high > offset:
            offset = -(-high // step) * step
    return offset


def tightest(rivals: Spans, size: int, step: int) -> int:
    """Return the start of the smallest gap between sorted ``rivals`` that holds ``size`` bytes (the lowest of
    equals), or else the first multiple of ``step`` above them."""
    offset, best, best_size = 0, -1, 0
    for low, high in rivals:
        if low - offset >= size and (best < 0 or low - offset < best_size):
            best, best_size = offset, low - offset
        if high > offset:
            offset = -(-high // step) * step
    return best if best >= 0 else offset
