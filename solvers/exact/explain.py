"""Explain why a problem is infeasible: a small set of its buffers that alone do not fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from chipmodel.model.certificate import (
    Certificate,
    Contradiction,
    Core,
    LiveSet,
    Regions,
    Searched,
    Tallest,
    excludes,
)
from chipmodel.model.plan import Buffer, Problem, Status
from chipmodel.verify.certificate import verify_certificate
from solvers.core.bounds_certified import best_bound
from solvers.core.outcome import Limits
from solvers.core.preprocess import part_of

CORE_BUFFERS = 10
"""Largest set that is certified by trying all plans."""
CORE_STEPS = 100_000
"""Steps of that check."""

Fits = Callable[[Problem, Limits], Status]
"""An exact planner's answer to whether a problem fits its capacity."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Buffers that alone do not fit. ``irreducible``: without any one of them the others fit."""

    buffers: tuple[str, ...]
    irreducible: bool
    certificate: Certificate


def explain(problem: Problem, certificate: Certificate, limits: Limits, fits: Fits) -> Explanation:
    """Return a small infeasible set for a problem that ``certificate`` shows to exceed its capacity.

    ``fits`` is called for smaller and smaller parts, until no buffer can be left out or ``limits`` are
    reached; ``unknown`` counts as fitting. The certificate returned is of the small set; where the set is
    small enough it needs no trust in a solver.
    """
    named = _buffers_of(problem, certificate)
    if isinstance(certificate, Tallest):
        return Explanation(named, True, certificate)
    if isinstance(certificate, LiveSet) and _only_lifetimes(problem) and problem.capacity is not None:
        return _fewest(problem, certificate, problem.capacity)
    shrink = _Shrink(problem, limits, fits)
    left = shrink.run([b for b in problem.buffers if b.name in set(named)])
    names = tuple(b.name for b in left)
    return Explanation(names, shrink.complete, _certify(problem, left, certificate))


def _only_lifetimes(problem: Problem) -> bool:
    return problem.plain and all(b.alignment == 1 for b in problem.buffers)


def _buffers_of(problem: Problem, certificate: Certificate) -> tuple[str, ...]:
    match certificate:
        case LiveSet() | Regions() | Contradiction() | Core():
            return certificate.buffers
        case Tallest():
            return (certificate.buffer,)
        case _:
            return tuple(b.name for b in problem.buffers)


def _fewest(problem: Problem, certificate: LiveSet, capacity: int) -> Explanation:
    """The largest buffers of the live set, as many as exceed the capacity; without any one of them they
    fit."""
    sizes = {b.name: b.bytes for b in problem.buffers}
    names: list[str] = []
    total = 0
    for name in sorted(certificate.buffers, key=lambda n: -sizes[n]):
        if total > capacity:
            break
        names.append(name)
        total += sizes[name]
    kept = tuple(name for name in certificate.buffers if name in set(names))
    return Explanation(kept, True, LiveSet(total, certificate.position, kept))


@dataclass
class _Shrink:
    """A deletion filter: leave out half of the buffers, then quarters, at last one by one."""

    problem: Problem
    limits: Limits
    fits: Fits
    complete: bool = True

    def run(self, buffers: Sequence[Buffer]) -> list[Buffer]:
        began = perf_counter()
        kept = sorted(buffers, key=lambda b: (b.bytes * sum(map(len, b.live)), b.bytes))
        size = max(1, len(kept) // 2)
        while True:
            at = 0
            while at < len(kept):
                if self._out_of_time(began):
                    return self._in_order(kept)
                rest = kept[:at] + kept[at + size :]
                if rest and self._exceeds(rest, began, size == 1):
                    kept = rest
                else:
                    at += size
            if size == 1:
                return self._in_order(kept)
            size = max(1, size // 2)

    def _out_of_time(self, began: float) -> bool:
        if self.limits.left(began) == 0:
            self.complete = False
            return True
        return False

    def _exceeds(self, buffers: list[Buffer], began: float, last: bool) -> bool:
        part = part_of(self.problem, buffers)
        if excludes(best_bound(part, part.capacity), part.capacity):
            return True
        left = self.limits.left(began)
        seconds = None if left is None else left / 4
        status = self.fits(part, replace(self.limits, seconds=seconds))
        if status == "unknown" and last:
            self.complete = False
        return status == "infeasible"

    def _in_order(self, kept: Sequence[Buffer]) -> list[Buffer]:
        names = {b.name for b in kept}
        return [b for b in self.problem.buffers if b.name in names]


def _certify(problem: Problem, buffers: list[Buffer], certificate: Certificate) -> Certificate:
    part = part_of(problem, buffers)
    bound = best_bound(part, part.capacity)
    if excludes(bound, problem.capacity) and not verify_certificate(problem, bound):
        return bound
    beyond = None if problem.capacity is None else problem.capacity + 1
    core = Core(beyond, tuple(b.name for b in buffers))
    if len(buffers) <= CORE_BUFFERS and not verify_certificate(problem, core, CORE_STEPS):
        return core
    if isinstance(certificate, Searched):
        return replace(certificate, record=f"{certificate.record}; {len(buffers)} buffers alone do not fit")
    return certificate
