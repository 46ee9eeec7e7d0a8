"""Hill climbing over the order of placement.

Buffers are placed one by one at their lowest fit. Of the buffers that keep a topmost buffer from being lower,
or that keep those from being lower, two swap their places in the order; the new order is kept unless its peak
is higher.

Source: Apache TVM USMP, src/tir/usmp/algo/hill_climb.cc; Arm Vela, ethosu.vela, hillclimb_allocation.py
(docs/references.md).
"""

from __future__ import annotations

from random import Random
from time import perf_counter

from chipmodel.model.plan import Plan, Problem
from solvers.core.anytime import Anytime
from solvers.core.decode import Decoder, decoder, lowest
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.outcome import Limits, Outcome, Report

ITERATIONS = 500
"""If no limit is given (TVM's own number)."""
MAX_PAIR_CHECKS = 5_000_000
"""If no limit is given, iterations are reduced so that they examine at most so many pairs of buffers."""
MAX_PAIRS = 2_000_000
"""Pairs alive together beyond which nothing is searched: an iteration would take seconds."""
MIN_ITERATIONS = 10
"""If no limit is given and fewer iterations than these are possible, nothing is searched."""
DISTANT_CHANCE = 0.75
"""Probability that the second of the two buffers is a neighbour's neighbour (TVM: 75 of 100)."""


def hill_climb(problem: Problem, limits: Limits, report: Report | None = None) -> Outcome:
    """Return the best plan within ``limits``, whose nodes are iterations; the same for the same seed and
    nodes.

    Stops at the proven bound, or within the problem's capacity. Guarantee: the peak is at most that of
    ``large-first``, with which it begins, and no higher for more iterations.
    """
    until = limits.until(perf_counter())
    run = Anytime(problem, limits, report, first_fit(problem, ORDERS["large-first"], until))
    if run.good_enough or run.out_of_time:
        return run.outcome()
    run.progress.stage("climbing")
    max_pairs = MAX_PAIRS if run.limited else MAX_PAIR_CHECKS // (2 * MIN_ITERATIONS)
    found = decoder(problem, max_pairs)
    if found is None:
        return run.outcome(f"not searched: more than {max_pairs:,} pairs alive together")
    climb = _Climb(found, run.plan, limits.seed)
    while not run.done(min(ITERATIONS, MAX_PAIR_CHECKS // max(1, found.pairs))):
        climb.step()
        run.nodes += 1
        if climb.peak < run.peak:
            run.offer(climb.plan)
    run.plan = climb.plan  # It may have changed since at the same peak.
    return run.outcome()


class _Climb:
    """An order of placement, the offsets it leads to, and one step to another order."""

    def __init__(self, decoder: Decoder, plan: Plan, seed: int) -> None:
        """``plan`` is that of ``large-first``."""
        problem, self.near = decoder.problem, decoder.near
        self.problem, self.sizes, self.steps = problem, decoder.sizes, decoder.steps
        self.random = Random(seed)
        self.order = sorted(decoder.solid, key=lambda i: -self.sizes[i])
        self.turn = [0] * len(self.sizes)
        for turn, index in enumerate(self.order):
            self.turn[index] = turn
        self.offsets = [plan.offsets[b.name] for b in problem.buffers]
        self.peak = plan.peak(problem)

    @property
    def plan(self) -> Plan:
        return Plan({b.name: self.offsets[i] for i, b in enumerate(self.problem.buffers)})

    def step(self) -> None:
        """Swap two buffers below the top, and back again if the peak rises."""
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
        """Place all from turn ``first`` on again; the peak, or None as soon as it is above ``most``."""
        offsets, sizes, turn = self.offsets, self.sizes, self.turn
        for now, index in enumerate(self.order[first:], first):
            rivals = [(offsets[j], offsets[j] + sizes[j]) for j in self.near[index] if turn[j] < now]
            offsets[index] = lowest(sorted(rivals), sizes[index], self.steps[index])
            if offsets[index] + sizes[index] > most:
                return None
        return max((offsets[i] + sizes[i] for i in self.order), default=0)
