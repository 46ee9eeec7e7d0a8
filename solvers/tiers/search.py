"""State search over memory tiers: improve the initial rule's state by actions, step by step.

The steps are visited in order. In a segment of ``segment`` steps all combinations of actions are tried, and
after each the rule places all later blocks again; the cheapest state is kept if it is cheaper than the
previous one. As soon as a state equals the kept one at some step, so do all later costs, and the rule can
stop.

Source: the tiered-memory patent (CN, 2022) (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, repeat
from time import perf_counter

from chipmodel.errors import DoesNotFit
from chipmodel.records import dataclass
from solvers.core.outcome import Limits
from solvers.tiers.actions import STANDARD_RULE, ActionRule, variants
from solvers.tiers.placement import Event, TierRun, best_fit
from solvers.tiers.problem import TierProblem, TierState, TierStay
from solvers.tiers.settings import Segments
from solvers.tiers.tables import TierTables

MAX_STEPS = 600_000
"""If no limit is given, nodes times steps of the problem are at most this."""


@dataclass(frozen=True, slots=True)
class TierSearchResult:
    """The state found, which costs at most as much as the initial one."""

    state: TierState
    initial: TierState
    """The state of the initial rule, whatever the search."""
    nodes: int
    """States examined."""


def default_limits(problem: TierProblem) -> Limits:
    """Those of a search where none are given."""
    return Limits(nodes=MAX_STEPS // max(1, len(problem.steps)))


def search(
    problem: TierProblem,
    limits: Limits | None = None,
    segment: Segments = 1,
    rule: ActionRule = STANDARD_RULE,
) -> TierSearchResult:
    """Run the state search. ``segment`` steps are decided together (1 is greedy), or as many as its numbers
    say one after another, at each of them by ``rule``. Deterministic for the same ``limits.nodes``.

    Raises DoesNotFit where an op's reserve and staging exceed the first tier.
    """
    walk = TierWalk(TierTables(problem), limits or default_limits(problem), segment, rule)
    initial = walk.state()
    walk.run()
    return TierSearchResult(walk.state(), initial, walk.nodes)


class TierWalk:
    """The kept state: the run before each step, the events of each, and the total cost."""

    def __init__(self, tables: TierTables, limits: Limits, segment: Segments, rule: ActionRule) -> None:
        self.tables, self.limits = tables, limits
        self.segments, self.rule = (segment,) if isinstance(segment, int) else segment, rule
        self.began = perf_counter()
        self.nodes = 0
        self.before: list[TierRun] = []
        self.placed: list[list[Event]] = [[] for _ in tables.births]
        run = TierRun(tables)
        for step in range(len(tables.births)):
            self.before.append(run)
            run = self._ran(run, step)
        self.total = run.cost

    def _ran(self, run: TierRun, step: int) -> TierRun:
        after = run.copy()
        after.events.clear()
        after.advance(step)
        self.placed[step] = list(after.events)
        after.events.clear()
        return after

    def run(self, enough: int = -1) -> None:
        """Visit all steps, or until the cost is ``enough`` or the limits are reached."""
        steps, stop = len(self.before), 0
        for length in chain(self.segments, repeat(self.segments[-1])):
            if self.total <= enough or stop == steps:
                return
            start, stop = stop, min(steps, stop + length)
            best: tuple[int, TierRun] | None = None
            for run in self.combinations(self.before[start], start, stop):
                if self._stopped():
                    break
                self.nodes += 1
                total = self.follow(run, stop)
                if total is not None and total < (best[0] if best else self.total):
                    best = total, run
            if best is not None:
                self._keep(best[1], start, stop)
            if self._stopped():
                return

    def combinations(self, run: TierRun, step: int, stop: int) -> Iterator[TierRun]:
        """The states after step ``stop - 1`` by all combinations of actions from ``step`` on."""
        for after in variants(run, step, self.rule):
            if step + 1 == stop:
                yield after
            elif after.cost < self.total:
                yield from self.combinations(after, step + 1, stop)

    def follow(self, run: TierRun, step: int) -> int | None:
        """The total cost if the rule continues from ``run``; None once it cannot beat the kept state."""
        run = run.copy()
        run.events.clear()
        while run.cost + self.tables.rest[step] < self.total:
            if step == len(self.before):
                return run.cost
            kept = self.before[step]
            if run.same(kept):
                total = run.cost + self.total - kept.cost
                return total if total < self.total else None
            try:
                run.advance(step)
            except DoesNotFit:
                return None
            step += 1
        return None

    def _keep(self, run: TierRun, start: int, stop: int) -> None:
        for step in range(start, stop):
            self.placed[step] = [event for event in run.events if event[0] == step]
        trail = list(run.events)
        for step in range(start + 1, stop):
            self.before[step] = self._replay(step - 1, trail)
        run = run.copy()
        run.events.clear()
        step = stop
        saved = 0
        while step < len(self.before):
            if run.same(self.before[step]):
                saved = self.before[step].cost - run.cost
                break
            self.before[step] = run
            run = self._ran(run, step)
            step += 1
        for at in range(step, len(self.before)):
            self.before[at].cost -= saved
        self.total = self.total - saved if step < len(self.before) else run.cost

    def _replay(self, step: int, events: list[Event]) -> TierRun:
        """The state after ``step`` with the given events, from the kept state before it."""
        run = self.before[step].copy()
        for at, block, tier, offset, under in events:
            if at == step and block in run.where:
                run.move(block, step, tier, offset)
            elif at == step:
                run.put(block, step, tier, offset, under)
        run.operate(step)
        run.events.clear()
        return run

    def _stopped(self) -> bool:
        limits = self.limits
        if limits.nodes is not None and self.nodes >= limits.nodes:
            return True
        return limits.left(self.began) == 0.0

    def state(self) -> TierState:
        """The kept state, with offsets in the last tier."""
        return as_state(self.tables, [event for events in self.placed for event in events], self.total)


def as_state(tables: TierTables, events: list[Event], total: int) -> TierState:
    """Return the state after ``events``, with the cost ``total`` (times the tables' scale)."""
    stays: list[list[TierStay]] = [[] for _ in tables.size]
    lowest: list[int | None] = [None] * len(tables.size)
    deep = last_tier(tables, events)
    for step, block, tier, offset, under in events:
        if stays[block]:
            before = stays[block][-1]
            stays[block][-1] = TierStay(before.tier, before.offset, before.start, step)
        else:
            lowest[block] = under if under >= 0 else None
        place = deep[block] if tier == tables.last else offset
        stays[block].append(TierStay(tier, place, step, tables.stop[block]))
    return TierState(Fraction(total, tables.scale), tuple(tuple(s) for s in stays), tuple(lowest))


def last_tier(tables: TierTables, events: list[Event]) -> dict[int, int]:
    """Offsets in the last tier by the same rule; a block keeps its place there to the end of its life."""
    first: dict[int, int] = {}
    for step, block, tier, _, _ in events:
        if tier == tables.last:
            first.setdefault(block, step)
    busy: list[tuple[int, int, int]] = []
    offsets: dict[int, int] = {}
    for block, step in first.items():
        busy = [span for span in busy if tables.stop[span[2]] > step]
        offset = best_fit(
            tables, block, tables.last, _spaces(busy, tables.size[block] + tables.alignment[block][-1]), None
        )
        assert offset is not None
        offsets[block] = offset
        if tables.size[block]:
            busy = sorted([*busy, (offset, offset + tables.size[block], block)])
    return offsets


def _spaces(busy: list[tuple[int, int, int]], more: int) -> Iterator[tuple[int, int, int, int]]:
    low, below, total = 0, -1, 0
    for first, end, block in busy:
        if first > low:
            yield low, first, below, block
            total = max(total, first - low)
        low, below = end, block
    yield low, low + total + more, below, -1
