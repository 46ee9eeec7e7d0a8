"""Random networks of which random ops take their input's memory row by row, on random small chips.

For each seed the plan passes the independent verifier, it makes the network's outputs on real bytes, the
event-driven simulator's trace equals the stepper's event for event, no run is faster than the lower bound
for plans that may run in stripes, and no plan that moves no tensor needs less memory than the bound on that.
"""

from collections import Counter
from dataclasses import replace
from random import Random

from chipmodel.model.commands import Compute
from chipmodel.model.program import Program
from chipmodel.model.tree import walk
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.rows_in_place import rows_to_take
from dma.residency.rows_in_place import with_rows_in_place
from tests.fuzz.cascades import MEMORIES, examined, planned_case, random_case, with_memory
from workloads.build.builder import ConvOptions, ProgramBuilder

COUNT = 2_000
HEIGHTS = (1, 1, 2, 3, 5, 100)
SHARE = 0.8
"""Share of the ops that may that do."""
WHOLE = 0.3
"""Share of chips that cannot address a rolling buffer across its end."""


CHAINS = 0.7
"""Share of networks that are a chain of layers."""
LAYERS = ("conv", "conv", "depthwise", "pointwise", "pool", "relu", "dense")


def random_chain(random: Random, name: str) -> Program:
    """Layers one after another, now and then with a second reader of a tensor."""
    builder = ProgramBuilder(name)
    x = builder.input("x", (1, random.randint(1, 4), random.randint(4, 14), random.randint(1, 5)))
    earlier = x
    for number in range(random.randint(3, 8)):
        kind, layer = random.choice(LAYERS), f"layer{number}"
        channels, side = x.shape[1], random.choice((1, 3, 3, 5))
        stride, pad = random.choice((1, 1, 1, 2)), random.randint(side // 2, side - 1)
        made = random.choice((channels, channels, random.randint(1, 6)))
        match kind:
            case "conv":
                x, earlier = builder.conv(layer, x, made, (side, side), stride=stride, pad=pad), x
            case "depthwise":
                options: ConvOptions = {"groups": channels, "stride": stride, "pad": pad}
                x, earlier = builder.conv(layer, x, channels, (side, side), **options), x
            case "pointwise":
                x, earlier = builder.conv(layer, x, made, (1, 1)), x
            case "pool":
                x, earlier = builder.pool(layer, x, (side, side), stride=stride, pad=pad), x
            case "relu":
                x, earlier = builder.elementwise("relu", layer, [x]), x
            case _ if earlier.shape == x.shape and earlier is not x:
                x = builder.elementwise("add", layer, [x, earlier])
            case _:
                pass
    builder.output(builder.pool("last", x, None))
    return builder.build()


def random_rows(seed: int) -> tuple[Program, dict[str, int], PlanRequest]:
    """A network, the ops in place with their rows, and what to plan it on and with."""
    program, _, request = random_case(seed)
    random = Random(f"rows in place {seed}")
    if random.random() < CHAINS:
        program = random_chain(random, f"chain {seed}")
        validate_program(program)
        chip = with_memory(request.chip, program, random.choice(MEMORIES))
        request = replace(request, chip=chip)
    program = reuse(program, random.choice(("all", "elementwise", "rows", "none")))
    npu = replace(request.chip.npu, rolling_buffers=random.random() > WHOLE)
    ops = {op.name: op for op in program.ops()}
    rows = {
        name: min(random.choice(HEIGHTS), ops[name].work.rows)
        for name in rows_to_take(program)
        if random.random() < SHARE
    }
    chip = replace(request.chip, npu=npu)
    return program, rows, replace(request, program=program, chip=chip)


def check(seed: int) -> Counter[str]:
    """Plan and run the network of that seed. Raises Fault where something does not hold."""
    program, rows, request = random_rows(seed)
    if not rows:
        return Counter({"no op": 1})
    found = planned_case(with_rows_in_place(program, request.chip, rows), request)
    if found is None:
        return Counter(refused=1)
    request, planned = found
    where = f"seed {seed} ({request.packer}, {request.streamer}, {len(rows)} ops in place by rows)"
    seen = Counter(planned=1, in_rows=len(planned.schedule.in_rows), spilled=bool(planned.schedule.spilled))
    seen["across_the_end"] += across_the_end(planned)
    seen["sliced"] += sliced(planned)
    return seen + examined(program, request, planned, seed, where)


def across_the_end(planned: Planned) -> bool:
    """Whether a tensor goes on at the start of its rolling buffer."""
    of = planned.program.tensors
    steps = (command for command in walk(planned.commands) if isinstance(command, Compute))
    places = (place for step in steps for place in step.writes)
    return any(p.rolls and p.first + of[p.part.name].bytes > p.bytes for p in places)


def sliced(planned: Planned) -> bool:
    """Whether an op in place by rows loads its weights in slices."""
    names = {name for name, _ in planned.schedule.in_rows}
    return any(t.part.name in names and not t.part.share.whole for t in planned.schedule.transfers)
