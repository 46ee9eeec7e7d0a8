"""State search as a packer of offsets: one memory, blocks that never move.

The memory gets a small capacity, and what finds no place there overflows; the cost of a state is the bytes
that overflow. The capacity is first reduced by the initial rule alone, then by the search. A block's place
can be changed only when it is allocated, so the source's rule of skipping steps that lie in the first tier is
off: such steps may leave no place for a later block.

Source: the tiered-memory patent (CN, 2022) (docs/references.md).
"""

from __future__ import annotations

from bisect import bisect_left
from time import perf_counter

from chipmodel.errors import BadInput, TimeIsOver
from chipmodel.geometry.interval import merged
from chipmodel.model.plan import Plan, Problem
from solvers.core.anytime import Anytime
from solvers.core.outcome import Limits, Outcome, Report
from solvers.tiers.actions import ActionRule
from solvers.tiers.placement import by_rule
from solvers.tiers.problem import Tier, TierAccess, TierBlock, TierProblem, TierStep
from solvers.tiers.search import TierWalk, last_tier
from solvers.tiers.settings import STANDARD, TierSettings
from solvers.tiers.tables import TierTables

MAX_PLACED = 3_000
"""If no limit is given, nodes times steps are at most this (a node places about a block for each step)."""
MAX_PLACED_TO_FIT = 40_000
"""The same for a problem with a capacity: more, as a plan that does not fit is of no use."""
MIN_NODES = 10
"""If no limit is given and no more nodes than these are possible, nothing is searched."""
RULE_TRIES = 8
"""Capacities tried with the initial rule alone."""


def state_search(
    problem: Problem, limits: Limits, report: Report | None = None, settings: TierSettings = STANDARD
) -> Outcome:
    """Return the lowest plan within ``limits``; the same for the same nodes. Blocks do not leave, so
    ``settings.cost`` is always the bytes that overflow.

    Stops at the proven bound, or within the problem's capacity. Guarantee: the peak is at most that of the
    initial rule in an unlimited memory. Raises BadInput for a problem with constraints.
    """
    if not problem.plain:
        raise BadInput("packer 'state-search' keeps no constraints", hint="use --packer exact")
    packing = _TierPacking(problem, limits, report, settings)
    packing.narrow()
    packing.search()
    return packing.best.outcome()


class _TierPacking:
    """The lowest plan so far, and the capacities that failed."""

    def __init__(
        self, problem: Problem, limits: Limits, report: Report | None, settings: TierSettings
    ) -> None:
        self.problem, self.limits, self.segment = problem, limits, settings.segment or 1
        self.rule = ActionRule(1, settings.actions, skips=False)
        self.until = limits.until(perf_counter())
        self.blocks, self.steps, self.names = _blocks(problem)
        self.until.require("every block had its place")
        tables = self.tables(None)
        first = self.plan(last_tier(tables, by_rule(tables, self.until).events))
        self.best = Anytime(problem, limits, report, first)
        self.target = max(self.best.bound, problem.capacity or 0)
        self.failed = -1
        """The largest capacity at which something overflowed."""

    def tables(self, capacity: int | None) -> TierTables:
        overflow = Tier("overflow", None, _nothing, _all_bytes, _nothing, _nothing, copies=False)
        memory = Tier("memory", capacity, _nothing, _nothing, _nothing, _nothing, copies=False)
        tiers = (overflow,) if capacity is None else (memory, overflow)
        return TierTables(TierProblem(tiers, self.blocks, self.steps))

    def try_rule(self, capacity: int) -> None:
        """Apply the initial rule."""
        try:
            run = by_rule(self.tables(capacity), self.until)
        except TimeIsOver:
            return
        if run.cost:
            self.failed = max(self.failed, capacity)
        else:
            self.best.offer(self.plan({block: offset for _, block, _, offset, _ in run.events}))

    def plan(self, offsets: dict[int, int]) -> Plan:
        """The plan with the blocks at these offsets."""
        found = {self.names[at]: offset for at, offset in offsets.items()}
        return Plan({b.name: found.get(b.name, 0) for b in self.problem.buffers})

    def narrow(self) -> None:
        """Search, by bisection, the least capacity in which the initial rule fits; stop at the target."""
        self.best.progress.stage("initial rule")
        if self.best.peak > self.target:
            self.try_rule(self.target)
        for _ in range(RULE_TRIES):
            middle = (max(self.failed, self.target) + self.best.peak) // 2
            if self.best.peak <= self.target or middle <= self.failed or self.until.over:
                return
            self.try_rule(middle)

    def search(self) -> None:
        """Run the state search at ever smaller capacities within the limits."""
        best, limits = self.best, self.limits
        best.progress.stage("state search")
        most = limits.nodes
        if most is None and limits.seconds is None:
            work = MAX_PLACED if self.problem.capacity is None else MAX_PLACED_TO_FIT
            most = work // max(1, len(self.steps))
            most = most if most > MIN_NODES else 0
        low = self.target
        while best.peak > low and (most is None or best.nodes < most) and not best.out_of_time:
            capacity = (low + best.peak) // 2 if best.nodes else self.target
            left = Limits(best.progress.left(limits), None if most is None else -(-(most - best.nodes) // 2))
            walk = TierWalk(self.tables(capacity), left, self.segment, self.rule)
            walk.run(enough=0)
            best.nodes += walk.nodes
            if walk.total == 0:
                placed = (event for events in walk.placed for event in events)
                best.offer(self.plan({block: offset for _, block, _, offset, _ in placed}))
            else:
                low = capacity + 1


def _nothing(_: int) -> int:
    return 0


def _all_bytes(size: int) -> int:
    return size


def _blocks(problem: Problem) -> tuple[tuple[TierBlock, ...], tuple[TierStep, ...], list[str]]:
    """The non-empty buffers as blocks, and their names; a step for each begin of a part of a lifetime."""
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
