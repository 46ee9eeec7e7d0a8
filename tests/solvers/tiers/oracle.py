"""A slow reference of state search: the initial rule, and every sequence of actions by brute force.

Nothing is shared with ``solvers.tiers.search*`` but the problem's types. A tier is a list of bytes, each
with the block that holds it, so sizes must be small.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby

from solvers.tiers.problem import TierBlock, TierProblem, TierState

ACTIONS = ("move", "swap", "reuse")
Place = tuple[int, int, int | None]
"""Tier, offset (0 in the last tier), and the block that is overwritten."""


@dataclass(frozen=True)
class World:
    """What lies where at one step, and what has been paid."""

    places: dict[int, Place] = field(default_factory=dict[int, Place])
    copied: frozenset[int] = frozenset()
    fixed: frozenset[int] = frozenset()
    cost: Fraction = Fraction(0)


class Oracle:
    """Alignments of tiers must be 1."""

    def __init__(self, problem: TierProblem, actions: frozenset[str] = frozenset(ACTIONS)) -> None:
        self.problem, self.actions = problem, actions
        self.blocks = problem.blocks
        self.all = range(len(problem.tiers))
        self.last = len(problem.tiers) - (problem.tiers[-1].capacity is None)

    def initial(self) -> Fraction:
        """The cost of the initial rule."""
        return self.by_rule([World()])[-1].cost

    def cheapest(self, changes: int) -> Fraction:
        """The least cost of all sequences with at most ``changes`` actions a step, on different blocks."""
        worlds = [World()]
        for step in range(len(self.problem.steps)):
            worlds = [self.operate(w, step) for world in worlds for w in self.choices(world, step, changes)]
        return min(world.cost for world in worlds)

    def by_rule(self, path: list[World]) -> list[World]:
        """The worlds of a path, and all later ones by the initial rule; none where that has no place."""
        path = list(path)
        for step in range(len(path) - 1, len(self.problem.steps)):
            born = self.born_by_rule(path[-1], step)
            if born is None:
                return []
            path.append(self.operate(born, step))
        return path

    # -- one step ------------------------------------------------------------------------------

    def births(self, step: int) -> list[int]:
        return [index for index, block in enumerate(self.blocks) if block.start == step]

    def born_by_rule(self, world: World, step: int) -> World | None:
        for block in self.births(step):
            place = self.rule(world, block, step)
            if place is None:
                return None
            world = self.put(world, block, place, step)
        return world

    def choices(self, world: World, step: int, changes: int) -> Iterator[World]:
        plain = self.born_by_rule(world, step)
        stays = all(self.blocks[block].swaps for block in self.births(step))
        if (
            plain
            and stays
            and all(not plain.places[task.block][0] for task in self.problem.steps[step].tasks)
        ):
            yield plain
            return
        alive = sorted(world.places, key=lambda b: (world.places[b][0] != 0, b))
        for after, left in self.moved(world, alive, step, changes):
            yield from self.born(after, self.births(step), step, left)

    def moved(self, world: World, alive: list[int], step: int, left: int) -> Iterator[tuple[World, int]]:
        yield world, left
        for at, block in enumerate(alive if left else ()):
            for place in () if block in world.fixed else self.elsewhere(world, block):
                after = self.brought(world, block, place, step)
                action = "move" if place[0] == world.places[block][0] else "swap"
                if action in self.actions and not self.overfull(after, step):
                    yield from self.moved(after, alive[at + 1 :], step, left - 1)

    def born(self, world: World, births: list[int], step: int, left: int) -> Iterator[World]:
        if not births:
            yield world
            return
        block, rest = births[0], births[1:]
        usual = self.rule(world, block, step)
        if usual is not None:
            yield from self.born(self.put(world, block, usual, step), rest, step, left)
        for place in self.anywhere(world, block) if left else ():
            after = self.put(world, block, place, step)
            action = "reuse" if place[2] is not None else "move" if usual and place[0] == usual[0] else "swap"
            if place != usual and action in self.actions and not self.overfull(after, step):
                yield from self.born(after, rest, step, left - 1)

    def operate(self, world: World, step: int) -> World:
        paid, copied = Fraction(0), set(world.copied)
        for task in self.problem.steps[step].tasks:
            tier = world.places[task.block][0]
            moved = self.blocks[task.block].bytes if task.moved is None else task.moved
            way = self.problem.tiers[tier].write if task.writes else self.problem.tiers[tier].read
            paid += way(moved)
            if task.writes and tier != self.last:
                copied.discard(task.block)
        places = dict(world.places)
        for index, (tier, _, _) in world.places.items():
            block = self.blocks[index]
            if block.stop == step + 1:
                del places[index]
                there = block.ends in (None, tier) or (block.ends == self.last and index in copied)
                paid += 0 if there else self.transfer(block, tier, block.ends or 0)
                copied.discard(index)
        cost = world.cost + self.problem.steps[step].times * paid
        return replace(world, places=places, copied=frozenset(copied), cost=cost)

    # -- places --------------------------------------------------------------------------------

    def bytes_of(self, world: World, tier: int) -> list[int]:
        """The block that holds each byte of a tier, or -1. A block holds the bytes that it overwrites."""
        held = [-1] * (self.problem.tiers[tier].capacity or 0)
        for over in (False, True):
            for index, (where, offset, under) in world.places.items():
                if where == tier and (under in world.places) == over:
                    held[offset : offset + self.blocks[index].bytes] = [index] * self.blocks[index].bytes
        return held

    def spaces(self, world: World, tier: int) -> list[tuple[int, int, int | None, int | None]]:
        """Free spaces: first byte, end, the blocks below and above."""
        held = self.bytes_of(world, tier)
        found: list[tuple[int, int, int | None, int | None]] = []
        for free, run in groupby(range(len(held)), key=lambda at: held[at] < 0):
            if free:
                where = list(run)
                low, high = where[0], where[-1] + 1
                found.append(
                    (low, high, held[low - 1] if low else None, held[high] if high < len(held) else None)
                )
        return found

    def rule(self, world: World, index: int, step: int) -> Place | None:
        block = self.blocks[index]
        for tier in range(self.last):
            if block.pinned not in (None, tier):
                continue
            for place in (*self.reusable(world, index, tier), *self.fitting(world, index, tier)):
                if not self.overfull(self.put(world, index, place, step), step):
                    return place
        return (self.last, 0, None) if self.last in self.all else None

    def fitting(self, world: World, index: int, tier: int) -> list[Place]:
        """The smallest free space that holds the block, against the neighbour that dies later."""
        block, capacity = self.blocks[index], self.problem.tiers[tier].capacity or 0
        holds = [space for space in self.spaces(world, tier) if space[1] - space[0] >= block.bytes]
        if not holds:
            return []
        low, high, below, above = min(holds, key=lambda space: space[1] - space[0])
        dies_below = 10**9 if below is None else self.blocks[below].stop
        dies_above = 10**9 if above is None else self.blocks[above].stop
        if below is None:
            at_low = True
        elif dies_below == dies_above:
            at_low = low <= capacity - high
        else:
            at_low = dies_below > dies_above
        return [(tier, low if at_low else high - block.bytes, None)]

    def reusable(self, world: World, index: int, tier: int) -> Iterator[Place]:
        block = self.blocks[index]
        step = self.problem.steps[block.start]
        if step.cuts and any(world.places.get(t.block, (tier,))[0] for t in step.tasks):
            return
        held = self.bytes_of(world, tier)
        for under in block.overwrites:
            own = [at for at, holder in enumerate(held) if holder == under]
            if len(own) >= block.bytes:
                yield tier, own[0], under

    def elsewhere(self, world: World, index: int) -> Iterator[Place]:
        block, origin = self.blocks[index], world.places[index][0]
        for tier in self.all:
            if block.pinned not in (None, tier):
                continue
            if tier == self.last:
                if origin != tier:
                    yield tier, 0, None
            elif tier != origin:
                yield from self.fitting(world, index, tier)
            elif self.problem.tiers[tier].copies:
                yield from self.both_borders(world, index, tier)

    def anywhere(self, world: World, index: int) -> Iterator[Place]:
        for tier in self.all:
            if self.blocks[index].pinned not in (None, tier):
                continue
            if tier == self.last:
                yield tier, 0, None
            else:
                yield from self.reusable(world, index, tier)
                yield from self.both_borders(world, index, tier)

    def both_borders(self, world: World, index: int, tier: int) -> Iterator[Place]:
        size = self.blocks[index].bytes
        for low, high, _, _ in self.spaces(world, tier):
            if low + size <= high:
                yield from dict.fromkeys(((tier, low, None), (tier, high - size, None)))

    def overfull(self, world: World, step: int) -> bool:
        """Whether some op from ``step`` on misses its reserve, or room for what passes through."""
        capacity = self.problem.tiers[0].capacity
        if capacity is None:
            return False
        fast = [b for b, place in world.places.items() if place[0] == 0]
        for at in range(step, len(self.problem.steps)):
            used = sum(self.blocks[b].bytes for b in fast if self.blocks[b].stop > at)
            if at == step:
                used = sum(holder >= 0 for holder in self.bytes_of(world, 0))
            passing = sum(t.staged for t in self.problem.steps[at].tasks if t.block not in fast)
            if used + passing + self.problem.steps[at].reserve > capacity:
                return True
        return False

    # -- changes -------------------------------------------------------------------------------

    def transfer(self, block: TierBlock, origin: int, target: int) -> Fraction:
        tiers = self.problem.tiers
        return Fraction(tiers[origin].leave(block.bytes)) + tiers[target].enter(block.bytes)

    def put(self, world: World, index: int, place: Place, step: int) -> World:
        block, paid = self.blocks[index], Fraction(0)
        copied, fixed = world.copied, world.fixed
        if block.home is not None:
            copied = copied | {index} if block.home == self.last else copied
            if block.home != place[0]:
                paid = self.problem.steps[step].times * self.transfer(block, block.home, place[0])
        if not block.swaps or place[2] in fixed:
            fixed |= {index}
        return World({**world.places, index: place}, copied, fixed, world.cost + paid)

    def brought(self, world: World, index: int, place: Place, step: int) -> World:
        block, origin = self.blocks[index], world.places[index][0]
        known = place[0] == self.last and index in world.copied
        paid = 0 if known else self.problem.steps[step].times * self.transfer(block, origin, place[0])
        copied = world.copied | {index} if self.last in (origin, place[0]) else world.copied
        return World({**world.places, index: place}, copied, world.fixed, world.cost + paid)


def cost_of(problem: TierProblem, state: TierState) -> Fraction:
    """What a state costs, from where its blocks lie alone."""
    return sum((_block_cost(problem, state, index) for index in range(len(problem.blocks))), Fraction(0))


def _block_cost(problem: TierProblem, state: TierState, index: int) -> Fraction:
    block, tiers, last = problem.blocks[index], problem.tiers, Oracle(problem).last
    copied, cost, before = block.home == last, Fraction(0), block.home
    offset = state.stays[index][0].offset
    for at in range(block.start, block.stop):
        stay = next(s for s in state.stays[index] if s.start <= at < s.stop)
        times = problem.steps[at].times
        if before is not None and (before != stay.tier or (offset != stay.offset and stay.tier != last)):
            known = stay.tier == last and copied and at > block.start
            cost += (
                0
                if known
                else times * (tiers[before].leave(block.bytes) + tiers[stay.tier].enter(block.bytes))
            )
            copied = copied or last in (before, stay.tier)
        before, offset = stay.tier, stay.offset
        for task in problem.steps[at].tasks:
            if task.block == index:
                moved = block.bytes if task.moved is None else task.moved
                cost += times * (tiers[before].write if task.writes else tiers[before].read)(moved)
                copied = copied and not (task.writes and before != last)
    there = block.ends in (None, before) or (block.ends == last and copied)
    if not there and block.ends is not None and before is not None:
        ended = tiers[before].leave(block.bytes) + tiers[block.ends].enter(block.bytes)
        cost += problem.steps[block.stop - 1].times * ended
    return cost
