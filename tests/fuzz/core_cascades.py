"""Random networks on several cores, with cascades at random places on each of them, some in bands of columns.

For each seed the plans of all cores pass the verifier, they make the network's outputs on real bytes in every
order in which cores may take turns, the event-driven simulator's trace equals the stepper's event for event,
and no run is faster than the lower bound for plans with cascades.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from chipmodel.answers.result import CorePlan
from chipmodel.bounds.time_bound import time_bound
from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.core_parts import CorePart, same_core_groups, split, uses
from chipmodel.model.program import Program
from chipmodel.pipeline.multicore import joined_plans
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.verify.cores import verify_cores
from tests.fuzz.cascades import LONGEST_STEPPED, planned_case, random_case, random_choices, with_bands
from tests.fuzz.fuzzer import Fault
from tests.support.random_commands import random_path
from tests.support.stepper import step_through_cores

COUNT = 2_000
ATTEMPTS = 6
"""Times that SharedMemory grows until all cores have a plan."""


def random_cores(seed: int) -> tuple[PlanRequest, list[CorePart], Random]:
    """A program with a core for each of its nodes, any that is allowed."""
    program, _, request = random_case(seed)
    random = Random(f"core cascades {seed}")
    cores = random.randint(2, 3)
    core_of: dict[str, int] = {}
    for group in same_core_groups(program, uses(program)):
        # Most ops follow the one before, so that there are runs to make cascades of.
        last = core_of.get(program.body[group[0] - 1].name, 0)
        core = last if random.random() < 0.6 else random.randrange(cores)
        core_of |= {program.body[index].name: core for index in group}
    request = request.with_chip(replace(request.chip, cores=cores))
    return request, list(split(program, core_of, cores)), random


def planned_cores(
    request: PlanRequest, parts: Sequence[CorePart], random: Random
) -> tuple[PlanRequest, tuple[CorePlan, ...]] | None:
    """Plans with cascades at random places, on a chip with as much memory as the core with the largest plan
    needs; None where no such plan is found."""
    choices = [
        tuple(with_bands(part.program, each, random) for each in random_choices(part.program, random))
        for part in parts
    ]
    for _ in range(ATTEMPTS):
        planned = _planned(request, parts, choices)
        if planned is None:
            return None
        larger, plans = planned
        if larger == request:
            return request, joined_plans(request.program, parts, plans, request.chip)
        request = larger
    return None


def _planned(
    request: PlanRequest, parts: Sequence[CorePart], choices: Sequence[Sequence[CascadeChoice]]
) -> tuple[PlanRequest, list[Planned]] | None:
    """A plan of each part, and the request of the one that needed most memory."""
    plans: list[Planned] = []
    for part, chosen in zip(parts, choices, strict=True):
        found = planned_case(with_cascades(part.program, chosen), request)
        if found is None:
            return None
        request, planned = found
        plans.append(planned)
    return request, plans


def check(seed: int) -> Counter[str]:
    """Plan and run the network of that seed. Raises Fault where something does not hold."""
    request, parts, random = random_cores(seed)
    program, chip = request.program, request.chip
    found = planned_cores(request, parts, random)
    if found is None:
        return Counter(refused=1)
    request, plans = found
    chip = request.chip
    cascades = [[each.members for each in plan.schedule.cascades] for plan in plans]
    where = f"seed {seed} ({request.packer}, {request.streamer}, {chip.cores} cores)"
    if not any(cascades):
        return Counter({"no cascade": 1})
    streams = [plan.commands for plan in plans]
    seen = Counter(planned=1, cascades=sum(map(len, cascades)))
    seen["on two cores or more"] += sum(map(bool, cascades)) > 1
    seen["rolling"] += sum(each.rolls for of_core in cascades for each in of_core)
    seen["in bands"] += sum(each.bands > 1 for plan in plans for each in plan.schedule.cascades)
    seen["imports in a cascade"] += sum(_imports(plan) for plan in plans)
    seen["exports of a cascade"] += sum(_exports(plan) for plan in plans)
    faults = verify_cores(program, streams, chip, cascades)
    if faults:
        raise Fault(f"{where}: {faults[0]}")
    members = tuple(each for of_core in cascades for each in of_core)
    for verdict in check_paths(PlanRun(program, streams, chip.shared_memory.bytes, members), {}, seed):
        if verdict.faults:
            raise Fault(f"{where}: {verdict.faults[0]}")
        seen["executed"] += 1
    trace = simulate_cores(streams, chip, random_path(tuple(c for s in streams for c in s), random))
    if trace.cycles < time_bound(program, chip, trace.path, cascades=True).cycles:
        raise Fault(f"{where}: faster than the lower bound on {dict(trace.path)}")
    if trace.cycles <= LONGEST_STEPPED:
        seen["stepped"] += 1
        if trace != step_through_cores(streams, chip, trace.path):
            raise Fault(f"{where}: the two simulators differ on {dict(trace.path)}")
    return seen


def _imports(plan: CorePlan) -> int:
    """Tensors of other cores that a cascade reads."""
    read = _of_cascades(plan, "inputs")
    return len(read & {*plan.part.imports})


def _exports(plan: CorePlan) -> int:
    """Tensors for other cores that a cascade makes."""
    return len(_of_cascades(plan, "outputs") & {*plan.part.exports})


def _of_cascades(plan: CorePlan, which: str) -> set[str]:
    inside = {op for each in plan.schedule.cascades for op in each.ops}
    program: Program = plan.part.program
    return {
        name
        for op in program.ops()
        if op.name in inside
        for name in (op.inputs if which == "inputs" else op.outputs)
    }
