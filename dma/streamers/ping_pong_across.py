"""``ping-pong-across``: Algorithm 3 of the control-flow paper (S2), and beyond the borders of its Regions.

Inside of a straight stretch (a Region) it is ``ping-pong``. Beyond that, three things are tried, and each is
kept where SharedMemory has the bytes on all paths and the forecast of the expected cycles does not get worse:

* Weights that a loop reads on every iteration stay in a buffer of their own, loaded once before the loop;
  those first that save most DMA cycles per byte.
* The first weights of a Region are issued before it (``dma.streamers.region_borders``): certain to be needed
  behind a branch or loop, on a guess in front of the likeliest arm of an ``if``. A wrong guess costs its
  time in the DMA engine, and its buffer until all paths have waited for it, behind the ``if``.
* The first weights of a loop's body are issued before the loop, and at the end of an iteration for the next
  one. The last iteration loads them for an iteration that never comes, and behind the loop that is waited
  for.

Where nothing contends the expected cycles are then at most those of ``ping-pong`` with the same buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from chipmodel.model.chances import arm_chances
from chipmodel.model.interval import Interval, merged
from chipmodel.model.nesting import Fork, Section, in_flight
from chipmodel.model.program import If, Loop, Program, ops
from chipmodel.model.schedule import BufferSpec, steps
from chipmodel.passes.liveness import scopes
from dma.schedule.expected_forecast import Expectation, Load, Odds
from dma.schedule.forecast import transfer_times
from dma.schedule.policy import Issued, Policy, Room, queue_order
from dma.schedule.steps import Emission
from dma.streamers.ping_pong import POLICY as PING_PONG
from dma.streamers.ping_pong import Neighbours, stripes
from dma.streamers.region_borders import Borders, Way

SPARE = 32
"""This part of the memory is left free of what ``ping-pong`` would not have there: packers need some room."""
MOST_WORK = 40_000
"""Steps that forecasts may walk; what has not been tried by then stays as ``ping-pong`` has it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Decisions about weights, by the number of the need: those that stay for a loop, and the first ones of
    Regions, with the positions that issue them."""

    resident: Mapping[int, tuple[Way, Interval]] = field(default_factory=dict[int, tuple[Way, Interval]])
    early: Mapping[int, Way] = field(default_factory=dict[int, Way])

    def with_early(self, index: int, way: Way) -> Plan:
        """Issue need ``index``, the first of its Region, in ``way``."""
        return Plan(self.resident, {**self.early, index: way})

    def without_early(self, index: int) -> Plan:
        """Issue need ``index`` in its Region."""
        return Plan(self.resident, {i: way for i, way in self.early.items() if i != index})


Stay = tuple[int, Way, Interval]
"""The number of a need, the positions that issue it, and the loop that it may stay for."""
Weights = tuple[list[Issued], dict[str, BufferSpec]]


class _Planner:
    def __init__(self, room: Room, emission: Emission) -> None:
        self.emission = emission
        self.needs = [need for need in emission.needs if need.kind == "weights"]
        self.root = scopes(emission.body).section
        self.odds = odds_of(room.program)
        listed = list(steps(emission.body))
        self.expectation = Expectation(self.root, [step.cycles for step in listed], self.odds)
        self.cycles_of = transfer_times(room.chip)
        self.gathers = {op.name for op in ops(room.program.body) if op.gathers}
        self.extents = _extents(emission.stretch)
        weights = self.weights(Plan())
        both = sum(buffer.bytes for buffer in weights[1].values())
        neighbours = Neighbours(room, emission, lambda _: both)
        self.rest = [*stripes(emission), *neighbours.tensors()]
        used = self.used(weights)
        spare = room.budget // SPARE
        free = (neighbours.slack[step.op] + both - spare for step in listed)
        self.limit = [max(pair) for pair in zip(used, free, strict=True)]
        self.least: dict[Interval, int] = {}

    def weights(self, plan: Plan) -> Weights:
        """Every load of weights, and the buffers: those of ``plan`` in buffers of their own where they must
        be, the others of each Region in turn in two."""
        issued: list[Issued] = []
        buffers: dict[str, BufferSpec] = {}
        regions: dict[int, list[int]] = {}
        for index, need in enumerate(self.needs):
            if index in plan.resident:
                way, held = plan.resident[index]
                buffers[need.buffer] = BufferSpec(need.buffer, need.bytes, held, "weights")
                issued.append(Issued(need, need.buffer, way[0], need.first, way[1:]))
            else:
                regions.setdefault(self.emission.stretch[need.first], []).append(index)
        for region, indices in regions.items():
            issued += self.region(region, indices, plan, buffers)
        return issued, buffers

    def region(
        self, region: int, indices: list[int], plan: Plan, buffers: dict[str, BufferSpec]
    ) -> Iterator[Issued]:
        for number, index in enumerate(indices):
            need = self.needs[index]
            way: Way = (self.needs[indices[max(0, number - 1)]].first,)
            name, held = f"alloc{number % 2}@{region}", self.extents[region]
            if not number and index in plan.early:
                way = plan.early[index]
                if len(indices) % 2 and self.needs[indices[-1]].first in way:
                    # Its buffer of the two is being read from when it is issued for the next iteration.
                    name, held = need.buffer, Interval(need.first, need.last + 1)
            size = max(need.bytes, buffers[name].bytes if name in buffers else 0)
            buffers[name] = BufferSpec(name, size, held, "weights")
            yield Issued(need, name, way[0], need.first, way[1:])

    def used(self, weights: Weights) -> list[int]:
        """Bytes for weights at each position."""
        issued, buffers = weights
        taken = {name: [buffer.held] for name, buffer in buffers.items()}
        for decision in issued:
            taken[decision.buffer].append(Interval(decision.due, decision.need.last + 1))
            for issue in (decision.issue, *decision.again):
                taken[decision.buffer] += in_flight(self.root, issue, decision.due)
        change = [0] * (len(self.emission.stretch) + 1)
        for name, intervals in taken.items():
            for interval in merged(intervals):
                change[interval.start] += buffers[name].bytes
                change[interval.stop] -= buffers[name].bytes
        return list(accumulate(change[:-1]))

    def fits(self, weights: Weights) -> bool:
        """Whether nowhere more is alive than the budget, or than ``ping-pong`` has there."""
        return all(used <= limit for used, limit in zip(self.used(weights), self.limit, strict=True))

    def cycles(self, weights: Weights) -> float:
        """The expected cycles of one run."""
        decisions = sorted([*weights[0], *self.rest], key=queue_order)
        return self.expectation.cycles(
            Load(d.need.direction, (d.issue, *d.again), d.due, self.cycles_of(d.need.direction, d.need.bytes))
            for d in decisions
        )

    def plan(self) -> Weights:
        """The weights of the best plan that was found."""
        found = _Found(self, Plan())
        self.keep(found, self.stays())
        firsts = [n.first for index, n in enumerate(self.needs) if index not in found.plan.resident]
        number = {n.first: index for index, n in enumerate(self.needs)}
        for border in Borders(self.root, firsts, self.odds.arms).regions():
            index = number[border.first]
            if self.needs[index].op not in self.gathers:
                before = found.plan
                for way in border.ways:
                    found.consider(before.with_early(index, way))
        for index in tuple(
            found.plan.early
        ):  # a guess that cost nothing may now be in the way of what followed
            found.consider(found.plan.without_early(index))
        return found.weights

    def keep(self, found: _Found, stays: list[Stay]) -> None:
        """Keep what may stay, in this order: as many at once as can be, and else half of them."""
        at, count = 0, len(stays)
        while at < len(stays) and not found.tired:
            plan = self.with_all(found.plan, stays[at : at + count])
            if plan is found.plan or found.consider(plan, ties=True) or count == 1:
                at, count = at + count, 2 * count
            else:
                count = -(-min(count, len(stays) - at) // 2)

    def with_all(self, plan: Plan, stays: list[Stay]) -> Plan:
        """``plan`` and those of ``stays`` that there may be room for."""
        resident = dict(plan.resident)
        for index, way, loop in stays:
            if index not in resident and self.needs[index].bytes <= self.left(resident, loop):
                resident[index] = (way, loop)
        return plan if len(resident) == len(plan.resident) else Plan(resident, plan.early)

    def left(self, resident: Mapping[int, tuple[Way, Interval]], loop: Interval) -> int:
        """Bytes that may stay for ``loop`` beside ``resident``, if nothing is read in turn there."""
        kept = ((self.needs[index].bytes, extent) for index, (_, extent) in resident.items())
        if loop not in self.least:
            self.least[loop] = min(self.limit[loop.start : loop.stop])
        return self.least[loop] - sum(
            size for size, extent in kept if extent.start <= loop.start < extent.stop
        )

    def stays(self) -> list[Stay]:
        """What may stay for a loop, by DMA cycles saved per byte."""
        runs = _runs(self.root, self.odds)
        found: list[tuple[float, int, Way, Interval]] = []
        borders = Borders(self.root, [need.first for need in self.needs], self.odds.arms)
        for loop, ways in borders.loops():
            for index, need in enumerate(self.needs):
                if need.first in loop.extent and ways and need.op not in self.gathers:
                    again = runs.at[need.first] - runs.entered[loop.name]
                    saved = again * self.cycles_of("load", need.bytes) / max(1, need.bytes)
                    if saved > 0:
                        found.append((-saved, index, ways[0], loop.extent))
        return [(index, way, loop) for _, index, way, loop in sorted(found, key=lambda f: f[:2])]


class _Found:
    """The best plan so far, with its weights and its expected cycles."""

    def __init__(self, planner: _Planner, plan: Plan) -> None:
        self.planner = planner
        self.plan = plan
        self.weights = planner.weights(plan)
        self.cycles = planner.cycles(self.weights)

    @property
    def tired(self) -> bool:
        """Whether enough has been tried."""
        return self.planner.expectation.work > MOST_WORK

    def consider(self, plan: Plan, ties: bool = False) -> bool:
        """Take ``plan`` if there is room for it and it is faster, with ``ties`` also if it is as fast;
        whether it was taken."""
        planner = self.planner
        if self.tired:
            return False
        planner.expectation.work += len(planner.limit)
        weights = planner.weights(plan)
        if not planner.fits(weights):
            return False
        cycles = planner.cycles(weights)
        better = self.cycles * (1 - 1e-9)
        taken = cycles < better or (ties and cycles <= self.cycles)
        if taken:
            self.plan, self.weights, self.cycles = plan, weights, cycles
        return taken


@dataclass
class _Runs:
    """How often each position runs on average, and how often each loop is entered."""

    at: dict[int, float] = field(default_factory=dict[int, float])
    entered: dict[str, float] = field(default_factory=dict[str, float])


def _runs(root: Section, odds: Odds) -> _Runs:
    runs = _Runs()

    def walk(section: Section, times: float) -> None:
        for position in range(section.extent.start, section.extent.stop):
            runs.at[position] = times
        for fork in section.forks:
            runs.entered[fork.name] = times
            for arm, share in zip(fork.arms, _shares(fork, odds), strict=True):
                walk(arm, times * share)

    walk(root, 1.0)
    return runs


def _shares(fork: Fork, odds: Odds) -> tuple[float, ...]:
    return (odds.mean_iterations(fork.name),) if fork.repeats else odds.arms[fork.name]


def odds_of(program: Program) -> Odds:
    """What ``program`` says of its branches and loops; arms without a probability share what is left."""
    arms: dict[str, tuple[float, ...]] = {}
    iterations: dict[str, tuple[tuple[int, float], ...]] = {}
    for node in program.nodes():
        if isinstance(node, If):
            arms[node.name] = tuple(map(float, arm_chances(node).values()))
        elif isinstance(node, Loop):
            chances = sorted((number, float(chance)) for number, chance in node.chances)
            iterations[node.name] = tuple(chances) or ((node.iterations, 1.0),)
    return Odds(arms, iterations)


def _extents(stretch: tuple[int, ...]) -> dict[int, Interval]:
    """The positions of each Region."""
    result: dict[int, Interval] = {}
    for position, region in enumerate(stretch):
        start = result[region].start if region in result else position
        result[region] = Interval(start, position + 1)
    return result


def _issue(room: Room, emission: Emission) -> tuple[list[Issued], dict[str, BufferSpec]]:
    planner = _Planner(room, emission)
    issued, buffers = planner.plan()
    return [*issued, *planner.rest], buffers


POLICY = Policy(
    name="ping-pong-across",
    title="ping-pong across branches and loops; weights kept for all iterations",
    source="S2 (control-flow paper), beyond Algorithm 3",
    double=True,
    reserve=PING_PONG.reserve,
    channels=PING_PONG.channels,
    issue=_issue,
)
