"""Hill climbing over the order of placement, as TVM's USMP and Arm's Vela do it.

Buffers are placed one by one at their lowest fit. What ends highest is the bottleneck; the order of two
buffers that stood in its way, or in the way of those, is swapped, and the new order is kept unless its
peak is higher. After apache/tvm, src/tir/usmp/algo/hill_climb.cc, and ethosu.vela, hillclimb_allocation.py.
"""

from __future__ import annotations

from random import Random

from chipmodel.model.certificate import rests_on
from chipmodel.model.plan import Plan, Problem, Status
from solvers.core.alignment import align
from solvers.core.bounds_certified import best_bound
from solvers.core.conflicts import neighbours
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.incumbent import Incumbent
from solvers.core.outcome import Limits, Outcome, Report

ITERATIONS = 500
"""Where no limit is given: TVM's own."""
MAX_PAIR_CHECKS = 5_000_000
"""Where no limit is given, there are fewer than that if they would look at more pairs of buffers."""
MAX_PAIRS = 2_000_000
"""Pairs alive together beyond which nothing is climbed: a step would take seconds."""
MIN_ITERATIONS = 10
"""Where no limit is given and no more iterations than these would be had, nothing is climbed."""
DISTANT_CHANCE = 0.75
"""How often the second of the two comes from further away (TVM: 75 of 100)."""


def hill_climb(problem: Problem, limits: Limits, report: Report | None = None) -> Outcome:
    """The best plan within ``limits``, whose nodes are iterations; the same for the same seed and nodes.

    Stops at the proven bound, or within the problem's capacity. Guarantee: never above the peak of
    ``large-first``, with which it begins, and no higher for more iterations.
    """
    board = Incumbent(report)
    plan = first_fit(problem, ORDERS["large-first"])
    board.found(plan.peak(problem))
    certificate = best_bound(problem, plan.peak(problem))
    bound = certificate.bytes or 0
    board.raise_bound(bound)
    target = max(bound, problem.capacity or 0)
    iterations, proof = 0, ""
    if plan.peak(problem) > target:
        board.stage("climbing")
        most = MAX_PAIRS if _limited(limits) else MAX_PAIR_CHECKS // (2 * MIN_ITERATIONS)
        near = neighbours(problem, most)
        if near is None:
            proof = f"more than {most:,} pairs alive together are not climbed"
        else:
            climb = _Climb(problem, plan, [each.tolist() for each in near], limits.seed)
            iterations = _run(climb, target, limits, board)
            plan = climb.plan
    status = _status(problem, plan.peak(problem), bound)
    if status in ("optimal", "infeasible"):
        proof = rests_on(certificate)
    points = tuple(board.points)
    return Outcome(status, plan, bound, iterations, proof, certificate=certificate, trajectory=points)


def _status(problem: Problem, peak: int, bound: int) -> Status:
    capacity = problem.capacity
    if capacity is not None and peak > capacity:
        return "infeasible" if bound > capacity else "unknown"
    return "optimal" if peak == bound else "feasible"


def _limited(limits: Limits) -> bool:
    return limits.nodes is not None or limits.seconds is not None


def _run(climb: _Climb, target: int, limits: Limits, board: Incumbent) -> int:
    most = limits.nodes
    if not _limited(limits):
        most = min(ITERATIONS, MAX_PAIR_CHECKS // max(1, climb.pairs))
    done = 0
    while climb.peak > target and (most is None or done < most) and limits.left(board.began) != 0.0:
        climb.step()
        done += 1
        board.found(climb.peak)
    return done


class _Climb:
    """An order of placement, where it puts every buffer, and one step to another order."""

    def __init__(self, problem: Problem, plan: Plan, near: list[list[int]], seed: int) -> None:
        """``plan`` is what ``large-first`` makes of ``problem``."""
        self.problem, self.near = problem, near
        self.pairs = sum(map(len, near))
        self.random = Random(seed)
        self.sizes = [b.bytes for b in problem.buffers]
        self.steps = [b.alignment for b in problem.buffers]
        self.order = sorted((i for i, size in enumerate(self.sizes) if size), key=lambda i: -self.sizes[i])
        self.turn = [0] * len(self.sizes)
        for turn, index in enumerate(self.order):
            self.turn[index] = turn
        self.offsets = [plan.offsets[b.name] for b in problem.buffers]
        self.peak = plan.peak(problem)

    @property
    def plan(self) -> Plan:
        return Plan({b.name: self.offsets[i] for i, b in enumerate(self.problem.buffers)})

    def step(self) -> None:
        """Swaps two that are in the bottleneck's way, and back again if the peak rises."""
        chosen = self._choose()
        if chosen is None:
            return
        before = self.offsets.copy()
        self._swap(*chosen)
        peak = self._place(min(self.turn[i] for i in chosen), self.peak)
        if peak is None:
            self._swap(*chosen)
            self.offsets = before
        else:
            self.peak = peak

    def _choose(self) -> tuple[int, int] | None:
        tops = [i for i in self.order if self.offsets[i] + self.sizes[i] == self.peak]
        top = self.random.choice(tops)
        close = self._earlier(top)
        if not close:
            return None
        one = self.random.choice(close)
        far = self._earlier(self.random.choice(close)) if self.random.random() < DISTANT_CHANCE else []
        other = self.random.choice(far or [*close, top])
        return None if one == other else (one, other)

    def _earlier(self, index: int) -> list[int]:
        turn = self.turn
        return [j for j in self.near[index] if turn[j] < turn[index]]

    def _swap(self, one: int, other: int) -> None:
        turn, order = self.turn, self.order
        turn[one], turn[other] = turn[other], turn[one]
        order[turn[one]], order[turn[other]] = one, other

    def _place(self, first: int, most: int) -> int | None:
        """Places all from turn ``first`` on again; the peak, or None as soon as it is above ``most``."""
        offsets, sizes, turn = self.offsets, self.sizes, self.turn
        for now, index in enumerate(self.order[first:], first):
            rivals = [(offsets[j], offsets[j] + sizes[j]) for j in self.near[index] if turn[j] < now]
            offsets[index] = _lowest(sorted(rivals), sizes[index], self.steps[index])
            if offsets[index] + sizes[index] > most:
                return None
        return max((offsets[i] + sizes[i] for i in self.order), default=0)


def _lowest(rivals: list[tuple[int, int]], size: int, step: int) -> int:
    """The lowest multiple of ``step`` from which ``size`` bytes meet none of ``rivals``, which are sorted."""
    offset = 0
    for low, high in rivals:
        if low - offset >= size:
            break
        if high > offset:
            offset = high if step == 1 else align(high, step)
    return offset
