"""The whole way for a chip with several cores: partition, one plan per core, one Psram, one simulation.

As the memories are private, each core has a packing problem of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chipmodel.bounds.time_bound import time_bound
from chipmodel.chip.chip import Chip
from chipmodel.errors import DoesNotFit
from chipmodel.machine.simulate import simulate, simulate_cores
from chipmodel.model.core_parts import CorePart, split
from chipmodel.model.interval import Interval
from chipmodel.model.program import Program
from chipmodel.model.result import CorePlan, Result
from chipmodel.model.schedule import Schedule, Transfer
from chipmodel.model.trace import Trace
from chipmodel.passes.lower import lower
from chipmodel.pipeline.partition import balanced, on_one_core
from chipmodel.pipeline.single_core import Planned, plan
from chipmodel.pipeline.smallest_peak import with_smallest_peak
from dma.schedule.effort import StopCriterion
from dma.schedule.psram_layout import ALIGNMENT
from solvers.branches.mergers import DEFAULT_MERGE
from solvers.core.outcome import Limits


@dataclass(frozen=True, slots=True)
class Setting:
    """What stays the same while partitions are tried."""

    program: Program
    chip: Chip
    packer: str
    streamer: str
    spill: bool
    choices: Mapping[str, str]
    merge: str
    limits: Limits | None = None
    stop: StopCriterion | None = None
    smallest: bool = False
    """Whether a packer that searches goes on from the first plan that fits to the smallest peak."""


def run_cores(
    program: Program,
    chip: Chip,
    packer: str,
    streamer: str,
    *,
    spill: bool = True,
    choices: Mapping[str, str] | None = None,
    merge: str = DEFAULT_MERGE,
    limits: Limits | None = None,
    stop: StopCriterion | None = None,
    smallest: bool = False,
) -> Result:
    """Plan and simulate ``program`` on all cores of ``chip``, and on one core beside it.

    The balanced partition is kept where it is faster than the one that leaves the ops for which the
    workload names no core on core 0. ``limits`` and ``stop`` are for each plan of a core that is tried.
    With ``smallest``, a packer that searches goes on to the smallest peak. Raises DoesNotFit and BadInput
    as ``pipeline.run``, and BadInput for an assignment that cannot be.
    """
    setting = Setting(program, chip, packer, streamer, spill, choices or {}, merge, limits, stop, smallest)
    (core_of, plans, trace), one_core_cycles = _fastest(setting)
    worst = max(plans, key=lambda p: (p.solved.peak, -p.core))
    return Result(
        program=program,
        chip=chip,
        schedule=_together([p.schedule for p in plans]),
        problem=worst.problem,
        solved=worst.solved,
        trace=trace,
        sync_cycles=_sync_cycles(setting, core_of, trace),
        bound=time_bound(program, chip, trace.path),
        attempts=worst.attempts,
        cores=plans,
        one_core_cycles=one_core_cycles,
        merge=merge,
    )


def plan_cores(
    program: Program,
    chip: Chip,
    core_of: Mapping[str, int],
    packer: str,
    streamer: str,
    spill: bool = True,
    merge: str = DEFAULT_MERGE,
    limits: Limits | None = None,
    stop: StopCriterion | None = None,
    smallest: bool = False,
) -> tuple[CorePlan, ...]:
    """A plan for each core, where each node of the outermost body runs on the core ``core_of`` its name.
    Raises DoesNotFit as ``pipeline.plan``."""
    parts = split(program, core_of, chip.cores)
    planned = [plan(part.program, chip, packer, streamer, spill, merge, limits, stop) for part in parts]
    if smallest:
        planned = [with_smallest_peak(each, packer, merge, limits) for each in planned]
    schedules = one_psram(parts, [p.schedule for p in planned])
    return tuple(map(_core_plan, parts, planned, schedules))


def _core_plan(part: CorePart, planned: Planned, schedule: Schedule) -> CorePlan:
    commands = lower(schedule, planned.solved.plan, part)
    return CorePlan(part, schedule, planned.problem, planned.solved, planned.attempts, commands)


def one_psram(parts: Sequence[CorePart], schedules: Sequence[Schedule]) -> list[Schedule]:
    """The schedules with addresses in one Psram: first what several cores know, at one address for all of
    them, then the weights and tensors of each core, in the order in which it had them."""
    known = Counter(name for part in parts for name in {*part.program.inputs, *part.imports, *part.exports})
    shared = {name for name, cores in known.items() if cores > 1}
    keys = [_keys(core, schedule, shared) for core, schedule in enumerate(schedules)]
    sizes: dict[_Key, int] = {}
    for homes in keys:
        for home, key in homes.items():
            sizes[key] = max(sizes.get(key, 0), len(home))
    starts: dict[_Key, int] = {}
    end = 0
    for key in sorted(sizes):
        starts[key] = end
        end += -(-sizes[key] // ALIGNMENT) * ALIGNMENT
    return [_moved(schedule, homes, starts) for schedule, homes in zip(schedules, keys, strict=True)]


_Key = tuple[int, int, str]
"""A place in Psram: the core's number and its old address, or -1, 0 and the name of a shared tensor."""


