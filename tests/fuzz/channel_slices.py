"""Random chains of dense layers or convolutions in slices of channels, on random small chips.

For each seed the slices make the numbers of the whole network, computed in integers, and the plan holds what
``tests.fuzz.cascades`` asks of plans: verifier, real bytes, both simulators, and no bound beaten. Some run
in cascades of their slices' ops.
"""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import numpy.typing as npt

from chipmodel.cascades.rewrite import with_cascades
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Pool
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.channel_parts import SLICE_MARK, bands
from chipmodel.rewrites.in_place import CHOICES, reuse
from dma.residency.channel_slices import SUM, Chain, chains, in_slices, whole_name
from tests.fuzz import cascades
from tests.fuzz.fuzzer import Fault
from tests.support.chips import tiny_chip
from workloads.build.builder import ProgramBuilder

COUNT = 2_000
Numbers = npt.NDArray[np.int64]


def random_chain(seed: int) -> Program:
    """A chain of two dense layers or convolutions, with what treats each channel alike between them, and
    perhaps ops before and after it."""
    random = Random(f"slices {seed}")
    builder = ProgramBuilder(f"slices {seed}", dtype=random.choice(("int8", "int8", "int16")))
    wide, bias = random.randint(2, 24), random.random() < 0.7
    if seed % 2:
        x = builder.input("x", (random.randint(1, 3), random.randint(1, 6)))
        x = builder.dense("first", x, wide, bias=bias)
        if random.random() < 0.6:
            x = builder.elementwise("relu", "act", [x])
        x = builder.dense("last", x, random.randint(1, 6), bias=bias)
    else:
        x = builder.input("x", (1, random.randint(1, 4), random.randint(4, 7), random.randint(4, 7)))
        if random.random() < 0.4:
            x = builder.elementwise("relu", "before", [x])
        kernel = random.choice((1, 1, 3))
        x = builder.conv("first", x, wide, kernel, pad=kernel // 2, bias=bias)
        if random.random() < 0.5:
            x = builder.elementwise("relu", "act", [x])
        if random.random() < 0.5:
            x = builder.conv("between", x, wide, 3, pad=1, groups=wide, bias=bias)
        if random.random() < 0.3:
            x = builder.pool("pool", x, 2, stride=random.choice((1, 2)))
        kernel = random.choice((1, 1, 2))
        x = builder.conv("last", x, random.randint(1, 5), kernel, bias=bias)
    if random.random() < 0.4:
        x = builder.elementwise("relu", "after", [x])
    builder.output(x)
    return builder.build()


def numbers(program: Program, weights: dict[str, Numbers], given: dict[str, Numbers]) -> dict[str, Numbers]:
    """What every op of a program makes, in integers that are never rounded."""
    made = dict(given)
    for op in program.ops():
        operands = [made[name] for name in op.inputs]
        out = program.tensors[op.outputs[0]].shape
        made[op.outputs[0]] = _made(op, operands, [weights[name] for name in op.weights]).reshape(out)
    return made


def _made(op: Op, operands: list[Numbers], weights: list[Numbers]) -> Numbers:
    x = operands[0]
    match op.kind:
        case "add":
            return x + operands[1]
        case "relu":
            return np.maximum(x, 0)
        case "dense":
            bias = weights[1] if len(weights) > 1 else np.zeros(1, np.int64)
            return np.asarray(x @ weights[0].T + bias)
        case _:
            return _windows(op, x, weights)


def _windows(op: Op, x: Numbers, weights: list[Numbers]) -> Numbers:
    """A convolution, or the largest number of each window."""
    work = op.work
    assert isinstance(work, Conv | Pool)
    window = work.window
    pads = ((0, 0), (0, 0), (window.pad_top, window.pad_bottom), (window.pad_left, window.pad_right))
    padded = np.pad(x, pads)
    shape = window.kernel_h, window.kernel_w
    seen = np.lib.stride_tricks.sliding_window_view(padded, shape, (2, 3))
    seen = seen[:, :, :: window.stride_h, :: window.stride_w][:, :, : window.out_h, : window.out_w]
    if not isinstance(work, Conv):
        return np.asarray(seen.max(axis=(4, 5)))
    bias = weights[1] if len(weights) > 1 else np.zeros(work.out_c, np.int64)
    rule = "nchwij,cij->nchw" if work.depthwise and work.in_c > 1 else "nkhwij,ckij->nchw"
    kernel = weights[0][:, 0] if work.depthwise and work.in_c > 1 else weights[0]
    return np.asarray(np.einsum(rule, seen, kernel) + bias[None, :, None, None])


def whole_weights(program: Program, random: np.random.Generator) -> dict[str, Numbers]:
    """Random weights by name: output channels by input channels by the kernel, or a bias."""
    found: dict[str, Numbers] = {}
    for op in program.ops():
        for name in op.weights:
            size, channels = program.weights[name].elements, op.work.channels
            if name == op.weights[0] and isinstance(op.work, Conv):
                window = op.work.window
                shape: tuple[int, ...] = (channels, -1, window.kernel_h, window.kernel_w)
            else:
                shape = (channels, -1) if name == op.weights[0] else (channels,)
            found[name] = random.integers(-9, 10, size, np.int64).reshape(shape)
    return found


def sliced_weights(
    program: Program, chain: Chain, count: int, whole: dict[str, Numbers]
) -> dict[str, Numbers]:
    """The weights of a program in slices: those of the ``whole`` chain, cut where they are named a slice."""
    found = dict(whole)
    parts = bands(chain[0].work.channels, count)
    for name, weight in program.weights.items():
        if SLICE_MARK in name:
            own, number = name.split(SLICE_MARK)
            part = parts[int(number)]
            last = own in chain[-1].weights
            found[name] = (
                whole[own][:, part.start : part.stop] if last else whole[own][part.start : part.stop]
            )
            if found[name].size != weight.elements:
                raise Fault(f"{program.name}: {name} has {weight.elements} elements")
    return found


def check(seed: int) -> Counter[str]:
    """Cut, plan and run the network of that seed. Raises Fault where something does not hold."""
    random = Random(f"cut {seed}")
    program = reuse(random_chain(seed), random.choice(CHOICES))
    found = chains(program)
    if not found:
        return Counter({"no chain": 1})
    chain = random.choice(found)
    count = random.randint(2, chain[0].work.channels)
    sliced = in_slices(program, {chain[0].name: count})
    seen = Counter(sliced=1, macs=sliced.macs == program.macs, sums=sum(SUM in n for n in sliced.tensors))
    draw = np.random.default_rng(seed)
    weights = whole_weights(program, draw)
    given = {name: draw.integers(-9, 10, program.tensors[name].shape, np.int64) for name in program.inputs}
    wanted = numbers(program, weights, given)
    made = numbers(sliced, sliced_weights(sliced, chain, count, weights), given)
    if not all(np.array_equal(made[name], wanted[name]) for name in program.outputs):
        raise Fault(f"seed {seed}: other numbers than the whole network")
    if {whole_name(op.name) for op in sliced.ops()} != {op.name for op in program.ops()}:
        raise Fault(f"seed {seed}: other ops than the whole network")
    if sliced.macs != program.macs or sliced.parameters != program.parameters:
        raise Fault(f"seed {seed}: more is computed, or other weights")
    chip = cascades.with_memory(tiny_chip(random), sliced, random.choice((0.4, 0.7, 1.0, 2.5)))
    packer, streamer = random.choice(cascades.PACKERS), random.choice(cascades.QUICK)
    request = PlanRequest(sliced, chip, packer, streamer, spill=random.random() < 0.85, cascade="auto")
    choices = tuple(cascades.random_choices(sliced, random)) if random.random() < 0.3 else ()
    planned = cascades.planned_case(with_cascades(sliced, choices), replace(request, program=sliced))
    if planned is None:
        return seen + Counter(refused=1)
    seen.update(planned=1, cascades=len(choices))
    where = f"seed {seed} ({packer}, {streamer}, {count} slices)"
    return seen + cascades.examined(sliced, planned[0], planned[1], seed, where)
