"""S3's evolutionary member: a genetic algorithm over the orders in which buffers are placed.

An individual is an order of all buffers and a rule by which they are placed, so that every choice is made
with all other buffers as its context. After Holland, "Adaptation in Natural and Artificial Systems", 1975;
Goldberg, "Genetic Algorithms in Search, Optimization and Machine Learning", 1989; order crossover after
Davis, "Applying Adaptive Algorithms to Epistatic Domains", IJCAI 1985. One child at a time, as in Whitley's
GENITOR (ICGA 1989): it replaces the worst of the population and only if it is better, which is elitism for
all the others.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from random import Random

from chipmodel.model.plan import Problem
from solvers.core.anytime import Anytime
from solvers.core.decode import Decoder, Rule, decoder
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.outcome import Limits, Outcome, Report
from solvers.core.start import EXTRA_ORDERS
from solvers.heuristics.best_fit import greedy_best_fit

MAX_CHILDREN = 500
"""Children where no limit is given."""
MAX_PAIR_CHECKS = 5_000_000
"""Where no limit is given, there are fewer than that if they and the seeds would look at more pairs of
buffers."""
MAX_PAIRS = 2_000_000
"""Pairs alive together beyond which nothing is bred: a child would take seconds."""
MIN_CHILDREN = 10
"""Where no limit is given and no more children than these would be had, nothing is bred."""
POPULATION = 24
TOURNAMENT = 2
"""A parent is the best of that many."""
MUTATION_CHANCE = 0.7
"""The share of children of which two buffers are swapped."""
BUFFERS_PER_SWAP = 10
"""The population is filled up with seeds of which one in that many buffers is swapped with another."""


@dataclass(frozen=True, slots=True, order=True)
class _Individual:
    """The peak in bytes, how many buffers end above the bound, and the genes, by which nobody is compared."""

    peak: int
    above: int
    order: list[int] = field(compare=False)
    rule: Rule = field(compare=False)


def evolve(problem: Problem, limits: Limits, report: Report | None = None) -> Outcome:
    """The best plan within ``limits``, whose nodes are children; the same for the same seed and nodes.

    Stops at the proven bound, or within the problem's capacity. It begins with lowest fits and best fits in
    six orders. Guarantee: never above the peak of ``large-first`` or ``greedy-best-fit``, and, where it
    breeds at all, stops for no capacity and has the time for its seeds, of ``sequential`` or ``short-first``
    either.
    """
    plans = (first_fit(problem, ORDERS["large-first"]), greedy_best_fit(problem))
    run = Anytime(problem, limits, report, min(plans, key=lambda plan: plan.peak(problem)))
    if run.good_enough:
        return run.outcome()
    run.board.stage("breeding")
    most = MAX_PAIRS if run.limited else MAX_PAIR_CHECKS // (2 * MIN_CHILDREN)
    bred = decoder(problem, most)
    if bred is None:
        return run.outcome(f"orders with more than {most:,} pairs alive together are not bred")
    _Population(bred, run).evolve()
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
                self._add(self._scattered(self.random.choice(self.members)))
            else:
                self._add(self._child(self._parent(), self._parent()))

    def _seed(self) -> None:
        """Every order of the heuristics under both rules; at least the first, if there is no time for
        more."""
        buffers = self.decoder.problem.buffers
        for key in (*ORDERS.values(), *EXTRA_ORDERS.values()):
            order = sorted(self.decoder.solid, key=lambda i: key(buffers[i]))
            for rule in ("lowest fit", "best fit"):
                if not self.members or not (self.run.good_enough or self.run.late):
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

    def _scattered(self, seed: _Individual) -> tuple[list[int], Rule]:
        order = seed.order.copy()
        for _ in range(max(1, len(order) // BUFFERS_PER_SWAP)):
            self._swap(order)
        return order, seed.rule

    def _swap(self, order: list[int]) -> None:
        i, j = self.random.randrange(len(order)), self.random.randrange(len(order))
        order[i], order[j] = order[j], order[i]


def order_crossover(one: list[int], other: list[int], random: Random) -> list[int]:
    """A stretch of ``one`` where it was, and around it everything else in the order that it has in
    ``other``."""
    start, last = sorted((random.randrange(len(one)), random.randrange(len(one))))
    kept = one[start : last + 1]
    inside = set(kept)
    rest = [gene for gene in other if gene not in inside]
    return [*rest[:start], *kept, *rest[start:]]
