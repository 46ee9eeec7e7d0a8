"""Parts are true: what a part of an op computes depends on nothing but what the op says that it reads."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from chipmodel.execute.byte_arrays import Bytes, put, random_bytes, taken
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.program import evaluate_program
from chipmodel.execute.weights import random_inputs, random_weights, separated, weight_block
from chipmodel.model.interval import Interval
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Share, by_channels
from workloads.build.builder import ProgramBuilder
from workloads.build.random_programs import random_program


def part_of(random: Random, total: int) -> Interval:
    """A random range of rows or channels, not empty."""
    start = random.randrange(total)
    return Interval(start, random.randint(start + 1, total))


def garbled(array: Bytes, kept: Share, seed: int) -> Bytes:
    """``array`` with random bytes everywhere but in the share ``kept``."""
    changed = random_bytes("garbage", len(array), seed)
    put(changed, kept, taken(array, kept))
    return changed


def check_part(program: Program, op: Op, seed: int) -> None:
    """Compare a random part of ``op``, computed with garbage around what it reads, with the whole."""
    random = Random(seed)
    inputs = [random_bytes(f"{seed}/{i}", program.tensors[n].bytes) for i, n in enumerate(op.inputs)]
    block = weight_block(program, op, random_weights(program, seed))
    rows, channels = part_of(random, op.work.rows), part_of(random, op.work.channels)
    iteration = random.randrange(op.slices)
    whole = evaluate(op, program, inputs, block, iteration=iteration)
    for garbage in (1, 2):
        given = [garbled(a, _read(op, i, rows, channels, iteration), garbage) for i, a in enumerate(inputs)]
        weights = block
        if not op.gathers and len(block):
            weights = garbled(block, by_channels(channels, op.work.channels), garbage)
        part = evaluate(op, program, given, weights, rows, channels, iteration)
        for name, expected, found in zip(op.outputs, whole, part, strict=True):
            share = _moved(op, name, op.writes(name, rows, channels), iteration)
            assert np.array_equal(taken(found, share), taken(expected, share)), (op, rows, channels)


def _moved(op: Op, name: str, share: Share, iteration: int) -> Share:
    """``share`` of the first slice as one of slice ``iteration``."""
    if name != op.sliced or not len(share.rows):
        return share
    per_slice = share.of_rows // op.slices
    first = iteration * per_slice
    rows = Interval(share.rows.start + first, share.rows.stop + first)
    return Share(rows, share.of_rows, share.channels, share.of_channels)


def _read(op: Op, index: int, rows: Interval, channels: Interval, iteration: int) -> Share:
    return _moved(op, op.inputs[index], op.reads(index, rows, channels), iteration)


@pytest.mark.parametrize("seed", range(30))
def test_parts_of_random_programs_are_true(seed: int) -> None:
    program = random_program(seed)
    for number, op in enumerate(program.ops()):
        check_part(program, op, seed * 1000 + number)


@pytest.mark.parametrize("seed", range(5))
def test_every_byte_of_weights_matters(seed: int) -> None:
    program = random_program(seed)
    weights = random_weights(program)
    for op in program.ops():
        block = weight_block(program, op, weights)
        inputs = [random_bytes(name, program.tensors[name].bytes) for name in op.inputs]
        before = evaluate(op, program, inputs, block)
        for place in range(0, len(block), max(1, len(block) // 5)):
            changed = (_with_bit(block, place, bit) for bit in range(8))
            results = (evaluate(op, program, inputs, each)[0] for each in changed)
            assert any(not np.array_equal(before[0], each) for each in results), op


def _with_bit(block: Bytes, place: int, bit: int) -> Bytes:
    """``block`` with one bit of one byte changed."""
    changed = block.copy()
    changed[place] ^= 1 << bit
    return changed


def test_a_weight_block_has_for_each_channel_its_kernel_and_its_bias() -> None:
    """By hand: two channels of three bytes of kernel and two of bias."""
    builder = ProgramBuilder("p")
    x = builder.input("x", (1, 3))
    held = [builder.raw_weight("kernel", 6), builder.raw_weight("bias", 4)]
    builder.output(builder.dense("dense", x, 2, weights=held))
    program = builder.build()
    (op,) = program.ops()
    weights = {"kernel": np.arange(6, dtype=np.uint8), "bias": np.arange(100, 104, dtype=np.uint8)}
    block = weight_block(program, op, weights)
    assert block.tolist() == [0, 1, 2, 100, 101, 3, 4, 5, 102, 103]
    assert [each.tolist() for each in separated(program, op, block)] == [
        list(range(6)),
        list(range(100, 104)),
    ]


def test_a_program_runs_along_its_path() -> None:
    """An ``if`` whose arms copy different tensors."""
    builder = ProgramBuilder("p")
    a, b = builder.input("a", (4,)), builder.input("b", (4,))
    with builder.block() as first:
        builder.elementwise("copy", "copy.a", [a], outputs=["y"])
    with builder.block() as second:
        builder.elementwise("copy", "copy.b", [b], outputs=["y"])
    builder.add_if("which", [("a", first), ("b", second)])
    builder.output(a.__class__("y", (4,), "int8"))
    program = builder.build()
    inputs = random_inputs(program)
    found = {arm: evaluate_program(program, inputs, {}, {"which": arm})["y"].tolist() for arm in "ab"}
    assert found["a"] != found["b"]
    assert evaluate_program(program, inputs, {})["y"].tolist() == found["a"]
