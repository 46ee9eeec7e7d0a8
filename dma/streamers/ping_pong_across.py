"""``ping-pong-across``: ping-pong that also issues loads across the borders of Regions.

Within a straight chain of steps (a Region) it is ``ping-pong``. Beyond that, three things are tried, and each
is kept where SharedMemory has the bytes on all paths and the forecast of the expected cycles does not get
worse:

* Weights that a loop reads in every iteration stay in a buffer of their own, loaded once before the loop;
  those first that save most DMA cycles per byte.
* The first weights of a Region are issued before it (``dma.streamers.region_entries``): after a branch or
  loop they are certain to be needed, in the likeliest arm of an ``if`` it is a guess. A wrong guess costs its
  time in the DMA engine, and its buffer until all paths have waited for it, after the ``if``.
* The first weights of a loop's body are issued before the loop, and at the end of an iteration for the next
  one. The last iteration loads them for an iteration that does not follow; this is waited for after the loop.

Without contention the expected cycles are then at most those of ``ping-pong`` with the same buffers.

Source: chipmodel; extends Wang et al. 2025, Algorithm 3 (docs/references.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from chipmodel.geometry.interval import Interval, merged
from chipmodel.model.nesting import in_flight
from chipmodel.model.program import ops
from chipmodel.model.schedule import BufferSpec, steps
from chipmodel.passes.liveness import scopes
from chipmodel.records import dataclass
from dma.schedule.expected_forecast import LEAST_GAIN, PathForecast, path_transfers
from dma.schedule.forecast import TransferTimes
from dma.schedule.operands import Emission
from dma.schedule.probabilities import branch_probabilities, execution_counts
from dma.schedule.streamer import IssuedTransfer, IssuePlan, MemoryBudget, Streamer
from dma.streamers import ping_pong
from dma.streamers.ping_pong import TensorIssuer, extents, stripes
from dma.streamers.region_entries import IssuePositions, RegionEntries

SPARE_DIVISOR = 32
"""Budget / divisor bytes stay free of weights that ``ping-pong`` would not hold: packers need some memory."""
MAX_FORECAST_STEPS = 40_000
"""Steps that all forecasts may walk together; what has not been tried by then stays as in ``ping-pong``."""


@dataclass(frozen=True, slots=True)
class WeightPlan:
    """Decisions about weights, by the number of the need: those that stay for a loop, and the first ones of
    Regions that are issued early, with the positions that issue them."""

    resident: Mapping[int, tuple[IssuePositions, Interval]] = field(
        default_factory=dict[int, tuple[IssuePositions, Interval]]
    )
    early: Mapping[int, IssuePositions] = field(default_factory=dict[int, IssuePositions])


ResidentOption = tuple[int, IssuePositions, Interval]
"""The number of a need, the positions that issue it, and the loop that it may stay for."""


class _Loads(NamedTuple):
    """The loads of a Region, or of a slice that stays for a loop."""

    issued: IssuePlan
    change: list[tuple[int, int]]


def joined(parts: Iterable[_Loads]) -> IssuePlan:
    """All loads and buffers of ``parts``."""
    plan = IssuePlan([], {})
    for part in parts:
        plan.transfers.extend(part.issued.transfers)
        plan.buffers.update(part.issued.buffers)
    return plan


class _AcrossPlanner:
    def __init__(self, memory: MemoryBudget, emission: Emission) -> None:
        self.emission = emission
        self.needs = [need for need in emission.needs if need.kind == "weights"]
        self.root = scopes(emission.body).section
        self.probabilities = branch_probabilities(memory.program)
        listed = list(steps(emission.body))
        self.forecast = PathForecast(self.root, [step.cycles for step in listed], self.probabilities)
        self.cycles_of = TransferTimes(memory.chip)
        self.gathers = {op.name for op in ops(memory.program.body) if op.gathers}
        self.extents = extents(emission.straight_chain)
        self.region, self.resident = cache(self._region), cache(self._resident)
        parts = self.parts(WeightPlan())
        two_buffers = sum(buffer.bytes for part in parts for buffer in part.issued.buffers.values())
        tensors = TensorIssuer(memory, emission, lambda _: two_buffers)
        self.rest = [*stripes(emission), *tensors.transfers()]
        used = self.used(parts)
        spare = memory.budget // SPARE_DIVISOR
        free = (tensors.slack[step.op] + two_buffers - spare for step in listed)
        self.limit = [max(pair) for pair in zip(used, free, strict=True)]
        self.least_limit = cache(self._least_limit)

    def parts(self, plan: WeightPlan) -> list[_Loads]:
        """Every load of weights: two buffers for each Region in turn, or more where needed. Plans share what
        they have in common."""
        found: list[_Loads] = []
        regions: dict[int, list[int]] = {}
        for index, need in enumerate(self.needs):
            if index in plan.resident:
                found.append(self.resident(index, plan.resident[index]))
            else:
                regions.setdefault(self.emission.straight_chain[need.first], []).append(index)
        for region, indices in regions.items():
            found.append(self.region(region, tuple(indices), plan.early.get(indices[0])))
        return found

    def _resident(self, index: int, stay: tuple[IssuePositions, Interval]) -> _Loads:
        need, (issues, held) = self.needs[index], stay
        buffer = BufferSpec(need.buffer, need.bytes, held, "weights")
        load = IssuedTransfer(need, need.buffer, issues[0], need.first, issues[1:])
        return self.loads(IssuePlan([load], {need.buffer: buffer}))

    def _region(self, region: int, indices: tuple[int, ...], early: IssuePositions | None) -> _Loads:
        made = IssuePlan([], {})
        buffers = made.buffers
        for number, index in enumerate(indices):
            need = self.needs[index]
            issues: IssuePositions = (self.needs[indices[max(0, number - 1)]].first,)
            name, held = f"alloc{number % 2}@{region}", self.extents[region]
            if not number and early is not None:
                issues = early
                if len(indices) % 2 and self.needs[indices[-1]].first in issues:
                    # One of the two buffers would still be read when the next iteration's load is issued.
                    name, held = need.buffer, Interval(need.first, need.last + 1)
            size = max(need.bytes, buffers[name].bytes if name in buffers else 0)
            buffers[name] = BufferSpec(name, size, held, "weights")
            made.transfers.append(IssuedTransfer(need, name, issues[0], need.first, issues[1:]))
        return self.loads(made)

    def loads(self, made: IssuePlan) -> _Loads:
        """``made`` with the positions at which buffers begin or end, and by how many bytes."""
        taken = {name: [buffer.held] for name, buffer in made.buffers.items()}
        for transfer in made.transfers:
            taken[transfer.buffer].append(Interval(transfer.due, transfer.need.last + 1))
            for issue in (transfer.issue, *transfer.again):
                taken[transfer.buffer] += in_flight(self.root, issue, transfer.due)
        spans = [(span, made.buffers[name].bytes) for name, each in taken.items() for span in merged(each)]
        change = [end for span, size in spans for end in ((span.start, size), (span.stop, -size))]
        return _Loads(made, change)

    def used(self, parts: list[_Loads]) -> list[int]:
        """Bytes of weight buffers at each position."""
        change = [0] * (len(self.emission.straight_chain) + 1)
        for part in parts:
            for position, size in part.change:
                change[position] += size
        return list(accumulate(change[:-1]))

    def fits(self, parts: list[_Loads]) -> bool:
        """Whether at every position no more is alive than the budget, or than ``ping-pong`` has there."""
        return all(used <= limit for used, limit in zip(self.used(parts), self.limit, strict=True))

    def cycles(self, weights: IssuePlan) -> float:
        """The expected cycles of one run."""
        return self.forecast.cycles(path_transfers([*weights.transfers, *self.rest], self.cycles_of))

    def plan(self) -> IssuePlan:
        """The weights of the best plan found."""
        best = _BestPlan(self, WeightPlan())
        self.keep(best, self.stays())
        firsts = [n.first for index, n in enumerate(self.needs) if index not in best.plan.resident]
        number = {n.first: index for index, n in enumerate(self.needs)}
        for entry in RegionEntries(self.root, firsts, self.probabilities.arms).regions():
            index = number[entry.first]
            if self.needs[index].op not in self.gathers:
                before = best.plan
                for issues in entry.options:
                    best.consider(replace(before, early={**before.early, index: issues}))
        # An early load that cost nothing when it was added may delay what was added after it.
        for index in tuple(best.plan.early):
            early = {number: issues for number, issues in best.plan.early.items() if number != index}
            best.consider(replace(best.plan, early=early))
        return best.weights

    def keep(self, best: _BestPlan, stays: list[ResidentOption]) -> None:
        """Keep ``stays`` in this order: as many at once as possible, after a failure half as many."""
        at, count = 0, len(stays)
        while at < len(stays) and not best.exhausted:
            plan = self.with_all(best.plan, stays[at : at + count])
            if plan is best.plan or best.consider(plan, ties=True) or count == 1:
                at, count = at + count, 2 * count
            else:
                count = -(-min(count, len(stays) - at) // 2)

    def with_all(self, plan: WeightPlan, stays: list[ResidentOption]) -> WeightPlan:
        """``plan`` and those of ``stays`` that may fit."""
        resident = dict(plan.resident)
        for index, issues, loop in stays:
            if index not in resident and self.needs[index].bytes <= self.left(resident, loop):
                resident[index] = (issues, loop)
        return plan if len(resident) == len(plan.resident) else WeightPlan(resident, plan.early)

    def left(self, resident: Mapping[int, tuple[IssuePositions, Interval]], loop: Interval) -> int:
        """Bytes that may stay for ``loop`` besides ``resident``, if it has no other weights."""
        kept = ((self.needs[index].bytes, extent) for index, (_, extent) in resident.items())
        around = (size for size, extent in kept if extent.start <= loop.start < extent.stop)
        return self.least_limit(loop) - sum(around)

    def _least_limit(self, loop: Interval) -> int:
        return min(self.limit[loop.start : loop.stop])

    def stays(self) -> list[ResidentOption]:
        """What may stay for a loop, most DMA cycles saved per byte first."""
        counts = execution_counts(self.root, self.probabilities)
        found: list[tuple[float, int, IssuePositions, Interval]] = []
        entries = RegionEntries(self.root, [need.first for need in self.needs], self.probabilities.arms)
        for loop, options in entries.loops():
            for index, need in enumerate(self.needs):
                if need.first in loop.extent and options and need.op not in self.gathers:
                    again = counts.at[need.first] - counts.entered[loop.name]
                    saved = again * self.cycles_of.of(need) / max(1, need.bytes)
                    if saved > 0:
                        found.append((-saved, index, options[0], loop.extent))
        return [(index, issues, loop) for _, index, issues, loop in sorted(found, key=lambda f: f[:2])]


class _BestPlan:
    """The best plan so far, with its weights and its expected cycles."""

    def __init__(self, planner: _AcrossPlanner, plan: WeightPlan) -> None:
        self.planner = planner
        self.plan = plan
        self.weights = joined(planner.parts(plan))
        self.cycles = planner.cycles(self.weights)

    @property
    def exhausted(self) -> bool:
        """Whether the limit of forecasts is reached."""
        return self.planner.forecast.work > MAX_FORECAST_STEPS

    def consider(self, plan: WeightPlan, ties: bool = False) -> bool:
        """Take ``plan`` if it fits and is faster, or with ``ties`` as fast. Returns whether it was taken."""
        planner = self.planner
        if self.exhausted:
            return False
        planner.forecast.work += len(planner.limit)
        parts = planner.parts(plan)
        if not planner.fits(parts):
            return False
        weights = joined(parts)
        cycles = planner.cycles(weights)
        better = self.cycles * (1 - LEAST_GAIN)
        taken = cycles < better or (ties and cycles <= self.cycles)
        if taken:
            self.plan, self.weights, self.cycles = plan, weights, cycles
        return taken


def _issue(memory: MemoryBudget, emission: Emission) -> IssuePlan:
    planner = _AcrossPlanner(memory, emission)
    issued, buffers = planner.plan()
    return IssuePlan([*issued, *planner.rest], buffers)


STREAMER = Streamer(
    "ping-pong-across",
    double_buffered=True,
    reserve=ping_pong.STREAMER.reserve,
    slices=ping_pong.STREAMER.slices,
    issue=_issue,
)
