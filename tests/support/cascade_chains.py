"""Small random chains whose only costs are transfers, and every set of cascades of them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from random import Random

from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.cascades.shape import cascade_shape
from chipmodel.model.program import Op, Program, with_ops
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value


def random_chain(random: Random) -> Program:
    """Two convolutions or element-wise ops on images of at most five rows, or three or four of fewer rows.
    They take no cycles. Most are so small that all their sets of cascades are planned in a second."""
    builder = ProgramBuilder("chain")
    count = random.choice((2, 2, 2, 2, 2, 3, 3, 4))
    rows = random.choice({2: (2, 3, 4, 5), 3: (2, 2, 3), 4: (2,)}[count])
    value = builder.input("x", (1, random.randint(2, 16), rows, random.randint(2, 16)))
    for index in range(count):
        value = _layer(builder, random, f"op{index}", value)
    builder.output(value)
    program = builder.build()
    return replace(program, body=with_ops(program.body, lambda op: replace(op, cycles=0)))


def _layer(builder: ProgramBuilder, random: Random, name: str, value: Value) -> Value:
    kind = random.randrange(4)
    if kind == 0:
        return builder.elementwise("relu", name, [value])
    if kind == 1:
        channels = value.shape[1]
        return builder.conv(name, value, channels, (3, 3), pad=1, groups=channels)
    kernel = random.choice((1, 3))
    return builder.conv(name, value, random.randint(2, 16), (kernel, kernel), pad=kernel // 2)


def tall_chain(random: Random) -> Program:
    """Up to eight convolutions on images of up to twenty rows, some with strides, some of whose outputs are
    added to what a few ops before made, perhaps with global pooling at the end."""
    builder = ProgramBuilder("tall chain")
    side = random.randint(4, 20)
    value = builder.input("x", (1, random.randint(1, 4), side, random.choice((1, 2, side))))
    before: list[Value] = []
    for index in range(random.randint(2, 8)):
        name, kernel, stride = f"op{index}", random.choice((1, 3, 3, 5)), random.choice((1, 1, 1, 2))
        alike = [each for each in before if each.shape == value.shape]
        if alike and random.random() < 0.3:
            value = builder.elementwise("add", name, [value, random.choice(alike)])
        else:
            channels = value.shape[1]
            groups = channels if random.random() < 0.3 else 1
            made = channels if groups > 1 else random.choice((2, 4, 8, 16))
            value = builder.conv(name, value, made, kernel, stride=stride, pad=kernel // 2, groups=groups)
        before.append(value)
    if random.random() < 0.3:
        value = builder.pool("pool", value, None, kind="average_pool")
    builder.output(value)
    return builder.build()


def every_set_of_cascades(program: Program) -> Iterator[tuple[CascadeChoice, ...]]:
    """Each way to cut a chain into single ops and cascades, with each height of each op's steps."""
    run = list(program.ops())
    for borders in product((False, True), repeat=len(run) - 1):
        yield from product(*(list(_choices(program, ops)) for ops in _segments(run, borders)))


def _segments(run: Sequence[Op], borders: Sequence[bool]) -> list[list[Op]]:
    found = [[run[0]]]
    for op, border in zip(run[1:], borders, strict=True):
        if border:
            found.append([op])
        else:
            found[-1].append(op)
    return [ops for ops in found if len(ops) > 1]


def _choices(program: Program, ops: Sequence[Op]) -> Iterator[CascadeChoice]:
    shape = cascade_shape(program, ops)
    heights = product(*(range(1, shape.op_rows(index) + 1) for index in range(len(ops))))
    names = tuple(op.name for op in ops)
    yield from (CascadeChoice(names, each) for each in heights)
