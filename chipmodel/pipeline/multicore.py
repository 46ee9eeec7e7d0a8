"""A program on a chip with several cores: partition, one plan for each core, one Psram, one simulation.

As the memories are private, each core has a packing problem of its own. Each op runs on one core.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chipmodel.answers.result import CorePlan, Result
from chipmodel.bounds.plugin_check import refuse_beaten
from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import BadInput, ChipmodelError, DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate, simulate_cores
from chipmodel.model.core_parts import CorePart, split
from chipmodel.model.fit import plan_fit
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.model.time_bound import TimeBound
from chipmodel.model.trace import Trace
from chipmodel.passes.lower import lower
from chipmodel.pipeline.cascade_search import named_cascades
from chipmodel.pipeline.choices import CASCADE_OFF
from chipmodel.pipeline.finer_cuts import with_finer_cuts
from chipmodel.pipeline.partition import balanced, on_one_core
from chipmodel.pipeline.plan import plan_as_cut, plan_as_placed
from chipmodel.pipeline.plugin_check import refuse_wrong_cores
from chipmodel.pipeline.psram_of_cores import one_psram
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.weight_choice import with_chosen_weights
from dma.stream import streamer_named

PARTITION_SHARE = 0.4
"""The share of the time until a deadline that the plans of one partition may take; the rest is for the other
one, one core alone and streamer ``sync``."""


def run_cores(request: PlanRequest, choices: Mapping[str, str], bound: TimeBound | None = None) -> Result:
    """Plan and simulate a program on all cores of the chip, and on one core to compare with.

    The balanced partition is kept where it is faster than the one that leaves the ops for which the
    workload names no core on core 0. ``bound`` is as in ``run``. Raises DoesNotFit, BadInput and PluginFault
    as ``run``, and BadInput for an assignment that cannot be.
    """
    capacity = request.chip.shared_memory.bytes
    return with_finer_cuts(
        _with_chosen_weights(request, choices),
        lambda asked: _run_cores(asked, choices, bound),
        lambda run: run.solved.peak <= capacity,
    )


def _with_chosen_weights(request: PlanRequest, choices: Mapping[str, str]) -> PlanRequest:
    """The same request with the ops that read their weights in place, where the chip allows it."""
    return with_chosen_weights(request, lambda asked: _rank(asked, _fitting(asked, choices)))


def _run_cores(request: PlanRequest, choices: Mapping[str, str], known: TimeBound | None) -> Result:
    tried, one_core_cycles = _fastest(request, choices)
    plans, trace = tried.plans, tried.trace
    worst = max(plans, key=lambda p: (p.solved.peak, -p.core))
    sync_cycles = _sync_cycles(request, choices, tried)
    bound = known or time_bound(request.program, request.chip, trace.path, cascades=request.cascades)
    if bound is not known:
        refuse_beaten(bound, request.chip, trace.cycles, sync_cycles, one_core_cycles)
    return Result(
        program=tried.partition.program,
        chip=request.chip,
        schedule=_together([p.schedule for p in plans]),
        problem=worst.problem,
        solved=worst.solved,
        trace=trace,
        sync_cycles=sync_cycles,
        bound=bound,
        attempts=worst.attempts,
        cores=plans,
        one_core_cycles=one_core_cycles,
        merge=request.merge,
        asked=request.asked,
    )


def plan_cores(request: PlanRequest, core_of: Mapping[str, int]) -> tuple[CorePlan, ...]:
    """A plan for each core, where each node of the outermost body runs on the core ``core_of`` its name.
    Raises DoesNotFit and PluginFault as ``plan``."""
    parts = split(request.program, core_of, request.chip.cores)
    planned: list[Planned] = []
    for part in parts:
        share = request.deadline.share(1 / (len(parts) - len(planned)))
        of_part = replace(request, program=part.program, deadline=share, cascade=_cascade_of(request, part))
        planned.append(plan_as_cut(of_part, None))
    return _checked(request, parts, planned)


def _checked(
    request: PlanRequest, parts: Sequence[CorePart], planned: Sequence[Planned]
) -> tuple[CorePlan, ...]:
    plans = joined_plans(request.program, parts, planned, request.chip)
    refuse_wrong_cores(plans, request)
    return plans


def joined_plans(
    program: Program, parts: Sequence[CorePart], planned: Sequence[Planned], chip: Chip
) -> tuple[CorePlan, ...]:
    """The plans of all cores, which were made apart, with addresses in one Psram."""
    schedules = one_psram(program, parts, [p.schedule for p in planned], chip.off_chip_bytes)
    return tuple(map(_core_plan, parts, planned, schedules))


def _cascade_of(request: PlanRequest, part: CorePart) -> str:
    """What ``--cascade`` asks of a core: of the ops that it names, those that the core runs."""
    named = named_cascades(request)
    own = {op.name for op in part.program.ops()}
    groups = [[name for name in group if name in own] for group in named]
    return "+".join(",".join(group) for group in groups if group) or (
        CASCADE_OFF if named else request.cascade
    )


def _core_plan(part: CorePart, planned: Planned, schedule: Schedule) -> CorePlan:
    commands = lower(schedule, planned.solved.plan, part)
    return CorePlan(part, schedule, planned.problem, planned.solved, planned.attempts, commands)


def _together(schedules: Sequence[Schedule]) -> Schedule:
    """One for the reports: the steps and transfers of all cores, and what each of them gave up."""
    return replace(
        schedules[0],
        body=tuple(node for s in schedules for node in s.body),
        transfers=tuple(t for s in schedules for t in s.transfers),
        buffers={f"core {core}: {n}": b for core, s in enumerate(schedules) for n, b in s.buffers.items()},
        striped=tuple(sorted(n for s in schedules for n in s.striped)),
        spilled=tuple(sorted({n for s in schedules for n in s.spilled})),
        cascades=tuple(each for s in schedules for each in s.cascades),
        late=tuple(each for s in schedules for each in s.late),
        weights_in_place={op: home for s in schedules for op, home in s.weights_in_place.items()},
    )


def _fitting(request: PlanRequest, choices: Mapping[str, str]) -> _Tried:
    """The fastest plans, with large ops cut finer where they do not fit otherwise."""
    capacity = request.chip.shared_memory.bytes
    return with_finer_cuts(
        request,
        lambda asked: min(_partitions(asked, choices), key=lambda tried: _rank(asked, tried)),
        lambda tried: all(plan.solved.peak <= capacity for plan in tried.plans),
    )


@dataclass(frozen=True, slots=True)
class _Partition:
    """The core of each node of a program."""

    program: Program
    core_of: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Tried:
    """A partition with the plans of all cores and their simulation."""

    partition: _Partition
    plans: tuple[CorePlan, ...]
    trace: Trace


def _fastest(request: PlanRequest, choices: Mapping[str, str]) -> tuple[_Tried, int | None]:
    """The balanced partition, or one on as few cores as possible if as fast; and cycles on one core."""
    found = _partitions(request, choices)
    alone = [tried for tried in found if not any(tried.partition.core_of.values())]
    if alone:
        too_large, cycles = _rank(request, alone[0])
        one_core_cycles = None if too_large else cycles
    else:
        one_core_cycles = _one_core_cycles(request, choices)
    return min(found, key=lambda tried: _rank(request, tried)), one_core_cycles


def _partitions(request: PlanRequest, choices: Mapping[str, str]) -> list[_Tried]:
    """Plans on as few cores as the workload allows, and of the balanced partition. Raises what the first
    raises where there is none."""
    program, chip = request.program, request.chip
    whole = [on_one_core(program, chip.cores), balanced(program, chip, named_cascades(request))]
    candidates = [_Partition(program, core_of) for core_of in whole[: 1 if whole[0] == whole[1] else 2]]
    found: list[_Tried] = []
    refusals: list[ChipmodelError] = []
    for partition in candidates:
        try:
            found.append(_try(request.until(request.deadline.share(PARTITION_SHARE)), choices, partition))
        except (BadInput, DoesNotFit) as refusal:
            refusals.append(refusal)
    if not found:
        raise refusals[0]
    return found


def _rank(request: PlanRequest, tried: _Tried) -> tuple[bool, int]:
    """A plan that fits comes before one that does not, then the faster one."""
    plans, program = tried.plans, tried.partition.program
    peak, together = max(p.solved.peak for p in plans), _together([p.schedule for p in plans])
    return not plan_fit(program, request.chip, together, peak).fits, tried.trace.cycles


def _try(request: PlanRequest, choices: Mapping[str, str], partition: _Partition) -> _Tried:
    """The best plans of all cores. Plans for one core alone are simulated already where they are compared."""
    if not any(partition.core_of.values()):
        return _alone(request, choices, partition)
    return _try_streamer(request, choices, partition)


def _alone(request: PlanRequest, choices: Mapping[str, str], partition: _Partition) -> _Tried:
    """The plan of a chip with one core, which core 0 runs; the others have nothing to do."""
    asked = replace(request, program=partition.program, chip=replace(request.chip, cores=1))
    made = plan_as_placed(asked, choices)
    partition = _Partition(made.program, on_one_core(made.program, request.chip.cores))
    own, *idle = split(made.program, partition.core_of, request.chip.cores)
    others = [plan_as_cut(replace(request, program=part.program), None) for part in idle]
    plans = _checked(replace(request, program=made.program), [own, *idle], [made, *others])
    return _Tried(partition, plans, simulate_cores([p.commands for p in plans], request.chip, choices))


def _try_streamer(request: PlanRequest, choices: Mapping[str, str], partition: _Partition) -> _Tried:
    """The plans of all cores and their simulation. A streamer that chooses by cycles sees one core at a time
    and so only forecasts; it is compared with ``sync`` here, of which it is never slower."""
    found = [_simulated(request, choices, partition)]
    if streamer_named(request.streamer).chooses_by_cycles:
        found.append(_simulated(replace(request, streamer="sync"), choices, partition))
    return min(found, key=lambda tried: _rank(request, tried))


def _simulated(request: PlanRequest, choices: Mapping[str, str], partition: _Partition) -> _Tried:
    """The plans of all cores, simulated."""
    plans = plan_cores(replace(request, program=partition.program), partition.core_of)
    trace = simulate_cores([p.commands for p in plans], request.chip, choices)
    return _Tried(partition, plans, trace)


def _sync_cycles(request: PlanRequest, choices: Mapping[str, str], tried: _Tried) -> int | None:
    if request.streamer == "sync":
        return tried.trace.cycles
    if not request.sync_too:
        return None
    sync = replace(request, streamer="sync", smallest_peak=False)
    return _simulated(sync, choices, tried.partition).trace.cycles


def _one_core_cycles(request: PlanRequest, choices: Mapping[str, str]) -> int | None:
    """Cycles on a chip with one such core, whatever cores are named, with the same weights in place."""
    chip = replace(request.chip, cores=1)
    try:
        planned = plan_as_placed(replace(request, chip=chip, smallest_peak=False), choices)
    except DoesNotFit:
        return None
    if not planned.fit(chip).fits:
        return None
    return (planned.trace or simulate(planned.commands, chip, choices)).cycles
