"""Random networks whose ops are split over cores somehow, halo rows handed over or computed again.

For each seed the parts make the bytes of the whole network, the plans of all cores pass the verifier and run
on real bytes in every order in which cores may take turns, the event-driven simulator's trace equals the
stepper's event for event, and no run is faster than the lower bound for plans with cascades.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np

from chipmodel.answers.result import CorePlan
from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import DoesNotFit
from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.op_part import OpPart
from chipmodel.execute.reference import random_inputs, random_weights, reference
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.attributes import SliceRanges
from chipmodel.model.core_parts import CoreSplit, OpSplit
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Vector
from chipmodel.pipeline.multicore import plan_cores
from chipmodel.pipeline.partition import balanced
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.core_split import MARK, split_over_cores
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.splittable import (
    bands,
    channelwise,
    may_overlap,
    may_split_channels,
    may_split_rows,
    splittable,
)
from chipmodel.verify.cores import verify_cores
from tests.fuzz.cascades import LONGEST_STEPPED
from tests.fuzz.fuzzer import Fault
from tests.support.chips import tiny_chip, with_memory, with_psram
from tests.support.random_images import ImageShape, random_images
from tests.support.stepper import step_through_cores

COUNT = 2_000
SEVERAL = 12


def moving(
    op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, part: OpPart
) -> Sequence[Bytes]:
    """``evaluate``, but rows that a split cuts out of a tensor are those rows."""
    along = op.work.attributes if isinstance(op.work, Vector) else None
    if MARK in op.name and isinstance(along, SliceRanges):
        out = program.tensors[op.outputs[0]]
        first = sum(start * out.bytes // size for start, size in zip(along.starts, out.shape, strict=True))
        return (inputs[0][first : first + out.bytes],)
    return evaluate(op, program, inputs, weights, part)


def made(program: Program, whole: Program, split: CoreSplit) -> dict[str, Bytes]:
    """What a program puts out for inputs and weights of the ``whole`` network."""
    weights = random_weights(whole)
    for slice_name, weight in program.weights.items():
        if slice_name not in weights:
            name, core = slice_name.split(MARK)
            op = next(each for each in whole.ops() if name in each.weights)
            channels = op.work.channels
            own = bands(channels, split.by_op()[op.name].cores)[int(core)]
            weights[slice_name] = weights[name].reshape(channels, -1)[own.start : own.stop].reshape(-1)
            assert len(weights[slice_name]) == weight.bytes
    found = reference(program, random_inputs(whole), weights, {}, moving, {})
    return {name: found.tensors[name] for name in whole.outputs}


def random_split(program: Program, random: Random, cores: int) -> CoreSplit:
    """Some ops of the outermost body, split somehow, and some halo rows computed again."""
    found: dict[str, OpSplit] = {}
    makers = {name: op.name for op in program.ops() for name in op.outputs}

    def in_slices(op: Op, count: int) -> bool:
        own = [found.get(makers.get(name, "")) for name in op.inputs]
        return all(each is not None and (each.by, each.cores) == ("channels", count) for each in own)

    for op in [node for node in program.body if isinstance(node, Op)]:
        count = 2 if random.random() < 0.1 else cores
        choices = [OpSplit(op.name, "rows", count)] * 6 if may_split_rows(program, op, count) else []
        if may_split_channels(program, op, count) and (not channelwise(program, op) or in_slices(op, count)):
            choices += [OpSplit(op.name, "channels", count)] * 2
        if choices and random.random() < 0.85:
            found[op.name] = random.choice(choices)
    split = CoreSplit(tuple(found.values()))
    return replace(split, again=tuple(n for n in may_overlap(program, split) if random.random() < 0.5))


def random_network(seed: int, random: Random) -> Program:
    """Of several networks the one with the most ops that can be split: most have few."""
    shape = ImageShape(ops=9, depth=random.choice((0, 0, 1)), side=20, channels=8, columns=seed % 2 > 0)
    made = (random_images(SEVERAL * seed + number, shape) for number in range(SEVERAL))
    return reuse(max(made, key=lambda program: len(splittable(program))), "all")


def check(seed: int) -> Counter[str]:
    """Split, plan and run the network of that seed. Raises Fault where something does not hold."""
    random = Random(seed)
    whole, cores = random_network(seed, random), random.choice((2, 3, 4))
    split = random_split(whole, random, cores)
    program = split_over_cores(whole, split)
    seen = Counter({each: sum(op.by == each for op in split.ops) for each in ("rows", "channels")})
    seen["again"] += len(split.again)
    if all(isinstance(node, Op) for node in whole.body) and not _reads_fewer(whole, split):
        seen["computed"] += 1
        found, wanted = made(program, whole, split), made(whole, whole, split)
        if not all(np.array_equal(found[name], wanted[name]) for name in wanted):
            raise Fault(f"seed {seed}: other bytes than the whole network")
    chip = with_memory(replace(tiny_chip(random), cores=cores), random.choice((2048, 8192, 65536)))
    streamer = random.choice(("prefetch-greedy", "ping-pong"))
    tight = random.random() < 0.5
    small = with_psram(chip, 1) if tight else chip  # so that tensors share all the bytes that they can
    try:
        plans = plan_cores(PlanRequest(program, small, "large-first", streamer), balanced(program, chip))
    except DoesNotFit:
        return seen + Counter(refused=1)
    if any(plan.solved.peak > chip.shared_memory.bytes for plan in plans):
        return seen + Counter(refused=1)
    commands = [plan.commands for plan in plans]
    seen["bytes of Psram shared"] += tight and _share_psram(plans)
    if faults := verify_cores(program, commands, chip):
        raise Fault(f"seed {seed}: {faults[0]}")
    for verdict in check_paths(PlanRun(program, commands, chip.shared_memory.bytes), {}):
        if verdict.faults:
            raise Fault(f"seed {seed}: {verdict.faults[0]}")
        seen["executed"] += 1
    trace = simulate_cores(commands, chip, {})
    if trace.cycles <= LONGEST_STEPPED:
        seen["stepped"] += 1
        if step_through_cores(commands, chip, {}).events != trace.events:
            raise Fault(f"seed {seed}: the two simulators differ")
    if trace.cycles < time_bound(whole, chip, trace.path, cascades=True).cycles:
        raise Fault(f"seed {seed}: faster than the lower bound")
    return seen + Counter(planned=1)


def _share_psram(plans: Sequence[CorePlan]) -> bool:
    """Whether data have bytes of Psram in common."""
    homes = {transfer.home for plan in plans for transfer in plan.schedule.transfers}
    return sum(map(len, homes)) > max((home.stop for home in homes), default=0)


def _reads_fewer(program: Program, split: CoreSplit) -> bool:
    """Whether slices read fewer channels than a whole depthwise convolution, or a row of an elementwise op,
    counts as reading."""
    ops = {op.name: op.work for op in program.ops()}
    works = [ops[each.op] for each in split.ops if each.by == "channels"]
    return any(isinstance(work, Vector) or (isinstance(work, Conv) and work.depthwise) for work in works)
