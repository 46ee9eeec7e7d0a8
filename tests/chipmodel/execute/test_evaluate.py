"""The function that stands for every op: it depends on every byte that it may read, and on no other."""

from random import Random

import numpy as np
import pytest

from chipmodel.cascades.columns import part_reads, part_writes
from chipmodel.execute.byte_arrays import Bytes, Words, digests, put, random_bytes, taken
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.op_part import OpPart, RecurrentState, whole_op
from chipmodel.execute.reference import random_weights, weight_block
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import spans
from chipmodel.geometry.share import Share, by_channels
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Pool, Recurrent
from tests.support.folders import data
from tests.support.random_programs import random_program
from workloads.build.builder import ProgramBuilder
from workloads.from_yaml.program import parse_yaml_program

LAYERS = data("small/layers.yaml")


def programs() -> list[Program]:
    return [*map(random_program, range(8)), parse_yaml_program(LAYERS, "layers.yaml")]


def operands(program: Program, op: Op) -> tuple[list[Bytes], Bytes]:
    inputs = [random_bytes(name, program.tensors[name].bytes) for name in op.inputs]
    return inputs, weight_block(program, op, random_weights(program))


def flipped(array: Bytes, place: int) -> list[Bytes]:
    """``array`` with each bit of one byte changed: one of them alone may by chance leave a byte as it is."""
    found = [array.copy() for _ in range(8)]
    for bit, each in enumerate(found):
        each[place] ^= 1 << bit
    return found


def may_skip(op: Op, index: int) -> bool:
    """Whether an op may leave out bytes of an operand: other slices, or rows between those of a window."""
    return index < len(op.inputs) and (op.sliced == op.inputs[index] or isinstance(op.work, Conv | Pool))


@pytest.mark.parametrize("program", programs(), ids=lambda each: each.name)
def test_every_byte_of_inputs_and_weights_matters(program: Program) -> None:
    for op in program.ops():
        inputs, block = operands(program, op)
        arrays = [*inputs, block]

        def made(arrays: list[Bytes], op: Op = op) -> bytes:
            return np.concatenate(evaluate(op, program, arrays[:-1], arrays[-1], whole_op(op, {}))).tobytes()

        before = made(arrays)
        for index, array in enumerate(arrays):
            for place in range(0, 0 if may_skip(op, index) else len(array), max(1, len(array) // 5)):
                others = ([*arrays[:index], each, *arrays[index + 1 :]] for each in flipped(array, place))
                assert {before} != {made(other) for other in others}, (op, index, place)


def garbled(array: Bytes, kept: Share, seed: int) -> Bytes:
    """``array`` with random bytes everywhere but in the share ``kept``."""
    changed = random_bytes("garbage", len(array), seed)
    put(changed, kept, taken(array, kept))
    return changed


def some(random: Random, total: int) -> Interval:
    start = random.randrange(total)
    return Interval(start, random.randint(start + 1, total))


@pytest.mark.parametrize("program", programs(), ids=lambda each: each.name)
def test_a_part_of_what_it_reads_is_that_of_the_whole(program: Program) -> None:
    random = Random(program.name)
    for op in (op for op in program.ops() if op.sliced is None for _ in range(3)):
        inputs, block = operands(program, op)
        whole = evaluate(op, program, inputs, block, whole_op(op, {}))
        rows, channels = some(random, op.work.rows), some(random, op.work.channels)
        state, every = RecurrentState(), Interval(0, op.work.channels)
        if isinstance(op.work, Recurrent):  # a time step needs all units of the one before
            rows = Interval(rows.start, rows.start + 1)
        if rows.start:
            evaluate(op, program, inputs, block, OpPart(Interval(0, rows.start), every, state=state))
        given = [garbled(a, op.reads(i, rows, channels), 1) for i, a in enumerate(inputs)]
        own = block if op.gathers else garbled(block, by_channels(channels, op.work.channels), 1)
        part = evaluate(op, program, given, own, OpPart(rows, channels, state=state))
        for name, expected, found in zip(op.outputs, whole, part, strict=True):
            share = op.writes(name, rows, channels)
            assert np.array_equal(taken(found, share), taken(expected, share)), (op, rows, channels)


def test_lines_that_read_as_many_bytes_are_digested_together(monkeypatch: pytest.MonkeyPatch) -> None:
    net, shapes = ProgramBuilder("net"), list[tuple[int, ...]]()
    net.output(net.conv("conv", net.input("x", (1, 3, 300, 2)), 4, 3, pad=1))
    program = net.build()
    (op,) = program.ops()

    def digested(lines: Bytes) -> Words:
        shapes.append(lines.shape)
        return digests(lines)

    monkeypatch.setattr("chipmodel.execute.evaluate.digests", digested)
    evaluate(op, program, *operands(program, op), whole_op(op, {}))
    of_input = [shape for shape in shapes if len(shape) == 2 and shape[1] in (12, 18)]
    assert of_input == [(1, 12), (255, 18), (43, 18), (1, 12)]


@pytest.mark.parametrize("name", ["deep", "small"])
def test_columns_depend_on_the_columns_that_they_read_and_on_no_others(name: str) -> None:
    program, columns = parse_yaml_program(LAYERS, "layers.yaml"), Interval(1, 2)
    (op,) = (op for op in program.ops() if op.name == name)
    inputs, block = operands(program, op)
    part = whole_op(op, {name: Interval(0, 2 if name == "small" else 5)})
    (whole,) = evaluate(op, program, inputs, block, part)
    share = part_writes(program, op, op.outputs[0], part.rows, part.channels, columns)
    read = part_reads(program, op, 0, part.rows, part.channels, columns)

    def made(given: Bytes) -> bytes:
        (found,) = evaluate(op, program, [given], block, OpPart(part.rows, part.channels, columns))
        return taken(found, share).tobytes()

    assert made(inputs[0]) == made(garbled(inputs[0], read, 1)) == taken(whole, share).tobytes()
    place = next(spans(read, len(inputs[0]))).start
    assert {made(inputs[0])} != {made(each) for each in flipped(inputs[0], place)}


def test_time_steps_out_of_order_are_other_ones() -> None:
    program = parse_yaml_program(LAYERS, "layers.yaml")
    op = next(program.ops())
    inputs, block = operands(program, op)
    (whole, *_) = evaluate(op, program, inputs, block, whole_op(op, {}))
    units, state = Interval(0, 3), RecurrentState()
    evaluate(op, program, inputs, block, OpPart(Interval(0, 2), units, state=state))
    (late, *_) = evaluate(op, program, inputs, block, OpPart(Interval(3, 6), units, state=state))
    share = op.writes(op.outputs[0], Interval(3, 6), units)
    assert not np.array_equal(taken(late, share), taken(whole, share))


def test_a_weight_block_has_for_each_channel_its_kernel_and_its_bias() -> None:
    """By hand: two channels of three bytes of kernel and two of bias."""
    builder = ProgramBuilder("p")
    x = builder.input("x", (1, 3))
    held = [builder.raw_weight("kernel", 6), builder.raw_weight("bias", 4)]
    builder.output(builder.dense("dense", x, 2, weights=held))
    program = builder.build()
    (op,) = program.ops()
    weights = {"kernel": np.arange(6, dtype=np.uint8), "bias": np.arange(100, 104, dtype=np.uint8)}
    assert weight_block(program, op, weights).tolist() == [0, 1, 2, 100, 101, 3, 4, 5, 102, 103]