def _keys(core: int, schedule: Schedule, shared: set[str]) -> dict[Interval, _Key]:
    """What every home of one core is."""
    found: dict[Interval, _Key] = {}
    for transfer in schedule.transfers:
        if not transfer.part.weights and transfer.part.name in shared:
            found[transfer.home] = -1, 0, transfer.part.name
        else:
            found.setdefault(transfer.home, (core, transfer.home.start, ""))
    return found


def _moved(schedule: Schedule, keys: Mapping[Interval, _Key], starts: Mapping[_Key, int]) -> Schedule:
    def moved(transfer: Transfer) -> Transfer:
        by = starts[keys[transfer.home]] - transfer.home.start
        home = Interval(transfer.home.start + by, transfer.home.stop + by)
        return replace(transfer, psram=transfer.psram + by, home=home)

    return replace(schedule, transfers=tuple(map(moved, schedule.transfers)))


def _together(schedules: Sequence[Schedule]) -> Schedule:
    """One for the reports: the steps and transfers of all cores, and what each of them gave up."""
    return replace(
        schedules[0],
        body=tuple(node for s in schedules for node in s.body),
        transfers=tuple(t for s in schedules for t in s.transfers),
        buffers={f"core {core}: {n}": b for core, s in enumerate(schedules) for n, b in s.buffers.items()},
        striped=tuple(sorted(n for s in schedules for n in s.striped)),
        spilled=tuple(sorted({n for s in schedules for n in s.spilled})),
        late=tuple(each for s in schedules for each in s.late),
    )


def chosen(setting: Setting) -> tuple[CorePart, ...]:
    """The parts of the program as ``run_cores`` assigns them. Raises what it raises."""
    return tuple(plan.part for plan in _fastest(setting)[0][1])


_Tried = tuple[dict[str, int], tuple[CorePlan, ...], Trace]


def _fastest(setting: Setting) -> tuple[_Tried, int | None]:
    """The balanced partition, or the one on as few cores as the workload allows if that is as fast; and the
    cycles on one core."""
    program, chip = setting.program, setting.chip
    candidates = [on_one_core(program, chip.cores), balanced(program, chip)]
    found: list[_Tried] = []
    refusals: list[DoesNotFit] = []
    for core_of in candidates[: 1 if candidates[0] == candidates[1] else 2]:
        try:
            found.append(_try(setting, core_of))
        except DoesNotFit as refusal:
            refusals.append(refusal)
    if not found:
        raise refusals[0]
    alone = [tried for tried in found if not any(tried[0].values())]
    if alone:
        too_large, cycles = _rank(setting, alone[0])
        one_core_cycles = None if too_large else cycles
    else:
        one_core_cycles = _one_core_cycles(setting)
    return min(found, key=lambda tried: _rank(setting, tried)), one_core_cycles


def _rank(setting: Setting, tried: _Tried) -> tuple[bool, int]:
    """A plan that fits comes before one that does not, then the faster one."""
    _, plans, trace = tried
    return max(p.solved.peak for p in plans) > setting.chip.shared_memory.bytes, trace.cycles


def _try(setting: Setting, core_of: dict[str, int]) -> _Tried:
    plans = plan_cores(
        setting.program,
        setting.chip,
        core_of,
        setting.packer,
        setting.streamer,
        setting.spill,
        setting.merge,
        setting.limits,
        setting.stop,
        setting.smallest,
    )
    trace = simulate_cores([p.commands for p in plans], setting.chip, setting.choices)
    return core_of, plans, trace


def _sync_cycles(setting: Setting, core_of: dict[str, int], trace: Trace) -> int:
    if setting.streamer == "sync":
        return trace.cycles
    return _try(replace(setting, streamer="sync", smallest=False), core_of)[2].cycles


def _one_core_cycles(setting: Setting) -> int | None:
    """Cycles on a chip with one such core, whatever cores the workload names."""
    chip = replace(setting.chip, cores=1)
    try:
        planned = plan(
            setting.program,
            chip,
            setting.packer,
            setting.streamer,
            setting.spill,
            setting.merge,
            setting.limits,
            setting.stop,
        )
    except DoesNotFit:
        return None
    if planned.solved.peak > chip.shared_memory.bytes:
        return None
    return simulate(planned.commands, chip, setting.choices).cycles
