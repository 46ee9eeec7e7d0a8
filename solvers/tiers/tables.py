"""A tier problem in integers and by index, for fast look-up."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from math import lcm

from chipmodel.errors import MORE_MEMORY, DoesNotFit
from solvers.tiers.problem import Tier, TierAccess, TierBlock, TierProblem, TierStep


class TierTables:
    """All costs times ``scale``, so that they are integers; blocks allocated, used and freed at each step.

    Raises DoesNotFit where an op's reserve and staging alone exceed the first tier.
    """

    def __init__(self, problem: TierProblem) -> None:
        blocks, tiers, steps = problem.blocks, problem.tiers, problem.steps
        self.problem = problem
        self.last = len(tiers) - (tiers[-1].capacity is None)
        """The tier that holds everything, by index; beyond the tiers where all have a capacity."""
        self.size = [b.bytes for b in blocks]
        self.start = [b.start for b in blocks]
        self.stop = [b.stop for b in blocks]
        self.capacity = [t.capacity for t in tiers if t.capacity is not None]
        self.alignment = [[lcm(b.alignment, t.alignment) for t in tiers] for b in blocks]
        self.allowed = [range(len(tiers)) if b.pinned is None else (b.pinned,) for b in blocks]
        self.times = [step.times for step in steps]
        self.cuts = [step.cuts for step in steps]
        self.births: list[list[int]] = [[] for _ in steps]
        self.deaths: list[list[int]] = [[] for _ in steps]
        for index, block in enumerate(blocks):
            self.births[block.start].append(index)
            self.deaths[block.stop - 1].append(index)
        self.spans = [b.spans() for b in blocks]
        self.pierced = [bool(b.holes) for b in blocks]
        self._costs(tiers, blocks, steps)
        self._budgets(problem)

    def _costs(
        self, tiers: tuple[Tier, ...], blocks: tuple[TierBlock, ...], steps: tuple[TierStep, ...]
    ) -> None:
        def moved(task: TierAccess) -> int:
            return self.size[task.block] if task.moved is None else task.moved

        whole = {(size, t): (t.leave(size), t.enter(size)) for size in set(self.size) for t in tiers}
        sizes = {moved(task) for step in steps for task in step.tasks}
        parts = {(size, t): (t.read(size), t.write(size)) for size in sizes for t in tiers}
        exact = [Fraction(cost) for costs in (*whole.values(), *parts.values()) for cost in costs]
        self.scale = lcm(*(cost.denominator for cost in exact))
        self.ways = [[[int(c * self.scale) for c in whole[b.bytes, t]] for t in tiers] for b in blocks]
        """The costs to leave and to enter, by block and tier."""
        self.tasks = [
            [
                (x.block, x.writes, [int(parts[moved(x), t][x.writes] * self.scale) for t in tiers])
                for x in step.tasks
            ]
            for step in steps
        ]
        """The accesses of each step: the block, whether it is written, and what that costs in each tier."""
        least = [
            t * sum(min(costs) for _, _, costs in tasks)
            for t, tasks in zip(self.times, self.tasks, strict=True)
        ]
        self.rest = [0, *accumulate(reversed(least))][::-1]
        """What the accesses from each step on cost at least, with every block in its cheapest tier."""

    def overlap(self, block: int, other: int) -> bool:
        """Whether two blocks, one allocated during the life of the other, ever hold data at the same step."""
        if not self.pierced[block] and not self.pierced[other]:
            return True
        return any(a < d and c < b for a, b in self.spans[block] for c, d in self.spans[other])

    def transfer(self, block: int, origin: int, target: int) -> int:
        """The cost of bringing a block from one tier (or place) to another."""
        ways = self.ways[block]
        return ways[origin][0] + ways[target][1]

    def _budgets(self, problem: TierProblem) -> None:
        self.limited = bool(self.last) and any(
            s.reserve or any(t.staged for t in s.tasks) for s in problem.steps
        )
        """Whether ops take bytes of the first tier besides blocks."""
        self.free_bytes: list[int] = []
        """Bytes of the first tier at each step with all blocks elsewhere, less their staging buffers."""
        self.need: list[list[int]] = []
        """Bytes by which a block in the first tier reduces that at each step, as it needs no staging."""
        if not self.limited:
            return
        self.free_bytes = [self.capacity[0] - step.reserve for step in problem.steps]
        self.need = [[b.bytes * b.alive(at) for at in range(b.start, b.stop)] for b in problem.blocks]
        for at, step in enumerate(problem.steps):
            for task in step.tasks:
                self.free_bytes[at] -= task.staged
                self.need[task.block][at - self.start[task.block]] -= task.staged
            if self.free_bytes[at] < 0:
                fast, slow = problem.tiers[0], problem.tiers[-1]
                needed = self.capacity[0] - self.free_bytes[at]
                raise DoesNotFit(
                    f"op {step.name!r} needs {needed:,} B of {fast.name} to run from {slow.name}, "
                    f"of {self.capacity[0]:,} B",
                    hint=MORE_MEMORY,
                )
