"""Ops split over cores make the same bytes as whole ones, and their plans run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest

import chipmodel as cm
from chipmodel.errors import DoesNotFit
from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.op_part import OpPart
from chipmodel.execute.reference import random_inputs, random_weights, reference
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.attributes import SliceRanges
from chipmodel.model.core_parts import CoreSplit, OpSplit
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Vector
from chipmodel.npu.cycles import op_cycles
from chipmodel.npu.least_costs import least_cycles
from chipmodel.pipeline.multicore import plan_cores
from chipmodel.pipeline.partition import balanced
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.core_split import MARK, split_over_cores
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.splittable import bands, channelwise, may_overlap, may_split_channels, may_split_rows
from chipmodel.verify.cores import verify_cores
from tests.support.chips import tiny_chip, with_memory
from tests.support.random_images import ImageShape, random_images
from tests.support.stepper import step_through_cores

NETWORKS = ("zoo:resnet8", "zoo:ds_cnn", "zoo:dnn_kws")


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


def in_parts(program: Program, cores: Sequence[int], kinds: str) -> CoreSplit:
    """A split of all ops that can be split: number ``i`` over ``cores[i]`` cores, in rows (``r``) or channels
    (``c``) as ``kinds`` says, both again and again."""
    found: dict[str, OpSplit] = {}
    for number, op in enumerate(program.ops()):
        count, kind = cores[number % len(cores)], kinds[number % len(kinds)]
        if kind == "r" and may_split_rows(program, op, count):
            found[op.name] = OpSplit(op.name, "rows", count)
        if kind == "c" and may_split_channels(program, op, count) and not channelwise(program, op):
            found[op.name] = OpSplit(op.name, "channels", count)
    return CoreSplit(tuple(found.values()))


@pytest.mark.parametrize("kinds", ["r", "rrc"])
@pytest.mark.parametrize("cores", [(3,), (2, 4, 4)])
@pytest.mark.parametrize("network", NETWORKS)
def test_splits_make_the_bytes_of_the_network(network: str, cores: Sequence[int], kinds: str) -> None:
    whole = cm.load(network)
    split = in_parts(whole, cores, kinds)
    wanted = made(whole, whole, split)
    for each in (split, replace(split, again=may_overlap(whole, split))):
        found = made(split_over_cores(whole, each), whole, each)
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted), each


def random_split(program: Program, random: Random, cores: int) -> CoreSplit:
    """Some ops of the outermost body, split somehow, and some halo rows computed again."""
    found: dict[str, OpSplit] = {}
    makers = {name: op.name for op in program.ops() for name in op.outputs}

    def in_slices(op: Op, count: int) -> bool:
        own = [found.get(makers.get(name, "")) for name in op.inputs]
        return all(each is not None and (each.by, each.cores) == ("channels", count) for each in own)

    for op in [node for node in program.body if isinstance(node, Op)]:
        count = random.choice((cores, cores, 2))
        choices = [OpSplit(op.name, "rows", count)] * 3 if may_split_rows(program, op, count) else []
        if may_split_channels(program, op, count) and (not channelwise(program, op) or in_slices(op, count)):
            choices += [OpSplit(op.name, "channels", count)] * 2
        if choices and random.random() < 0.85:
            found[op.name] = random.choice(choices)
    split = CoreSplit(tuple(found.values()))
    return replace(split, again=tuple(n for n in may_overlap(program, split) if random.random() < 0.5))


@pytest.mark.parametrize("seed", range(12))
def test_random_splits_are_right(seed: int) -> None:
    """Plans of parts are correct, run on real bytes, take the same cycles in both simulators, and make the
    bytes of the network."""
    random = Random(seed)
    shape = ImageShape(ops=7, depth=random.choice((0, 0, 1)), side=14, channels=8, columns=seed % 2 > 0)
    whole, cores = reuse(random_images(seed, shape), "all"), random.choice((2, 3, 4))
    split = random_split(whole, random, cores)
    program = split_over_cores(whole, split)
    if all(isinstance(node, Op) for node in whole.body) and not _depthwise_slices(whole, split):
        found, wanted = made(program, whole, split), made(whole, whole, split)
        assert all(np.array_equal(found[name], wanted[name]) for name in wanted)
    chip = with_memory(replace(tiny_chip(random), cores=cores), random.choice((2048, 8192, 65536)))
    streamer = random.choice(("prefetch-greedy", "ping-pong"))
    try:
        plans = plan_cores(PlanRequest(program, chip, "large-first", streamer), balanced(program, chip))
    except DoesNotFit:
        return
    commands = [plan.commands for plan in plans]
    assert not verify_cores(program, commands, chip)
    assert not any(
        run.faults for run in check_paths(PlanRun(program, commands, chip.shared_memory.bytes), {})
    )
    trace = simulate_cores(commands, chip, {})
    assert step_through_cores(commands, chip, {}).events == trace.events


def _depthwise_slices(program: Program, split: CoreSplit) -> bool:
    """Whether slices read fewer channels than a whole depthwise convolution counts as reading."""
    depthwise = {op.name for op in program.ops() if isinstance(op.work, Conv) and op.work.depthwise}
    return any(each.by == "channels" and each.op in depthwise for each in split.ops)


CHIPS = ("luna-arcs", "gap9", "stm32n6", "esp32s3", "alif-e7")


@pytest.mark.parametrize("chip", CHIPS)
def test_parts_take_no_less_than_the_least_of_the_whole(chip: str) -> None:
    """What the bound on many cores rests on: the cycles of all parts are no less than ``least_cycles``."""
    target: Chip = cm.chip(chip)
    programs = [random_images(seed, ImageShape(ops=8, side=16, columns=True)) for seed in range(6)]
    for whole in (*programs, cm.load(NETWORKS[0])):
        split = random_split(whole, Random(whole.name), 4)
        parts: dict[str, int] = {}
        for op in split_over_cores(whole, split).ops():
            name = op.name.split(MARK)[0]
            parts[name] = parts.get(name, 0) + op_cycles(target.npu, op, op.work.rows, op.work.channels)
        for op in whole.ops():
            if op.name in split.by_op():
                assert parts[op.name] >= least_cycles(target.npu, op, columns=True), op


def test_a_split_that_cannot_be_is_refused() -> None:
    whole = cm.load("zoo:resnet8")
    with pytest.raises(ValueError, match="no bands of rows"):
        split_over_cores(whole, CoreSplit((OpSplit("fc", "rows", 2),)))
    with pytest.raises(ValueError, match="not in slices of channels"):
        split_over_cores(whole, CoreSplit((OpSplit("stack1.add", "channels", 2),)))
    with pytest.raises(ValueError, match="outside of branches and loops"):
        split_over_cores(whole, CoreSplit((OpSplit("nobody", "rows", 2),)))
    split = CoreSplit((OpSplit("conv1", "rows", 2),), again=("conv1",))
    with pytest.raises(ValueError, match="computed again only"):
        split_over_cores(whole, split)
