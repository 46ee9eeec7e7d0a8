"""The smallest SharedMemory that a program runs in, layer by layer and with cascades, and plans beyond it.

A size counts if a plan exists that fits it and moves no tensor to Psram but inputs and outputs of the
program. Cascades are chosen so that the most bytes alive at once are few; plans in less and less memory then
say what is possible. The bound is that of all listed ways (``chipmodel.bounds.least_memory``).

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from chipmodel.answers.memory import MemoryAnswer, MemoryPlan, MemoryPoint
from chipmodel.bounds.least_memory import LeastMemory, least_memory
from chipmodel.cascades.recomputed import computed, steps_macs
from chipmodel.errors import DoesNotFit, TimeIsOver
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.model.schedule import steps
from chipmodel.pipeline.by_ways import least_plan_in
from chipmodel.pipeline.cascade_search import plan_with_cascades
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF, MEMORY_POINTS
from chipmodel.pipeline.plan import LARGEST_SHARED_MEMORY, plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from dma.residency.channel_slices import slices_of, with_slices
from dma.residency.comfortable import comfortable_memory
from dma.residency.recurrent_ops import with_time_steps
from dma.residency.rows_in_place import least_rows_in_place

PROBING_STREAMER = "sync"
"""The streamer that tries sizes: it loads weights where they are needed, so that no other needs less."""
KEEPING_STREAMER = "prefetch-greedy"
"""The streamer for plans in the smallest memory where that of the request moves tensors or cuts ops."""
PRECISION = 512
"""The search ends within this part of the size, or an alignment: finer differences choose no part."""


def smallest_memory(
    request: PlanRequest, points: int = MEMORY_POINTS, say: Callable[[object], None] = lambda _: None
) -> MemoryAnswer:
    """The smallest memory that the program of ``request`` runs in, weights read in place where the chip
    allows it, and plans for ``points`` sizes from there to one in which everything fits next to the largest
    weights of two ops.

    ``say`` is told what is being tried. Raises DoesNotFit where no size of up to 4 GiB is enough.
    """
    search = _MemorySearch(request, say)
    every = [op.name for op in request.program.ops()]
    program = with_weights_in_place(request.program, request.chip, every)
    plain = search.of(program)
    whole = plain.smallest(program, LARGEST_SHARED_MEMORY)
    if whole is None:
        raise DoesNotFit("no SharedMemory of up to 4 GiB is enough", hint="a smaller network")
    least = plain.in_ways(plain.least(least_rows_in_place(program, request.chip), whole))
    bases = [plain]
    if (sliced := with_slices(program, 0)) is not None:
        bases.append(search.of(sliced))
        cascaded_helps = least is not whole
        least = bases[-1].least((sliced,), least)
        least = bases[-1].in_ways(least) if cascaded_helps else least
        if least.program is sliced and (fewer := with_slices(program, least.bytes)) is not None:
            least = search.of(fewer).smallest(fewer, least.bytes) or least
    if (stepped := with_time_steps(program)) is not None:
        bases.append(search.of(stepped))
        least = bases[-1].in_ways(bases[-1].least((stepped,), least))
    layerwise = search.fastest(whole)
    cascaded = layerwise if least is whole else search.fastest(least)
    front = search.front(cascaded, layerwise, points)
    return MemoryAnswer(
        workload=request.program.name,
        chip=request.chip.name,
        capacity_bytes=request.chip.shared_memory.bytes,
        lower_bound_bytes=min(cascaded.shared_memory_bytes, *(each.lower_bound() for each in bases)),
        layer_by_layer=layerwise,
        with_cascades=cascaded,
        front=front,
        macs=computed(program),
        recompute=request.recompute,
    )


class _Smallest(NamedTuple):
    """The smallest memory found for a program, which may have cascades, with its plan and what asked for it:
    the same program without."""

    request: PlanRequest
    program: Program
    planned: Planned
    bytes: int


@dataclass(frozen=True)
class _MemorySearch:
    request: PlanRequest
    say: Callable[[object], None]

    def of(self, program: Program) -> _MemorySearch:
        """The same for other ops, within the same multiply-accumulates."""
        most = self.request.recompute
        if most is not None and (done := computed(program)):
            most *= computed(self.request.program) / done
        return replace(self, request=replace(self.request, program=program, recompute=most))

    def least(self, candidates: Iterable[Program], least: _Smallest) -> _Smallest:
        """The plan of one of ``candidates`` that is in less memory than the ``least`` so far, or that one."""
        for candidate in candidates:
            if self.request.deadline.ends("further sets of cascades"):
                break
            found = self.smallest(candidate, least.bytes)
            least = found if found is not None and found.bytes < least.bytes else least
        return least

    @cached_property
    def listed(self) -> LeastMemory | None:
        """The least memory of the listed ways; None where that is not known."""
        asked = self.request
        try:
            return least_memory(asked.program, asked.chip, asked.recompute, deadline=asked.deadline)
        except TimeIsOver:
            asked.deadline.ended("the least memory of the listed ways")
            return None

    def lower_bound(self) -> int:
        """The fewest bytes of a listed plan; where that is not known 0."""
        return self.listed.bytes if self.listed else 0

    def in_ways(self, least: _Smallest) -> _Smallest:
        """The plan in the listed ways that is in less memory than the ``least`` so far, or that one."""
        for ways in self.listed.paths if self.listed else ():
            program, found = least_plan_in(self.request, ways) or (None, None)
            if program and found and self.aligned(found.solved.peak) < least.bytes:
                least = _Smallest(self.request, program, found, self.aligned(found.solved.peak))
            if program and least.bytes > self.aligned(ways.bytes):
                least = self.least((program,), least)
        return least

    def smallest(self, program: Program, below: int) -> _Smallest | None:
        """The plan of ``program``, perhaps with cascades, in the smallest memory that a bisection finds;
        None where it does not fit ``below`` bytes."""
        found = self.probe(program, below)
        if found is None:
            return None
        best, low, high = found, 0, below
        while high - low > max(self.request.chip.shared_memory.alignment, high // PRECISION):
            if self.request.deadline.ends("the search for the smallest memory"):
                break
            self.say(f"at most {high:,} B")
            # A plan in exactly its peak is likely; where there is none, halving goes on.
            peak = self.aligned(best.solved.peak)
            middle = peak if low < peak < high else self.aligned((low + high) // 2)
            found = self.probe(program, middle)
            if found is None:
                low = middle
            else:
                best, high = found, middle
        return _Smallest(self.request, program, best, high)

    def probe(self, program: Program, size: int) -> Planned | None:
        """A plan in ``size`` bytes that moves nothing; None where there is none."""
        asked = replace(self.request, streamer=PROBING_STREAMER, limits=None, stop=None)
        return self.without_moves(asked, program, size)

    def without_moves(self, asked: PlanRequest, program: Program, size: int) -> Planned | None:
        asked = replace(asked, chip=asked.chip.with_memory(size), spill=False, smallest_peak=False)
        try:
            if program is asked.program:
                planned = plan_with_cascades(replace(asked, cascade=CASCADE_OFF), {})
            else:
                planned = plan_in_rounds(asked, {}, program)
        except DoesNotFit:
            return None
        return None if planned.solved.peak > size or _moves_others(planned) else planned

    def fastest(self, smallest: _Smallest) -> MemoryPlan:
        """The plan in that memory by the streamer that is asked for or keeps tensors, or the one that was
        found if it is the faster one, or the only one."""
        request, program, probed, size = smallest
        found = self.without_moves(request, program, size)
        found = found or self.without_moves(replace(request, streamer=KEEPING_STREAMER), program, size)
        plans = [self.memory_plan(each, size) for each in (probed, found) if each is not None]
        return min(plans, key=lambda each: each.total_cycles)

    def front(self, cascaded: MemoryPlan, layerwise: MemoryPlan, points: int) -> tuple[MemoryPoint, ...]:
        """Plans for sizes from the smallest on, in equal ratios."""
        found: list[MemoryPoint] = []
        known: dict[bool, MemoryPlan | None] = {True: cascaded, False: None}
        for size in self.sizes(cascaded.shared_memory_bytes, points):
            if self.request.deadline.ends("plans for further sizes of SharedMemory"):
                break
            self.say(f"plans in {size:,} B")
            if layerwise.shared_memory_bytes <= size:
                known[False] = _faster(known[False], layerwise)
            for cascades in (False, True):
                known[cascades] = _faster(known[cascades], self.planned(size, cascades))
            known[True] = _faster(known[True], known[False])
            found.append(MemoryPoint(size, known[False], known[True]))
        return tuple(found)

    def sizes(self, least: int, points: int) -> list[int]:
        """``points`` sizes in equal ratios from ``least`` to one in which everything fits."""
        most = max(comfortable_memory(self.request.program), least)
        steps = max(1, points - 1)
        sizes = (self.aligned(round(least * (most / least) ** (step / steps))) for step in range(points))
        return sorted(set(sizes))

    def planned(self, size: int, cascades: bool) -> MemoryPlan | None:
        """The plan in ``size`` bytes, which may move tensors; None where nothing fits."""
        mode = CASCADE_AUTO if cascades else CASCADE_OFF
        asked = replace(self.request, chip=self.request.chip.with_memory(size), cascade=mode)
        try:
            found = plan(asked)
        except DoesNotFit:
            return None
        return self.memory_plan(found, size) if found.solved.peak <= size else None

    def memory_plan(self, planned: Planned, size: int) -> MemoryPlan:
        schedule, chip = planned.schedule, self.request.chip.with_memory(size)
        trace = planned.trace or simulate(planned.commands, chip, {})
        return MemoryPlan(
            size,
            trace.cycles,
            planned.solved.peak,
            _moves_others(planned),
            schedule.streamer,
            steps_macs(planned.program, steps(schedule.body)),
            schedule.cascades,
            dict(schedule.in_rows),
            slices_of(step.op for step in steps(schedule.body)),
        )

    def aligned(self, size: int) -> int:
        alignment = self.request.chip.shared_memory.alignment
        return -(-size // alignment) * alignment


def _moves_others(planned: Planned) -> bool:
    """Whether other tensors than inputs and outputs of the program go to Psram and back."""
    program = planned.program
    moved = {each.part.name for each in planned.schedule.transfers if not each.part.weights}
    return not moved <= {*program.inputs, *program.outputs}


def _faster(known: MemoryPlan | None, found: MemoryPlan | None) -> MemoryPlan | None:
    """The faster of two plans, a plan in less memory being one in more as well."""
    plans = [each for each in (known, found) if each is not None]
    return min(plans, key=lambda each: each.total_cycles, default=None)
