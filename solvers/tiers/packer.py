"""S1's rule and search where offsets alone are asked for: one memory, blocks that never move.

The memory has a capacity as small as is hoped for, and what finds no place there overflows; a state costs
the bytes that overflow. The capacity is first narrowed down by the rule alone, then the search is asked
for less. A block may be put elsewhere only when it is born, so S1's skipping of steps that lie in
the first tier is off: it is they that leave no place for a later one.
"""

from __future__ import annotations

from bisect import bisect_left

from chipmodel.errors import BadInput
from chipmodel.model.certificate import rests_on
from chipmodel.model.interval import merged
from chipmodel.model.plan import Plan, Problem, Status
from solvers.core.bounds_certified import best_bound
from solvers.core.incumbent import Incumbent
from solvers.core.outcome import Limits, Outcome, Report
from solvers.tiers.placement import by_rule
from solvers.tiers.problem import Tier, TierAccess, TierBlock, TierProblem, TierStep
from solvers.tiers.search import MAX_ACTIONS, TierWalk, last_tier
from solvers.tiers.tables import TierTables

MAX_PLACED = 3_000
"""Where no limit is given, there are as many nodes as place no more blocks than these."""
MAX_PLACED_TO_FIT = 40_000
"""The same for a problem with a capacity: a plan that does not fit is worth nothing."""
MIN_NODES = 10
"""Where no limit is given and no more nodes than these would be had, nothing is searched."""
RULE_TRIES = 8
"""Capacities at which the rule alone is tried."""


def state_search(problem: Problem, limits: Limits, report: Report | None = None) -> Outcome:
    """The lowest plan within ``limits``; the same for the same nodes.

    Stops at the proven bound, or within the problem's capacity. Guarantee: never above the initial rule's
    peak in a memory without an end. Raises BadInput for a problem with constraints.
    """
    if not problem.plain:
        raise BadInput("packer 'state-search' keeps no constraints", hint="use --packer exact")
    board = Incumbent(report)
    packing = _Packing(problem, board)
    packing.rule(None)
    certificate = best_bound(problem, packing.peak)
    bound = certificate.bytes or 0
    board.raise_bound(bound)
    target = max(bound, problem.capacity or 0)
    packing.narrow(target)
    nodes = packing.search(target, limits)
    plan, peak = packing.plan, packing.peak
    status = _status(problem, peak, bound)
    proof = rests_on(certificate) if status in ("optimal", "infeasible") else ""
    points = tuple(board.points)
    return Outcome(status, plan, bound, nodes, proof, certificate=certificate, trajectory=points)


def _status(problem: Problem, peak: int, bound: int) -> Status:
    capacity = problem.capacity
    if capacity is not None and peak > capacity:
        return "infeasible" if bound > capacity else "unknown"
    return "optimal" if peak == bound else "feasible"


class _Packing:
    """The lowest plan so far."""

    def __init__(self, problem: Problem, board: Incumbent) -> None:
        self.problem, self.board = problem, board
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
        """The initial rule; a memory without an end is all overflow."""
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
            self.board.found(peak)

    def narrow(self, target: int) -> None:
        """The least capacity that the rule alone keeps within, nearly; ``target`` is enough."""
        self.board.stage("initial rule")
        if self.peak > target:
            self.rule(target)
        for _ in range(RULE_TRIES):
            middle = (max(self.failed, target) + self.peak) // 2
            if self.peak <= target or middle <= self.failed:
                return
            self.rule(middle)

    def search(self, target: int, limits: Limits) -> int:
        """S1's search at ever smaller capacities, as long as there are nodes; how many there were."""
        self.board.stage("state search")
        spent, most = 0, limits.nodes
        if most is None and limits.seconds is None:
            work = MAX_PLACED if self.problem.capacity is None else MAX_PLACED_TO_FIT
            most = work // max(1, len(self.steps))
            most = most if most > MIN_NODES else 0
        low = target
        while self.peak > low and (most is None or spent < most):
            capacity = (low + self.peak) // 2 if spent else target
            left = Limits(self.board.left(limits), None if most is None else -(-(most - spent) // 2))
            walk = TierWalk(self.tables(capacity), left, 1, MAX_ACTIONS - 1, skips=False)
            walk.run(enough=0)
            spent += walk.nodes
            if walk.total == 0:
                self._found({block: offset for events in walk.placed for _, block, _, offset, _ in events})
            else:
                low = capacity + 1
            if self.board.left(limits) == 0:
                break
        return spent


def _nothing(_: int) -> int:
    return 0


def _all_bytes(size: int) -> int:
    return size


def _blocks(problem: Problem) -> tuple[tuple[TierBlock, ...], tuple[TierStep, ...], list[str]]:
    """A step for every position at which something begins to live or lives on after a hole; the buffers
    that take any bytes as blocks, and their names."""
    lives = [merged(b.live) for b in problem.buffers]
    solid = [i for i, b in enumerate(problem.buffers) if b.bytes and lives[i]]
    starts = sorted({span.start for i in solid for span in lives[i]})
    tasks: list[list[TierAccess]] = [[] for _ in starts]
    blocks: list[TierBlock] = []
    for index in solid:
        buffer = problem.buffers[index]
        edges = [bisect_left(starts, edge) for span in lives[index] for edge in (span.start, span.stop)]
        # Pieces of a life with nobody's birth between them are one.
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
