"""The initial rule of state search: the place of a block when it is allocated.

Tiers are tried from fast to slow (unless the block is pinned). In a tier a block is put on what it may
overwrite, which takes no more bytes; else into the smallest free space that holds it, next to the neighbour
that dies later, so that the free space grows when the other one dies. Where both die together, it is put on
the side nearer to the tier's border; a border counts as a neighbour that never dies. What is not overwritten
is freed when the op ends.

A last tier without a capacity holds everything, so only *that* a block lies there is recorded; offsets in it
are given at the end.

Source: the tiered-memory patent (CN, 2022) (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from chipmodel.errors import DoesNotFit
from solvers.core.deadline import NO_DEADLINE, Deadline
from solvers.tiers.tables import TierTables

Span = tuple[int, int, int]
"""First byte, end, and the block that holds them."""
Event = tuple[int, int, int, int, int]
"""Step, block, tier, offset there (0 in the last tier), and the block that it overwrites or -1."""


class TierRun:
    """The state before one step, the cost so far, and all placements since the run began."""

    __slots__ = ("busy", "copied", "cost", "events", "free_bytes", "stuck", "tables", "where")

    def __init__(self, tables: TierTables) -> None:
        self.tables = tables
        self.busy: list[list[Span]] = [[] for _ in range(tables.last)]
        """For each tier but the last, by offset; between them is free. In holes of a life spans overlap."""
        self.where: dict[int, int] = {}
        self.copied: set[int] = set()
        """Live blocks in other tiers with a valid copy in the last."""
        self.stuck: set[int] = set()
        """Live blocks that may not change their place while they hold data."""
        self.free_bytes = list(tables.free_bytes)
        self.cost = 0
        self.events: list[Event] = []

    def copy(self) -> TierRun:
        """A copy of the state, with the same events."""
        other = TierRun.__new__(TierRun)
        other.tables = self.tables
        other.busy = [list(spans) for spans in self.busy]
        other.where, other.copied, other.stuck = dict(self.where), set(self.copied), set(self.stuck)
        other.free_bytes = list(self.free_bytes)
        other.cost, other.events = self.cost, list(self.events)
        return other

    def same(self, other: TierRun) -> bool:
        """Whether two states are equal, so that all later costs are too."""
        return (
            self.busy == other.busy
            and self.where == other.where
            and self.copied == other.copied
            and self.stuck == other.stuck
        )

    # -- places --------------------------------------------------------------------------------

    def spaces(self, tier: int, block: int) -> Iterator[tuple[int, int, int, int]]:
        """Spaces of a tier that are free all through the life of ``block``: first byte, end, the blocks
        below and above (-1 for the border)."""
        low, below, tables = 0, -1, self.tables
        for first, end, held in self.busy[tier]:
            if tables.overlap(block, held):
                if first > low:
                    yield low, first, below, held
                if end > low:
                    low, below = end, held
        if low < self.tables.capacity[tier]:
            yield low, self.tables.capacity[tier], below, -1

    def best_fit(self, block: int, tier: int) -> int | None:
        """The offset that the rule gives a block in the free spaces of a tier, if there is one."""
        return best_fit(self.tables, block, tier, self.spaces(tier, block), self.tables.capacity[tier])

    def fits(self, block: int, step: int, shared: int = 0) -> bool:
        """Whether every later op still has its reserve and staging if ``block`` lies in the first tier from
        ``step`` on; ``shared`` of its bytes are already taken by another block at that step."""
        tables = self.tables
        if not tables.limited:
            return True
        need, start, free_bytes = tables.need[block], tables.start[block], self.free_bytes
        if free_bytes[step] + shared < need[step - start]:
            return False
        return all(free_bytes[at] >= need[at - start] for at in range(step + 1, tables.stop[block]))

    def reusable(self, block: int, tier: int) -> Iterator[tuple[int, int]]:
        """(block, offset) of the places in a tier that ``block`` may overwrite and that hold it."""
        tables, start = self.tables, self.tables.start[block]
        if tables.cuts[start] and any(self.where.get(x, tier) for x, _, _ in tables.tasks[start]):
            return
        for under in tables.problem.blocks[block].overwrites:
            for first, end, held in self.busy[tier] if self.where.get(under) == tier else ():
                low = -(-first // tables.alignment[block][tier]) * tables.alignment[block][tier]
                if held == under and low + tables.size[block] <= end:
                    yield under, low

    # -- changes -------------------------------------------------------------------------------

    def allocate(self, block: int, step: int) -> None:
        """Place a new block by the rule. Raises DoesNotFit where none of its tiers has a place."""
        for tier in self.tables.allowed[block]:
            found = self._place(block, step, tier)
            if found is not None:
                return self.put(block, step, tier, *found)
        asked = self.tables.problem.blocks[block]
        where = "any tier" if asked.pinned is None else "the tier that it is pinned to"
        raise DoesNotFit(
            f"block {asked.name!r} of {asked.bytes:,} B finds no place in {where} at step {step}"
        )

    def _place(self, block: int, step: int, tier: int) -> tuple[int, int] | None:
        """Offset in a tier, and the block overwritten there or -1; None where there is no place."""
        size = self.tables.size[block]
        if not size or tier == self.tables.last:
            return 0, -1
        for under, offset in self.reusable(block, tier):
            if tier or self.fits(block, step, size):
                return offset, under
        place = self.best_fit(block, tier) if tier or self.fits(block, step) else None
        return None if place is None else (place, -1)

    def put(self, block: int, step: int, tier: int, offset: int, under: int = -1) -> None:
        """Place a new block; one that has a home is brought from there."""
        tables, problem = self.tables, self.tables.problem.blocks[block]
        self._occupy(block, step, tier, offset, under)
        if not problem.swaps or under in self.stuck:
            self.stuck.add(block)
        if problem.home is not None:
            if problem.home == tables.last:
                self.copied.add(block)
            if problem.home != tier:
                self.cost += tables.times[step] * tables.transfer(block, problem.home, tier)

    def move(self, block: int, step: int, tier: int, offset: int) -> None:
        """Move a block that holds data, before the op of ``step``."""
        tables, origin = self.tables, self.where[block]
        self.release(block, step)
        self._occupy(block, step, tier, offset, -1)
        if tier != tables.last or block not in self.copied:
            self.cost += tables.times[step] * tables.transfer(block, origin, tier)
        if tables.last in (origin, tier):
            self.copied.add(block)

    def _occupy(self, block: int, step: int, tier: int, offset: int, under: int) -> None:
        tables, size = self.tables, self.tables.size[block]
        self.where[block] = tier
        self.events.append((step, block, tier, offset, under))
        if tier == tables.last:
            return
        if under >= 0:
            self._cut(tier, under, offset, offset + size)
        if size:
            self._insert(tier, (offset, offset + size, block))
        if tier == 0 and tables.limited:
            self._take(block, step, 1)
            self.free_bytes[step] += size if under >= 0 else 0

    def _cut(self, tier: int, under: int, low: int, high: int) -> None:
        """Take the bytes ``[low, high)`` from block ``under``."""
        spans = self.busy[tier]
        at = next(i for i, (a, b, held) in enumerate(spans) if held == under and a <= low and high <= b)
        first, end, _ = spans[at]
        left = [(a, b, under) for a, b in ((first, low), (high, end)) if a < b]
        spans[at : at + 1] = left

    def _insert(self, tier: int, span: Span) -> None:
        spans = self.busy[tier]
        at = len(spans)
        while at and spans[at - 1][0] > span[0]:
            at -= 1
        spans.insert(at, span)

    def _take(self, block: int, step: int, sign: int) -> None:
        need, start, free_bytes = self.tables.need[block], self.tables.start[block], self.free_bytes
        for at in range(step, self.tables.stop[block]):
            free_bytes[at] -= sign * need[at - start]

    def release(self, block: int, step: int) -> None:
        """Free the bytes of a block from ``step`` on."""
        tier = self.where.pop(block)
        if tier != self.tables.last:
            self.busy[tier] = [span for span in self.busy[tier] if span[2] != block]
            if tier == 0 and self.tables.limited:
                self._take(block, step, -1)

    def operate(self, step: int) -> None:
        """Run the op of ``step``: pay for its tasks, then free what dies."""
        tables, where, paid = self.tables, self.where, 0
        for block, writes, costs in tables.tasks[step]:
            paid += costs[where[block]]
            if writes and block in self.copied and where[block] != tables.last:
                self.copied.discard(block)
        for block in tables.deaths[step]:
            ends = tables.problem.blocks[block].ends
            kept = block in self.copied and ends == tables.last
            if ends is not None and ends != where[block] and not kept:
                paid += tables.transfer(block, where[block], ends)
            self.release(block, step + 1)
            self.copied.discard(block)
            self.stuck.discard(block)
        self.cost += tables.times[step] * paid

    def advance(self, step: int) -> None:
        """One step by the initial rule alone."""
        for block in self.tables.births[step]:
            self.allocate(block, step)
        self.operate(step)

    def fast(self, step: int) -> bool:
        """Whether all blocks that the op of ``step`` works on lie in the first tier."""
        return all(not self.where[block] for block, _, _ in self.tables.tasks[step])


def by_rule(tables: TierTables, until: Deadline = NO_DEADLINE) -> TierRun:
    """Return the state after the last step by the initial rule alone, with all of its events. Raises
    TimeIsOver."""
    run = TierRun(tables)
    for step in range(len(tables.births)):
        until.require("every block had its place")
        run.advance(step)
    return run


def best_fit(
    tables: TierTables,
    block: int,
    tier: int,
    spaces: Iterable[tuple[int, int, int, int]],
    capacity: int | None,
) -> int | None:
    """Return the offset in the smallest of ``spaces`` that holds ``block``, next to the neighbour that dies
    later; None if none does. ``spaces`` are (first byte, end, block below, block above), -1 for a border."""
    size, step = tables.size[block], tables.alignment[block][tier]
    best: tuple[int, int, int, int] | None = None
    for space in spaces:
        low = -(-space[0] // step) * step
        smaller = best is None or space[1] - space[0] < best[1] - best[0]
        if smaller and low + size <= space[1]:
            best = space
    if best is None:
        return None
    low, high, below, above = best
    if _low_side(tables.stop, low, high, below, above, capacity):
        return -(-low // step) * step
    return (high - size) // step * step


def _low_side(stop: Sequence[int], low: int, high: int, below: int, above: int, capacity: int | None) -> bool:
    if below < 0 or above < 0:
        return below < 0 or capacity is None
    if stop[below] != stop[above]:
        return stop[below] > stop[above]
    return capacity is None or low <= capacity - high
