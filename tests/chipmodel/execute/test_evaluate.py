"""Ops and programs on bytes."""

from __future__ import annotations

import numpy as np
import pytest

from chipmodel.execute.byte_arrays import Bytes, random_bytes
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.program import evaluate_program
from chipmodel.execute.weights import random_inputs, random_weights, separated, weight_block
from chipmodel.model.work import Conv
from tests.support.random_programs import random_program
from workloads.build.builder import ProgramBuilder


@pytest.mark.parametrize("seed", range(5))
def test_every_byte_of_weights_matters(seed: int) -> None:
    program = random_program(seed)
    weights = random_weights(program)
    for op in program.ops():
        block = weight_block(program, op, weights)
        inputs = [random_bytes(name, program.tensors[name].bytes) for name in op.inputs]
        if isinstance(op.work, Conv) and min(op.work.window.in_h, op.work.window.in_w) < 3:
            continue  # some taps see nothing but padding
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
