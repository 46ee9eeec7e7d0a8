"""State search as a packer of offsets: one memory, blocks that never move.

The memory gets a small capacity, and what finds no place there overflows; the cost of a state is the bytes
that overflow. The capacity is first reduced by the initial rule alone, then by the search. A block's place
can be changed only when it is allocated, so the source's rule of skipping steps that lie in the first tier is
off: such steps may leave no place for a later block.

Source: the tiered-memory patent (CN, 2022) (docs/references.md).
"""

from __future__ import annotations

from bisect import bisect_left

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import merged
from chipmodel.model.certificate import rests_on
from chipmodel.model.plan import Plan, Problem
from chipmodel.wording import argument
from solvers.core.anytime import status_of
from solvers.core.bounds_certified import best_bound
from solvers.core.incumbent import Incumbent
from solvers.core.outcome import Limits, Outcome, Report
from solvers.tiers.placement import by_rule
from solvers.tiers.problem import Tier, TierAccess, TierBlock, TierProblem, TierStep
from solvers.tiers.search import MAX_ACTIONS, TierWalk, last_tier
from solvers.tiers.tables import TierTables

MAX_PLACED = 3_000
"""Where no limit is given, nodes times steps are at most this (a node places about a block for each step)."""
MAX_PLACED_TO_FIT = 40_000
"""The same for a problem with a capacity: more, as a plan that does not fit is of no use."""
MIN_NODES = 10
"""Where no limit is given and no more nodes than these are possible, nothing is searched."""
RULE_TRIES = 8
"""Capacities tried with the initial rule alone."""


def state_search(problem: Problem, limits: Limits, report: Report | None = None) -> Outcome:
    """The lowest plan within ``limits``; the same for the same nodes.

    Stops at the proven bound, or within the problem's capacity. Guarantee: the peak is at most that of the
    initial rule in an unlimited memory. Raises BadInput for a problem with constraints.
    """
    if not problem.plain:
        raise BadInput(
            "packer 'state-search' keeps no constraints", hint=f"use {argument('packer', 'exact')}"
        )
    progress = Incumbent(report)
    packing = _TierPacking(problem, progress)
    packing.rule(None)
    certificate = best_bound(problem, packing.peak)
    bound = certificate.bytes or 0
    progress.raise_bound(bound)
    target = max(bound, problem.capacity or 0)
    packing.narrow(target)
    nodes = packing.search(target, limits)
    plan, peak = packing.plan, packing.peak
    status = status_of(problem, peak, bound)
    proof = rests_on(certificate) if status in ("optimal", "infeasible") else ""
    points = tuple(progress.points)
    return Outcome(status, plan, bound, nodes, proof, certificate=certificate, trajectory=points)


class _TierPacking:
    """The lowest plan so far, and the capacities that failed."""

    def __init__(self, problem: Problem, progress: Incumbent) -> None:
        self.problem, self.progress = problem, progress
        self.blocks, self.steps, self.names = _blocks(problem)
        self.plan = Plan({})
        self.peak = 0
        self.failed = -1
        """The largest capacity at which something overflowed."""

    def tables(self, capacity: int | None) -> TierTables:
        overflow = Tier("overflow", None, _nothing, _all_bytes, _nothing, _nothing, copies=False)
        memory = Tier("memory", capacity, _nothing, _nothing, _nothing, _nothing, copies=False)
        tiers = (overflow,) if capacity is None else (memory, overflow)
        return TierTables(TierProblem(tiers, self.blocks, self.steps))

    def rule(self, capacity: int | None) -> None:
        """Apply the initial rule; without a capacity everything is in the overflow tier."""
        tables = self.tables(capacity)
        run = by_rule(tables)
        if capacity is None:
            self._found(last_tier(tables, run.events))
        elif run.cost:
            self.failed = max(self.failed, capacity)
        else:
            self._found({block: offset for _, block, _, offset, _ in run.events})

    def _found(self, offsets: dict[int, int]) -> None:
        peak = max((offset + self.blocks[at].bytes for at, offset in offsets.items()), default=0)
        if not self.plan.offsets or peak < self.peak:
            found = {self.names[at]: offset for at, offset in offsets.items()}
            self.plan = Plan({b.name: found.get(b.name, 0) for b in self.problem.buffers})
            self.peak = peak
            self.progress.found(peak)

    def narrow(self, target: int) -> None:
        """Search, by bisection, the least capacity in which the initial rule fits; stop at ``target``."""
        self.progress.stage("initial rule")
        if self.peak > target:
            self.rule(target)
        for _ in range(RULE_TRIES):
            middle = (max(self.failed, target) + self.peak) // 2
            if self.peak <= target or middle <= self.failed:
                return
            self.rule(middle)

    def search(self, target: int, limits: Limits) -> int:
        """Run the state search at ever smaller capacities within the limits; the nodes used."""
        self.progress.stage("state search")
        spent, most = 0, limits.nodes
        if most is None and limits.seconds is None:
            work = MAX_PLACED if self.problem.capacity is None else MAX_PLACED_TO_FIT
            most = work // max(1, len(self.steps))
            most = most if most > MIN_NODES else 0
        low = target
        while self.peak > low and (most is None or spent < most):
            capacity = (low + self.peak) // 2 if spent else target
            left = Limits(self.progress.left(limits), None if most is None else -(-(most - spent) // 2))
            walk = TierWalk(self.tables(capacity), left, 1, MAX_ACTIONS - 1, skips=False)
            walk.run(enough=0)
            spent += walk.nodes
            if walk.total == 0:
                self._found({block: offset for events in walk.placed for _, block, _, offset, _ in events})
            else:
                low = capacity + 1
            if self.progress.left(limits) == 0:
                break
        return spent


def _nothing(_: int) -> int:
    return 0


def _all_bytes(size: int) -> int:
    return size


def _blocks(problem: Problem) -> tuple[tuple[TierBlock, ...], tuple[TierStep, ...], list[str]]:
    """The non-empty buffers as blocks, and their names; a step for every position at which a lifetime begins
    or continues after a hole."""
    lives = [merged(b.live) for b in problem.buffers]
    solid = [i for i, b in enumerate(problem.buffers) if b.bytes and lives[i]]
    starts = sorted({span.start for i in solid for span in lives[i]})
    tasks: list[list[TierAccess]] = [[] for _ in starts]
    blocks: list[TierBlock] = []
    for index in solid:
        buffer = problem.buffers[index]
        edges = [bisect_left(starts, edge) for span in lives[index] for edge in (span.start, span.stop)]
        # Intervals of a lifetime are one where no other lifetime begins in the hole between them.
        inner = [(a, b) for a, b in zip(edges[1:-1:2], edges[2:-1:2], strict=True) if a < b]
        tasks[edges[0]].append(TierAccess(len(blocks), True))
        blocks.append(
            TierBlock(
                buffer.name,
                buffer.bytes,
                edges[0],
                edges[-1],
                buffer.alignment,
                swaps=False,
                holes=tuple(inner),
            )
        )
    steps = tuple(TierStep(tuple(each)) for each in tasks)
    return tuple(blocks), steps, [b.name for b in blocks]
