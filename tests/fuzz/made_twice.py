"""Random networks with squeeze and excitation whose blocks run twice, on random small chips.

For each seed the network makes the same bytes with the blocks once and twice, and the plan holds what
``tests.fuzz.cascades`` asks of plans: verifier, real bytes, both simulators, and no bound beaten. Most run
in cascades, of the first run up to the pooling, of the second one through the gates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np

from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.reference import random_inputs, random_weights, reference
from chipmodel.hardware.chip import InPlaceReading
from chipmodel.model.program import Op, Program
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.channel_parts import FIRST_MARK
from chipmodel.rewrites.in_place import CHOICES, reuse
from chipmodel.rewrites.made_twice import SqueezedBlock, made_twice, named_twice, squeezed_blocks
from chipmodel.rewrites.weights_in_place import with_weights_in_place
from tests.fuzz import cascades
from tests.fuzz.fuzzer import Fault
from tests.support.chips import tiny_chip
from tests.support.random_images import DTYPES
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value

COUNT = 2_000


def random_network(seed: int) -> Program:
    """Inverted residuals with squeeze and excitation, one or two, and what may be before and after."""
    random = Random(f"squeezed {seed}")
    builder = ProgramBuilder(f"squeezed {seed}", dtype=random.choice(DTYPES))
    x = builder.input("x", (1, random.randint(1, 3), random.randint(3, 9), random.randint(2, 7)))
    if random.random() < 0.5:
        x = builder.conv("stem", x, random.randint(1, 3), 3, pad=1)
    for number in range(random.choice((1, 1, 2))):
        x = _block(builder, f"block{number}", x, random)
    if random.random() < 0.4:
        x = builder.elementwise("relu", "after", [x])
    builder.output(x)
    return builder.build()


def _block(builder: ProgramBuilder, name: str, x: Value, random: Random) -> Value:
    wide = x.shape[1] * random.randint(2, 4)
    y = builder.conv(f"{name}.expand", x, wide, 1) if random.random() < 0.8 else x
    y = _swish(builder, f"{name}.first", y, random)
    stride = random.choice((1, 1, 2))
    y = builder.conv(f"{name}.depthwise", y, y.shape[1], 3, pad=1, stride=stride, groups=y.shape[1])
    y = _swish(builder, f"{name}.second", y, random)
    gate = builder.pool(f"{name}.squeeze", y, None, kind=random.choice(("average_pool", "max_pool")))
    if random.random() < 0.3:
        other = builder.pool(f"{name}.largest", y, None, kind="max_pool")
        gate = builder.elementwise("add", f"{name}.both", [gate, other])
    gate = builder.conv(f"{name}.restore", builder.conv(f"{name}.reduce", gate, 2, 1), y.shape[1], 1)
    y = builder.elementwise(
        "mul", f"{name}.excite", [y, builder.elementwise("sigmoid", f"{name}.gate", [gate])]
    )
    y = builder.conv(f"{name}.project", y, x.shape[1], 1)
    return builder.elementwise("add", f"{name}.add", [y, x]) if y.shape == x.shape else y


def _swish(builder: ProgramBuilder, name: str, x: Value, random: Random) -> Value:
    """``x``, or what one op or two make of it."""
    match random.choice(("nothing", "relu", "swish")):
        case "relu":
            return builder.elementwise("relu", f"{name}.act", [x])
        case "swish":
            gate = builder.elementwise("sigmoid", f"{name}.sigmoid", [x])
            return builder.elementwise("mul", f"{name}.act", [x, gate])
        case _:
            return x


def _choices(program: Program, blocks: Sequence[SqueezedBlock], random: Random) -> list[CascadeChoice]:
    """A cascade for each run of each block, if it can be one, otherwise random ones."""
    order = list(program.ops())
    place = {op.name: number for number, op in enumerate(order)}
    found = list[CascadeChoice]()
    for block in blocks:
        first = place[f"{block.ops[0].name}{FIRST_MARK}"]
        second = place[block.ops[0].name]
        for start, least in ((first, len(block.ops) + 1), (second, len(block.ops) + 1)):
            ops = order[start + random.randint(0, 1) : start + least + random.randint(0, 2)]
            choice = _choice([op for op in ops if op.name not in {n for c in found for n in c.ops}], random)
            if cascades.possible(program, [op for op in order if op.name in choice.ops], choice):
                found.append(
                    cascades.with_bands(program, choice, random) if random.random() < 0.3 else choice
                )
    return found or list(cascades.random_choices(program, random))


def _choice(ops: Sequence[Op], random: Random) -> CascadeChoice:
    heights = tuple(random.choice((1, 1, 2, 3, 100)) for _ in ops)
    return CascadeChoice(tuple(op.name for op in ops), heights, random.random() < 0.7)


def same_bytes(program: Program, twice: Program, seed: int) -> bool:
    """Whether both make the same outputs of the same random bytes."""
    inputs, weights = random_inputs(program, seed), random_weights(program, seed)
    made = [reference(each, inputs, weights, {}, evaluate, {}).tensors for each in (program, twice)]
    return all(np.array_equal(made[0][name], made[1][name]) for name in program.outputs)


def check(seed: int) -> Counter[str]:
    """Run blocks of the network of that seed twice, plan and run it. Raises Fault where something does not
    hold."""
    random = Random(f"twice {seed}")
    program = reuse(random_network(seed), random.choice(CHOICES))
    blocks = [each for each in squeezed_blocks(program) if random.random() < 0.8]
    if not blocks:
        return Counter({"no block": 1})
    twice = made_twice(program, [each.name for each in blocks])
    validate_program(twice)
    if not same_bytes(program, twice, seed):
        raise Fault(f"seed {seed}: other bytes than with the blocks once")
    if made_twice(program, named_twice(op.name for op in twice.ops())) != twice:
        raise Fault(f"seed {seed}: the names of its ops make another program")
    if twice.macs != program.macs + sum(op.work.macs for each in blocks for op in each.ops):
        raise Fault(f"seed {seed}: other multiply-accumulates than those of the first runs more")
    chip = cascades.with_memory(tiny_chip(random), twice, random.choice((0.3, 0.5, 1.0, 2.5)))
    if random.random() < 0.3:
        chip = replace(chip, in_place=InPlaceReading("always", Fraction(random.choice((1, 8))), 3))
        twice = with_weights_in_place(twice, chip)
    packer, streamer = random.choice(cascades.PACKERS), random.choice(cascades.QUICK)
    request = PlanRequest(twice, chip, packer, streamer, spill=random.random() < 0.6, cascade="auto")
    choices = _choices(twice, blocks, random)
    planned = cascades.planned_case(with_cascades(twice, choices), request)
    seen = Counter(twice=1, blocks=len(blocks), cascades=len(choices))
    if planned is None:
        return seen + Counter(refused=1)
    where = f"seed {seed} ({packer}, {streamer}, {len(blocks)} blocks)"
    return seen + cascades.examined(twice, planned[0], planned[1], seed, where)
