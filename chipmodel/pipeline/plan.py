"""A program on one core to a plan: schedule it, pack it (``chipmodel.pipeline.rounds``), check it.

Each stage is a pure function. Where nothing fits without spilling, the smallest capacity that would do is
sought.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from types import MappingProxyType

from chipmodel.errors import DoesNotFit
from chipmodel.files.suggestions import listed, shown
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.fit import used_weight_bytes
from chipmodel.model.live_sets import largest_alive, live_bytes_curve
from chipmodel.model.plan import Problem
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule, steps
from chipmodel.pipeline.choices import VENDOR_STREAMER
from chipmodel.pipeline.estimate import plan_or_estimate
from chipmodel.pipeline.finer_cuts import with_finer_cuts
from chipmodel.pipeline.plugin_check import refuse_wrong_plan
from chipmodel.pipeline.quickest import packer_limits
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.pipeline.smallest_peak import with_smallest_peak
from chipmodel.pipeline.weight_choice import with_chosen_weights
from chipmodel.verify.fast_offsets import check_fast
from dma.residency.tool_pools import as_tool_keeps
from solvers.branches.mergers import packer_of_merge
from solvers.registry import packer_named

LARGEST_CUT = 1 << 28
"""Bytes of weights, or of a tensor, that are planned even if no memory can hold them: 256 MiB (assumed)."""
LARGEST_SHARED_MEMORY = 1 << 32
"""Bytes up to which a capacity that would do is sought: 4 GiB, what 32-bit addresses reach."""


DEFAULT_PATH: Mapping[str, str] = MappingProxyType({})
"""The first arm of every ``if``, and the iterations that every ``loop`` has in the program."""


def plan(request: PlanRequest, path: Mapping[str, str] | None = DEFAULT_PATH) -> Planned:
    """The first plan that fits SharedMemory, or else the one with the smallest peak. Where large ops leave no
    room for something else they are cut finer, and the plan's program is that one.

    A streamer that chooses by cycles or searches gives the fastest of the plans that fit, simulated
    along ``path``; where that is None, which a part of a program on several cores asks for, the one with the
    fastest forecast.

    Raises DoesNotFit where no schedule is found at all, and, without spilling, where no plan fits: that
    message names the smallest capacity that would do; PluginFault for a wrong plan of a plug-in.
    """
    if request.streamer == VENDOR_STREAMER:
        request = replace(request, program=as_tool_keeps(request.program, request.chip))
    planned = plan_as_placed(choose_weights(request, path), path)
    refuse_wrong_plan(planned, request)
    return planned


def choose_weights(request: PlanRequest, path: Mapping[str, str] | None = DEFAULT_PATH) -> PlanRequest:
    """Return the same request with the ops that read their weights in place, where the chip allows it: those
    with which plans are fastest along ``path``. Raises DoesNotFit where no choice has a plan."""

    def rank(asked: PlanRequest) -> tuple[bool, int]:
        planned = plan_as_placed(asked, path)
        trace = planned.trace or simulate(planned.commands, asked.chip, path or {})
        return not planned.fit(asked.chip).fits, trace.cycles

    return with_chosen_weights(request, rank)


def plan_as_placed(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """``plan`` with the ops that read their weights in place as they are in the program."""
    capacity = request.chip.shared_memory.bytes
    return with_finer_cuts(
        request, lambda asked: plan_as_cut(asked, path), lambda planned: planned.solved.peak <= capacity
    )


def plan_as_cut(request: PlanRequest, path: Mapping[str, str] | None) -> Planned:
    """``plan`` with ops cut as they are in the program."""
    began = perf_counter()
    _refuse_enormous(request.program, request.chip)
    try:
        planned = _checked(plan_or_estimate(request, path), request)
    except DoesNotFit as refusal:
        if request.spill:
            raise
        raise DoesNotFit(refusal.what, where=refusal.where, hint=_larger_memory(request)) from None
    capacity = request.chip.shared_memory.bytes
    if not request.spill and planned.solved.peak > capacity:
        raise DoesNotFit(
            f"packer {request.packer} needs {planned.solved.peak:,} B of {capacity:,} B; "
            + largest_live_set(planned.problem, planned.schedule),
            hint=_larger_memory(request),
        )
    if request.smallest_peak:
        planned = with_smallest_peak(planned, request, packer_limits(request, began, last=True))
        solved = planned.solved
        open_ = solved.status == "feasible" and solved.merger_bound != solved.peak
        if open_ and packer_named(packer_of_merge(request.merge, request.packer)).minimises:
            request.deadline.ended(f"the search for a smaller peak (packer {solved.planner})")
    return planned


def _refuse_enormous(program: Program, chip: Chip) -> None:
    """Raise DoesNotFit for bytes so far beyond both memories that cutting them into slices takes minutes."""
    sizes = {f"tensor {shown(tensor.name)}": tensor.bytes for tensor in program.tensors.values()}
    sizes["all weights"] = weights = used_weight_bytes(program)
    what, size = max(sizes.items(), key=lambda item: item[1])
    if size <= max(LARGEST_CUT, 2 * (chip.shared_memory.bytes + chip.off_chip_bytes)):
        return
    needed = {"psram": sum(sizes.values())}
    memories = {"psram": ("Psram", chip.psram.bytes)}
    if chip.weights:
        needed = {"psram": needed["psram"] - weights, "weights": weights}
        memories["weights"] = "the memory of the weights", chip.weights.memory.bytes
    small = [group for group, (_, has) in memories.items() if needed[group] > has]
    lacks = " and ".join(f"{memories[group][0]} has {memories[group][1]:,} B" for group in small)
    enough = {group: 1 << needed[group].bit_length() for group in small}
    sets = " ".join(f"--set {group}.bytes={size}" for group, size in enough.items())
    called = ", ".join(f"{group}__bytes={size}" for group, size in enough.items())
    hint = f"a smaller network, or more memory off chip: {sets} (chip(..., {called}))"
    raise DoesNotFit(f"{what}: {size:,} B, and {lacks}", hint=hint)


def largest_live_set(problem: Problem, schedule: Schedule) -> str:
    """The step with the most live bytes and its buffers, in words."""
    most = largest_alive(problem, live_bytes_curve(problem))
    if most is None:
        return "no op has a live set"
    op = next(step.op for step in steps(schedule.body) if step.position >= most.start)
    names = listed([f"{b.name} {b.bytes:,} B" for b in most.buffers], 8)
    return f"op {op!r} has the largest live set, {most.bytes:,} B: {names}"


def smallest_capacity(request: PlanRequest) -> int | None:
    """The smallest SharedMemory, in bytes, that a bisection finds a plan for without spilling or cascades;
    None where even 4 GiB are too few, or where the deadline comes first. The plan for the returned size has
    been made and fits."""
    asked = replace(request, spill=False, limits=None, stop=None, smallest_peak=False)

    def does(size: int) -> bool:
        try:
            planned = plan_in_rounds(asked.with_chip(request.chip.with_memory(size)))
        except DoesNotFit:
            return False
        return planned.solved.peak <= size

    step = request.chip.shared_memory.alignment
    high = 1
    while not does(high * step):
        high *= 2
        if high * step > LARGEST_SHARED_MEMORY or request.deadline.over:
            return None
    low = high // 2
    while low + 1 < high and not request.deadline.ends("the search for the smallest capacity"):
        middle = (low + high) // 2
        low, high = (low, middle) if does(middle * step) else (middle, high)
    return high * step


def _larger_memory(request: PlanRequest) -> str:
    size = None if request.deadline.over else smallest_capacity(request)
    if size is None and request.deadline.over:
        tensors = request.program.tensors.values()
        ample = 1 << (request.program.weight_bytes + sum(tensor.bytes for tensor in tensors)).bit_length()
        return (
            f"SharedMemory for everything, --set shared_memory.bytes={ample} (chip(..., "
            f"shared_memory__bytes={ample})), or a longer --time-limit, which says how much is enough; "
            "or leave out --no-spill (spill=False)"
        )
    if size is None:
        return "no SharedMemory of up to 4 GiB would do without spilling"
    return (
        f"layer by layer, the smallest capacity that would do without spilling is {size:,} B: "
        f"--set shared_memory.bytes={size} (chip(..., shared_memory__bytes={size})); "
        "or leave out --no-spill (spill=False); "
        "'chipmodel memory', or smallest_memory(...), finds how little is enough with cascades"
    )


def _checked(planned: Planned, request: PlanRequest) -> Planned:
    """``planned``, whose offsets were checked: a packer is never trusted."""
    faults = check_fast(replace(planned.problem, capacity=None), planned.solved.plan)
    if faults:
        raise AssertionError(f"packer {request.packer} made a wrong plan: {faults[0]}")
    return planned
