"""A genetic algorithm over the orders in which buffers are placed.

An individual is an order of all buffers and a rule of placement. After Holland, "Adaptation in Natural and
Artificial Systems", 1975; Goldberg, "Genetic Algorithms in Search, Optimization and Machine Learning", 1989;
order crossover after Davis, "Applying Adaptive Algorithms to Epistatic Domains", IJCAI 1985; one child at a
time, which replaces the worst individual if it is better, as in Whitley's GENITOR (ICGA 1989).

Source: the many-core patent (CN, 2023), evolutionary (docs/references.md).
"""

from __future__ import annotations

from bisect import insort
from dataclasses import field
from random import Random
from time import perf_counter

from chipmodel.model.plan import Problem
from chipmodel.records import dataclass
from solvers.core.anytime import Anytime
from solvers.core.decode import Decoder, Rule, decoder
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.outcome import Limits, Outcome, Report
from solvers.core.start import EXTRA_ORDERS
from solvers.heuristics.best_fit import greedy_best_fit

MAX_CHILDREN = 500
"""Children where no limit is given."""
MAX_PAIR_CHECKS = 5_000_000
"""Without a limit, children are reduced so that they and the seeds examine at most so many pairs."""
MAX_PAIRS = 2_000_000
"""Pairs alive together beyond which nothing is searched: a child would take seconds."""
MIN_CHILDREN = 10
"""If no limit is given and fewer children than these are possible, nothing is searched."""
POPULATION = 24
"""Individuals (chosen by measurement, like the constants below)."""
TOURNAMENT = 2
"""A parent is the best of so many random individuals."""
MUTATION_CHANCE = 0.7
"""Probability that two buffers of a child are swapped."""
BUFFERS_PER_SWAP = 10
"""The population is filled up with copies of the seeds, with one swap for so many buffers."""


@dataclass(frozen=True, slots=True, order=True)
class _Individual:
    """The peak in bytes, the number of buffers that end above the bound, and the genes (not compared)."""

    peak: int
    above: int
    order: list[int] = field(compare=False)
    rule: Rule = field(compare=False)


def evolve(problem: Problem, limits: Limits, report: Report | None = None) -> Outcome:
    """Return the best plan within ``limits``, whose nodes are children; the same for the same seed and nodes.

    Stops at the proven bound, or within the problem's capacity. The seeds are lowest fits and best fits in
    six orders. Guarantee: the peak is at most that of ``large-first`` and ``greedy-best-fit``; without a
    capacity, and with time for all seeds, also at most that of ``sequential`` and ``short-first``.
    """
    until = limits.until(perf_counter())
    plans = (first_fit(problem, ORDERS["large-first"], until), greedy_best_fit(problem, until))
    run = Anytime(problem, limits, report, min(plans, key=lambda plan: plan.peak(problem)))
    if run.good_enough or run.out_of_time:
        return run.outcome()
    run.progress.stage("breeding")
    most = MAX_PAIRS if run.limited else MAX_PAIR_CHECKS // (2 * MIN_CHILDREN)
    decode = decoder(problem, most)
    if decode is None:
        return run.outcome(f"not searched: more than {most:,} pairs alive together")
    _Population(decode, run).evolve()
    return run.outcome()


class _Population:
    """The individuals, the best first."""

    def __init__(self, decoder: Decoder, run: Anytime) -> None:
        self.decoder, self.run = decoder, run
        self.random = Random(run.limits.seed)
        self.members: list[_Individual] = []
        seeds = 2 * (len(ORDERS) + len(EXTRA_ORDERS))
        self.most = min(MAX_CHILDREN, max(0, MAX_PAIR_CHECKS // max(1, decoder.pairs) - seeds))

    def evolve(self) -> None:
        """Seeds, then as many children as the limits allow."""
        self._seed()
        while not self.run.done(self.most):
            self.run.nodes += 1
            if len(self.members) < POPULATION:
                self._add(self._shuffled(self.random.choice(self.members)))
            else:
                self._add(self._child(self._parent(), self._parent()))

    def _seed(self) -> None:
        """Add every order of the heuristics under both rules, in any case the first."""
        buffers = self.decoder.problem.buffers
        for key in (*ORDERS.values(), *EXTRA_ORDERS.values()):
            order = sorted(self.decoder.solid, key=lambda i: key(buffers[i]))
            for rule in ("lowest fit", "best fit"):
                if not self.members or not (self.run.good_enough or self.run.out_of_time):
                    self._add((order, rule))

    def _add(self, genes: tuple[list[int], Rule]) -> None:
        full = len(self.members) >= POPULATION
        ends = self.decoder.ends(*genes, self.members[-1].peak if full else None)
        if ends is None:
            return
        above = sum(end > self.run.bound for end in ends)
        new = _Individual(max(ends, default=0), above, *genes)
        if new.peak < self.run.peak:
            self.run.offer(self.decoder.plan(ends))
        if full:
            if not new < self.members[-1] or any(new.order == old.order for old in self.members):
                return
            self.members.pop()
        insort(self.members, new)

    def _parent(self) -> _Individual:
        return self.members[min(self.random.randrange(len(self.members)) for _ in range(TOURNAMENT))]

    def _child(self, one: _Individual, other: _Individual) -> tuple[list[int], Rule]:
        order = order_crossover(one.order, other.order, self.random)
        if one is other or self.random.random() < MUTATION_CHANCE:
            self._swap(order)
        return order, one.rule

    def _shuffled(self, seed: _Individual) -> tuple[list[int], Rule]:
        order = seed.order.copy()
        for _ in range(max(1, len(order) // BUFFERS_PER_SWAP)):
            self._swap(order)
        return order, seed.rule

    def _swap(self, order: list[int]) -> None:
        i, j = self.random.randrange(len(order)), self.random.randrange(len(order))
        order[i], order[j] = order[j], order[i]


def order_crossover(one: list[int], other: list[int], random: Random) -> list[int]:
    """Return a random segment of ``one`` in place, around it all other genes as ``other`` orders them."""
    start, last = sorted((random.randrange(len(one)), random.randrange(len(one))))
    kept = one[start : last + 1]
    inside = set(kept)
    rest = [gene for gene in other if gene not in inside]
    return [*rest[:start], *kept, *rest[start:]]
