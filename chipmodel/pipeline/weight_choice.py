"""Which ops read their weights in place, where the chip leaves that to the planner: by simulated cycles.

The plan that loads all weights comes first. Then groups of ops read theirs in place: all; those that compute
for longer than they read; those that wait longest for their loads; those whose weights pass in several
slices. In the fastest of these plans, the ops that still wait longest are moved too, as long as that helps.
A streamer that searches begins with the choice of the default's plan.

Source: chipmodel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TypeVar

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Npu
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Op
from chipmodel.model.schedule import Schedule
from chipmodel.model.trace import Trace
from chipmodel.npu.cycles import op_cycles
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.weights_in_place import in_place_ops, with_weights_in_place
from dma.stream import streamer_named

T = TypeVar("T")

CHOICE_SHARE = 0.5
"""The share of the time until a deadline that the choice may take; the rest is for the plan."""
STALL_SHARES = (0.5, 0.9)
"""Shares of all waiting for weights: the ops that wait longest, until they make up so much, are one group."""
MOST_PLANS = 8
"""Plans that are compared at most, which bounds the time."""


@dataclass(frozen=True, slots=True)
class Judged:
    """How good a plan is (smaller is better), its simulation, and the schedules of its cores."""

    rank: tuple[bool, int]
    trace: Trace
    schedules: Sequence[Schedule]


def with_chosen_weights(
    request: PlanRequest, make: Callable[[PlanRequest], T], judge: Callable[[PlanRequest, T], Judged]
) -> PlanRequest:
    """Return ``request`` with the ops in place with which the plan that ``make`` gives is judged best.

    Where the chip leaves no choice, some ops of the program are in place already, or the streamer searches,
    nothing is tried.
    Raises DoesNotFit where no choice has a plan.
    """
    program, chip = request.program, request.chip
    given = in_place_ops(program) or streamer_named(request.streamer).searches_offsets
    if chip.in_place.wish != "allowed" or given:
        return replace(request, program=with_weights_in_place(program, chip))
    tried = replace(request, deadline=request.deadline.share(CHOICE_SHARE), smallest_peak=False)
    choice = _Choice(tried, lambda asked: judge(asked, make(asked)))
    chosen = choice.best()
    return replace(request, program=with_weights_in_place(program, chip, chosen))


@dataclass(slots=True)
class _Choice:
    request: PlanRequest
    judge: Callable[[PlanRequest], Judged]
    chosen: frozenset[str] = frozenset()
    """The ops in place of the best plan so far."""
    found: Judged | None = None
    """That plan."""
    refusal: DoesNotFit | None = None
    known: set[frozenset[str]] = field(default_factory=set[frozenset[str]])

    def best(self) -> frozenset[str]:
        """Return the ops in place of the best plan of all groups that are tried."""
        self.attempt(frozenset())
        for group in groups(self.request, self.found):
            self.attempt(group)
        while self.found and self.attempt(self.chosen | waiting(self.found, STALL_SHARES[-1])):
            pass
        if self.found is None and self.refusal is not None:
            raise self.refusal
        return self.chosen

    def attempt(self, group: frozenset[str]) -> bool:
        """Plan with ``group`` in place; return whether that is the best so far."""
        if group in self.known or len(self.known) >= MOST_PLANS:
            return False
        if self.found and self.request.deadline.ends("further choices of weights in place"):
            return False
        self.known.add(group)
        program = with_weights_in_place(self.request.program, self.request.chip, group)
        try:
            tried = self.judge(replace(self.request, program=program))
        except DoesNotFit as refusal:
            self.refusal = self.refusal or refusal
            return False
        if self.found and tried.rank >= self.found.rank:
            return False
        self.found, self.chosen = tried, group
        return True


def groups(request: PlanRequest, loaded: Judged | None) -> Iterator[frozenset[str]]:
    """Yield groups of ops that may read weights in place, by the plan that ``loaded`` all; or None."""
    program = request.program
    names = frozenset(op.name for op in program.ops() if program.block_bytes(op))
    yield names
    every = with_weights_in_place(program, request.chip, names)
    yield frozenset(op.name for op in every.ops() if _is_hidden(request.chip.npu, op))
    if loaded:
        for share in STALL_SHARES:
            yield waiting(loaded, share)
        yield sliced_ops(loaded)


def _is_hidden(npu: Npu, op: Op) -> bool:
    """Whether an op that reads its weights in place takes no longer than the latency for that."""
    if op.weights_in_place is None:
        return False
    alone = replace(op, weights_in_place=None)
    size = op.work.rows, op.work.channels
    return op_cycles(npu, op, *size) <= op_cycles(npu, alone, *size) + op.weights_in_place.latency


def waiting(judged: Judged, share: float) -> frozenset[str]:
    """Return the ops that wait longest for their weights, as many as make up ``share`` of all waiting."""
    waits = sorted(waits_for_weights(judged).items(), key=lambda each: (-each[1], each[0]))
    limit = share * sum(cycles for _, cycles in waits)
    before = accumulate((cycles for _, cycles in waits), initial=0)
    return frozenset(op for (op, _), sum_ in zip(waits, before, strict=False) if sum_ < limit)


def waits_for_weights(judged: Judged) -> Counter[str]:
    """Return for how many cycles each op waits for its weights; the ops of a cascade wait together."""
    members = {cascade.name: cascade.ops for each in judged.schedules for cascade in each.cascades}
    waits: Counter[str] = Counter()
    for event in judged.trace.of("npu"):
        if event.cause == "weights":
            waits.update(dict.fromkeys(members.get(event.op, (event.op,)), event.cycles))
    return waits


def sliced_ops(judged: Judged) -> frozenset[str]:
    """Return the ops that load their weights in several slices."""
    transfers = (transfer for each in judged.schedules for transfer in each.transfers)
    loads = Counter(transfer.part.name for transfer in transfers if transfer.part.weights)
    return frozenset(op for op, count in loads.items() if count > 1)


def judged_plan(request: PlanRequest, planned: Planned, path: Mapping[str, str] | None) -> Judged:
    """A plan for one core, simulated along ``path``; None: along the path that the program has of itself."""
    trace = planned.trace or simulate(planned.commands, request.chip, path or {})
    return Judged((not planned.fit(request.chip).fits, trace.cycles), trace, [planned.schedule])
