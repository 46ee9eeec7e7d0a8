"""Random networks with cascades at random places, with random heights, on random small chips.

For each seed the plan passes the independent verifier, it makes the network's outputs on real bytes, the
event-driven simulator's trace equals the stepper's event for event, no run is faster than the lower bound
for plans with cascades, and no plan that moves no tensor needs less memory than the bound on that.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

from chipmodel.bounds.least_memory import least_memory
from chipmodel.bounds.time_bound import time_bound
from chipmodel.cascades.recomputed import computed, steps_macs
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op, with_cascades
from chipmodel.errors import DoesNotFit
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.hardware.chip import Chip, InPlaceReading
from chipmodel.machine.simulate import simulate
from chipmodel.model.attributes import AlongAxis, AxisOrder
from chipmodel.model.commands import Compute
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import steps
from chipmodel.model.tree import walk
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.rewrites.in_place import CHOICES, reuse
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from chipmodel.verify.plan_file import verify_file
from dma.columns.named import chains
from dma.columns.plan_ways import plan_ways
from dma.stream import streamers
from tests.fuzz.fuzzer import Fault
from tests.fuzz.random_trees import random_paths
from tests.support.chips import tiny_chip
from tests.support.random_images import DTYPES, ImageShape, random_images
from tests.support.stepper import step_through
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value

COUNT = 5_000
PACKERS = ("large-first", "naive", "short-first", "sequential")
QUICK = ("sync", "ping-pong", "prefetch-k", "weight-pipeline")
SLOW = (*(name for name in streamers() if name != "exact"), "exact:5")
PATHS = 1
"""Paths simulated of each plan."""
LONGEST_STEPPED = 2_000
"""Cycles of the longest run that the stepper repeats cycle by cycle."""
MEMORIES = (0.2, 0.4, 0.7, 1.0, 1.5, 2.5, 4.0)
"""SharedMemory, in multiples of what the largest op needs."""
MORE = 1.5
"""How many times the SharedMemory is tried next where no plan fits."""
ATTEMPTS = 8
TRIES = 4
"""Draws of cascades until a program has one."""


def random_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """A network, cascades in it, and what to plan it on and with."""
    if seed % 8 == 7:
        return read_again_case(seed)
    random = Random(f"cascades {seed}")
    shape = ImageShape(4 + seed % 4, (seed % 4) // 2, 6 + seed % 7, columns=seed % 3 == 0)
    program = random_images(seed, shape)
    validate_program(program)
    program = reuse(program, random.choice(CHOICES))
    chip = with_memory(tiny_chip(random), program, random.choice(MEMORIES))
    choices = next(filter(None, (tuple(random_choices(program, random)) for _ in range(TRIES))), ())
    if shape.columns:
        choices = tuple(with_bands(program, choice, Random(f"bands {seed}")) for choice in choices)
    streamer = random.choice(QUICK if random.random() < 0.8 else SLOW)
    request = PlanRequest(
        program, chip, random.choice(PACKERS), streamer, spill=random.random() < 0.85, cascade="auto"
    )
    return program, choices, request


def two_readers_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """One cascade of which two ops read its input, the second one more rows of it at a time; the input does
    not fit, so that it passes through in stripes."""
    random = Random(f"two readers {seed}")
    builder = ProgramBuilder(f"two readers {seed}")
    channels, side = random.randint(1, 4), random.randint(8, 16)
    x = builder.input("x", (1, channels, side, side))
    first = builder.elementwise("relu", "first", [x])
    kernel = random.choice((3, 5))
    second = builder.conv("second", x, channels, (kernel, kernel), pad=kernel // 2)
    builder.output(builder.elementwise("add", "last", [first, second]))
    program = builder.build()
    heights = tuple(random.choice((1, 1, 2, 3)) for _ in range(3))
    choice = CascadeChoice(("first", "second", "last"), heights, random.random() < 0.5)
    chip = with_memory(tiny_chip(random), program, 0.3)
    return program, (choice,), PlanRequest(program, chip, "large-first", "sync", cascade="auto")


def read_again_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """Branches that each read the network's input, in cascades, one of them in bands perhaps, and perhaps the
    input itself at last, in memories in which it does not fit whole beside much else."""
    random = Random(f"read again {seed}")
    builder = ProgramBuilder(f"read again {seed}", dtype=random.choice(DTYPES))
    x = builder.input("x", (1, random.randint(2, 6), random.randint(8, 16), random.randint(2, 8)))
    choices = list[CascadeChoice]()
    for branch in range(random.randint(2, 3)):
        y, names = x, list[str]()
        for number in range(random.randint(1, 3)):
            names.append(f"{branch}.{number}")
            kernel, stride = random.choice((1, 3)), random.choice((1, 2))
            y = builder.conv(names[-1], y, random.randint(1, 3), kernel, pad=kernel // 2, stride=stride)
        if random.random() < 0.3:
            names.append(f"{branch}.pool")
            y = builder.pool(names[-1], y, None, kind="average_pool")
        builder.output(y)
        heights = tuple(random.choice((1, 1, 1, 2)) for _ in names)
        choices.append(CascadeChoice(tuple(names), heights, random.random() < 0.7))
    if random.random() < 0.5:
        builder.output(builder.elementwise("relu", "last", [x], in_place=random.random() < 0.5))
    program = builder.build()
    order = list(program.ops())
    found = [each for each in choices if possible(program, [o for o in order if o.name in each.ops], each)]
    found = [with_bands(program, each, random) if random.random() < 0.2 else each for each in found]
    chip = with_memory(tiny_chip(random), program, random.choice((0.3, 0.5)))
    spill, streamer = random.random() < 0.3, random.choice(QUICK)
    asked = PlanRequest(program, chip, "large-first", streamer, spill=spill, cascade="auto")
    return program, tuple(found), asked


def skipped_columns_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """One cascade in bands of columns, whose last op skips every second column and row, the last ones too."""
    random = Random(f"skipped columns {seed}")
    builder = ProgramBuilder(f"skipped columns {seed}")
    channels, side = random.randint(1, 4), 4 * random.randint(2, 4)
    x = builder.input("x", (1, channels, side, side))
    first = builder.elementwise("relu", "first", [x])
    builder.output(builder.conv("last", first, channels, (1, 1), stride=2))
    program = builder.build()
    heights = tuple(random.choice((1, 2, 3)) for _ in range(2))
    choice = CascadeChoice(("first", "last"), heights, random.random() < 0.5, bands=2)
    chip = with_memory(tiny_chip(random), program, 2.0)
    return program, (choice,), PlanRequest(program, chip, "large-first", "sync", cascade="auto")


def pooled_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """One cascade through pooling over the whole image, with or without ops after it, in small memories."""
    random = Random(f"pooled {seed}")
    builder = ProgramBuilder(f"pooled {seed}", dtype=random.choice(DTYPES))
    x, names = _column_layers(builder, random)
    names.append("pool")
    scaled, x = x, builder.pool("pool", x, None, kind=random.choice(("max_pool", "average_pool")))
    match random.choice(("nothing", "dense", "dense", "relu", "scale", "attention")):
        case "dense":
            names += ["dense", "act"]
            x = builder.elementwise("relu", "act", [builder.conv("dense", x, random.randint(1, 9), 1)])
        case "relu":
            names.append("act")
            x = builder.elementwise("relu", "act", [x])
        case "scale":
            names.append("scale")
            x = builder.elementwise("mul", "scale", [scaled, x])
        case "attention":
            names += ["attention"]
            x = builder.reshape(x, (1, 1, x.elements, 1))
            x = builder.conv("attention", x, random.randint(1, 2), (3, 1), pad=(1, 0, 1, 0))
        case _:
            pass
    builder.output(x)
    program = reuse(builder.build(), random.choice(CHOICES))
    names = names[random.randint(0, min(1, len(names) - 2)) :]
    return _one_cascade(program, names, random, (0.3, 0.5, 1.0))


def flat_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """One cascade through a dense layer of a whole image, whose weights are loaded or read in place."""
    random = Random(f"flat {seed}")
    builder = ProgramBuilder(f"flat {seed}", dtype=random.choice(DTYPES))
    x, names = _column_layers(builder, random)
    names.append("dense")
    x = builder.dense("dense", builder.flatten(x), random.randint(1, 9), bias=random.random() < 0.5)
    if random.random() < 0.5:
        names.append("after")
        x = (
            builder.dense("after", x, 3)
            if random.random() < 0.5
            else builder.elementwise("relu", "after", [x])
        )
    builder.output(x)
    program = reuse(builder.build(), random.choice(CHOICES))
    names = names[random.randint(0, min(1, len(names) - 2)) :]
    program, choices, request = _one_cascade(program, names, random, (0.3, 0.5, 1.0))
    if seed % 2:
        return program, choices, request
    rate, latency = Fraction(random.choice((1, 8, 64)), random.choice((1, 4))), random.choice((0, 3, 40))
    chip = replace(request.chip, in_place=InPlaceReading("always", rate, latency))
    program = with_weights_in_place(program, chip)
    return program, choices, replace(request, program=program, chip=chip)


def _column_layers(builder: ProgramBuilder, random: Random) -> tuple[Value, list[str]]:
    """A few ops on a narrow image, and their names."""
    size = (1, random.randint(1, 5), random.randint(2, 9), random.randint(1, 5))
    x = builder.input("x", size)
    names = list[str]()
    for number in range(random.randint(0, 2)):
        names.append(f"conv{number}")
        kernel, stride = random.choice((1, 1, 3)), random.choice((1, 1, 2))
        pad = (kernel // 2, 0, kernel // 2, 0)
        x = builder.conv(names[-1], x, random.randint(1, 8), (kernel, 1), stride=(stride, 1), pad=pad)
    if random.random() < 0.3 or len(names) == 0:
        names.append("relu")
        x = builder.elementwise("relu", "relu", [x])
    return x, names


def attention_case(seed: int) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """One cascade in an attention of several heads, over blocks of queries, with keys and values held."""
    random = Random(f"attention {seed}")
    builder = ProgramBuilder(f"attention {seed}", dtype=random.choice(DTYPES))
    heads, tokens, size = random.randint(1, 3), random.randint(2, 7), random.randint(1, 4)
    x = builder.input("x", (*(1,) * (seed % 2), tokens, heads * size))
    apart = (*x.shape[:-1], heads, size)
    made = {name: builder.dense(name, x, heads * size) for name in ("query", "key", "value")}
    query, key, value = (_turned(builder, name, builder.reshape(each, apart)) for name, each in made.items())
    scores = builder.matmul("scores", query, key, transpose_right=True)
    if random.random() < 0.4:
        scores = builder.elementwise("clip", "scaled", [scores])
    along = AlongAxis(len(scores.shape) - 1, tokens)
    shares = builder.vector("softmax", "shares", [scores], attributes=along)
    mixed = _turned(builder, "mixed", builder.matmul("mixed", shares, value))
    attended = builder.dense("out", builder.reshape(mixed, x.shape), heads * size)
    if random.random() < 0.6:
        attended = builder.elementwise("add", "attended", [x, attended])
    builder.output(attended)
    program = reuse(builder.build(), random.choice(CHOICES))
    names = [op.name for op in program.ops()]
    first, last = names.index("scores"), names.index("mixed") + 1
    chosen = names[first - random.choice((0, 0, 1, 2)) : random.choice((last, last, last + 2, len(names)))]
    return _one_cascade(program, chosen, random, (0.4, 0.7, 1.0))


def _turned(builder: ProgramBuilder, name: str, x: Value) -> Value:
    """``x`` with its tokens and heads swapped, made as a whole."""
    *first, one, other, size = x.shape
    order = AxisOrder((*range(len(first)), len(first) + 1, len(first), len(first) + 2))
    return builder.vector(
        "transpose", f"{name}.turned", [x], (*first, other, one, size), rows=1, attributes=order
    )


def _one_cascade(
    program: Program, names: Sequence[str], random: Random, memories: tuple[float, ...]
) -> tuple[Program, tuple[CascadeChoice, ...], PlanRequest]:
    """``program`` with those ops as a cascade if they can be one, random heights, memory and planners."""
    heights = tuple(random.choice((1, 1, 2, 3, 100)) for _ in names)
    choice = CascadeChoice(tuple(names), heights, random.random() < 0.7)
    chip = with_memory(tiny_chip(random), program, random.choice(memories))
    choices = (choice,) if possible(program, [o for o in program.ops() if o.name in names], choice) else ()
    packer, streamer, spill = random.choice(PACKERS), random.choice(QUICK), random.random() < 0.5
    return program, choices, PlanRequest(program, chip, packer, streamer, spill=spill, cascade="auto")


def with_memory(chip: Chip, program: Program, times: float) -> Chip:
    """``chip`` with so many ``times`` the SharedMemory that the largest op needs."""
    most = max(
        sum(program.tensors[n].bytes for n in {*op.inputs, *op.outputs}) + program.block_bytes(op)
        for op in program.ops()
    )
    return replace(chip, shared_memory=replace(chip.shared_memory, bytes=max(64, int(most * times))))


def random_choices(program: Program, random: Random) -> Iterator[CascadeChoice]:
    """Cascades that the program can have: runs of two ops or more, none in two of them."""
    for run in chains(program.body):
        start = 0
        while start + 1 < len(run):
            length = random.randint(2, 6)
            ops = run[start : start + length]
            heights = tuple(random.choice((1, 1, 2, 3, 5, 100)) for _ in ops)
            names, rolls = tuple(op.name for op in ops), random.random() < 0.6
            reloaded = tuple(name for name in names if random.random() < 0.8) if random.random() < 0.7 else ()
            choice = CascadeChoice(names, heights, rolls, reloaded)
            if random.random() < 0.8 and possible(program, ops, choice):
                yield choice
                start += len(ops)
            else:
                start += 1


def with_bands(program: Program, choice: CascadeChoice, random: Random) -> CascadeChoice:
    """``choice`` in two bands of columns or more, if it can be."""
    ops = [op for op in program.ops() if op.name in choice.ops]
    for bands in (random.randint(2, 12), random.randint(2, 4), 2):
        banded = replace(choice, bands=bands)
        if possible(program, ops, banded):
            return banded
    return choice


def possible(program: Program, ops: Sequence[Op], choice: CascadeChoice) -> bool:
    try:
        cascade_op(program, ops, choice)
    except ValueError:
        return False
    return True


RandomCase = Callable[[int], tuple[Program, tuple[CascadeChoice, ...], PlanRequest]]


def planned_case(
    program: Program, request: PlanRequest, path: Mapping[str, str] | None = None
) -> tuple[PlanRequest, Planned] | None:
    """The plan of a program with cascades, or with ops in place by rows, with more memory where none fits;
    None where that is not enough. The first plan that fits counts, or the fastest one along ``path``."""
    for _ in range(ATTEMPTS):
        try:
            planned = plan_in_rounds(request, path, program)
            if planned.solved.peak <= request.chip.shared_memory.bytes:
                return request, planned
        except DoesNotFit:
            pass
        memory = request.chip.shared_memory
        larger = replace(memory, bytes=int(memory.bytes * MORE))
        request = request.with_chip(replace(request.chip, shared_memory=larger))
    return None


def _read_again(planned: Planned) -> bool:
    """Whether several cascades read stripes of one input of the network."""
    inputs = set(planned.program.inputs)
    moved = [t for t in planned.schedule.transfers if t.part.name in inputs and not t.part.share.whole]
    cascades = planned.schedule.cascades
    readers = {(t.part.name, each.steps) for t in moved for each in cascades if t.due in each.steps}
    return max(Counter(name for name, _ in readers).values(), default=0) > 1


def _striped(planned: Planned) -> int:
    """Cascades that move stripes of their inputs or outputs."""
    moved = [t for t in planned.schedule.transfers if not t.part.weights and not t.part.share.whole]
    inside = (any(t.due in c.steps for t in moved) for c in planned.schedule.cascades)
    return sum(inside)


def _without_moves(program: Program, planned: Planned, chip: Chip, where: str) -> bool:
    """Whether a plan moves no tensor. Raises Fault where it then needs fewer bytes than any such plan, in the
    listed ways and its own."""
    schedule = planned.schedule
    if schedule.moves_tensors or any(each.rolls != chip.npu.rolling_buffers for each in schedule.cascades):
        return False
    needed = computed(program)
    times = steps_macs(program, steps(schedule.body)) / needed if needed else None
    for limit in {None, times if any(each.again for each in schedule.cascades) else None}:
        listed = least_memory(program, chip, limit, own=plan_ways(schedule))
        if listed and planned.solved.peak < listed.bytes:
            raise Fault(f"{where}: {planned.solved.peak} B are fewer than the lower bound {listed.bytes}")
    return True


def check(seed: int, case: RandomCase = random_case) -> Counter[str]:
    """Plan and run the network of that seed. Raises Fault where something does not hold."""
    program, choices, request = case(seed)
    where = f"seed {seed} ({request.packer}, {request.streamer}, {len(choices)} cascades)"
    if not choices:
        return Counter({"no cascade": 1})
    found = planned_case(with_cascades(program, choices), request)
    if found is None:
        return Counter(refused=1)
    request, planned = found
    schedule = planned.schedule
    seen = Counter(planned=1, cascades=len(schedule.cascades))
    seen["rolling"] += sum(each.rolls for each in schedule.cascades)
    seen["reloading"] += sum(len(each.reloaded) > 1 for each in schedule.cascades)
    steps_run = [step for step in walk(planned.commands) if isinstance(step, Compute)]
    written = {write.part.name for step in steps_run for write in step.writes}
    seen["adding_up"] += any(name.endswith(".sums") for name in written)
    seen["states"] += any(name.endswith(".state") for name in written)
    seen["made_again"] += any(each.again for each in schedule.cascades)
    seen["in_bands"] += sum(each.bands > 1 for each in schedule.cascades)
    seen.update(striped=_striped(planned), spilled=bool(schedule.spilled), read_again=_read_again(planned))
    return seen + examined(program, request, planned, seed, where)


def examined(program: Program, request: PlanRequest, planned: Planned, seed: int, where: str) -> Counter[str]:
    """Verify and run the plan of ``program``. Raises Fault where something does not hold."""
    chip, schedule, seen = request.chip, planned.schedule, Counter[str]()
    members = tuple(each.members for each in schedule.cascades)
    faults = verify_file(program, plan_of_planned(planned, chip, "tiny", ()), chip)
    if faults:
        raise Fault(f"{where}: {faults[0]}")
    seen["without_moves"] += _without_moves(program, planned, chip, where)
    run = PlanRun(program, [planned.commands], chip.shared_memory.bytes, members)
    for verdict in check_paths(run, {}, seed):
        if verdict.faults:
            raise Fault(f"{where}: {verdict.faults[0]}")
        seen["executed"] += 1
    for path in random_paths(program, planned, Random(seed))[:PATHS]:
        trace = simulate(planned.commands, chip, path)
        if trace.cycles < time_bound(program, chip, trace.path, cascades=True).cycles:
            raise Fault(f"{where}: faster than the lower bound on {dict(trace.path)}")
        if trace.cycles <= LONGEST_STEPPED:
            seen["stepped"] += 1
            if trace != step_through(planned.commands, chip, path):
                raise Fault(f"{where}: the two simulators differ on {dict(trace.path)}")
    return seen
