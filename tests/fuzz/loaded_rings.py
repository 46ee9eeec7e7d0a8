"""Random networks whose stripes load only new rows into rolling buffers, on random small chips.

For each seed the plan holds what ``tests.fuzz.cascades`` asks of plans: verifier, real bytes, both
simulators, and no bound beaten. A third of the networks have branches and loops, a third cascades.
"""

from collections import Counter
from dataclasses import replace
from random import Random

from chipmodel.model.program import Program
from chipmodel.pipeline.by_ways import plan_by_ways
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.in_place import CHOICES, reuse
from tests.fuzz.cascades import (
    PACKERS,
    examined,
    random_case,
    two_readers_case,
    with_memory,
)
from tests.fuzz.fuzzer import Fault
from tests.fuzz.rows_in_place import random_chain
from tests.support.chips import tiny_chip
from tests.support.random_programs import TreeShape, random_program

COUNT = 2_000
MEMORIES = (0.15, 0.2, 0.3, 0.5)
"""SharedMemory, in multiples of what the largest op needs."""
WHOLE = 0.1
"""Share of chips that cannot address a rolling buffer across its end."""


def random_network(seed: int) -> Program:
    """A chain of layers, or a tree of branches and loops."""
    random = Random(f"loaded rings {seed}")
    shape = TreeShape(ops=4, depth=1 + seed % 4 // 2, side=random.choice((8, 12)), channels=4)
    program = random_chain(random, f"chain {seed}") if seed % 2 else random_program(seed, shape)
    return reuse(program, random.choice(CHOICES))


def check(seed: int) -> Counter[str]:
    """Plan and run the network of that seed. Raises Fault where something does not hold."""
    random, cascade = Random(f"rings on chips {seed}"), CASCADE_OFF
    if seed % 3 == 2:
        program, _, request = (two_readers_case, random_case)[seed % 2](seed)
        cascade = CASCADE_AUTO
    else:
        program = random_network(seed)
        request = PlanRequest(program, tiny_chip(random))
    chip = with_memory(request.chip, program, random.choice(MEMORIES))
    chip = replace(chip, npu=replace(chip.npu, rolling_buffers=random.random() > WHOLE))
    packer = random.choice(PACKERS)
    request = PlanRequest(program, chip, packer, "auto", spill=request.spill, cascade=cascade)
    planned = plan_by_ways(request, {})
    if planned is None:
        return Counter(refused=1)
    rings = loaded_rings(planned)
    where = f"seed {seed} ({request.packer}, {len(rings)} rolling buffers)"
    if rings and not chip.npu.rolling_buffers:
        raise Fault(f"{where}: the chip cannot address them")
    seen = Counter(planned=1, rings=len(rings), striped=len(planned.schedule.striped))
    runs, loads = planned.schedule.cascades, [each.due for each in planned.schedule.transfers if each.touched]
    seen["in_cascades"] += any(due in cascade.steps for cascade in runs for due in loads)
    return seen + examined(program, request, planned, seed, where)


def loaded_rings(planned: Planned) -> frozenset[str]:
    """The rolling buffers into which rows are loaded."""
    return frozenset(each.buffer for each in planned.schedule.transfers if each.touched)
