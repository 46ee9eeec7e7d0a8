"""Parts are true: what a part of an op computes depends on nothing but what the op says that it reads."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.networks import PLANNED
from tests.support.random_programs import random_program
from tests.support.true_parts import MOST_BYTES, check_part, size_of
from workloads.from_yaml.program import parse_yaml_program
from workloads.zoo import build

SMALL = {"input": 32, "width": 0.25, "units": 24, "words": 50, "frames": 3, "blocks": 2}
"""Options that make networks small, where they have them."""


@pytest.mark.parametrize("seed", range(30))
def test_parts_of_random_programs_are_true(seed: int) -> None:
    program = random_program(seed)
    for number, op in enumerate(program.ops()):
        check_part(program, op, seed * 1000 + number)


@pytest.mark.parametrize("name", [network.name for network in PLANNED])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_parts_of_built_in_networks_are_true(name: str, dtype: str) -> None:
    network = next(each for each in PLANNED if each.name == name)
    options: dict[str, str] = {}
    for key, option in network.options.items():
        if key in SMALL and not option.choices:
            options[key] = str(max(option.minimum, SMALL[key]))
    program = build(name, options, dtype)
    ops = [op for op in program.ops() if size_of(program, op) < MOST_BYTES]
    kinds = {op.kind: op for op in ops}
    for number, op in enumerate([*kinds.values(), *Random(name).sample(ops, min(12, len(ops)))]):
        check_part(program, op, number)


TYPES = ["int4", "int8", "int16", "float16", "float32"]
LAYERS = """
- {op: conv, channels: 6, kernel: 3, pad: 1, stride: 2}
- {op: conv, channels: 8, kernel: [3, 2], pad: [1, 0, 2, 1], dilation: 2, groups: 2}
- {op: depthwise_conv, kernel: 3, pad: same, multiplier: 2}
- {op: transposed_conv, channels: 3, kernel: 3, stride: 2, output_pad: 1}
- {op: transposed_conv, channels: 4, kernel: [2, 3], stride: [3, 1], pad: 1, groups: 2}
- {op: max_pool, kernel: 3, stride: 2, pad: 1}
- {op: average_pool, kernel: 2, ceil: true}
- {op: global_average_pool}
- {op: dense, features: 5}
- {op: relu}
- {op: gelu}
- {op: add, in: [x, x]}
- {op: mul, in: [x, row]}
- {op: sub, constant: [1, 4, 1, 1]}
- {op: prelu}
- {op: batch_norm}
- {op: instance_norm}
- {op: group_norm, groups: 2}
- {op: layer_norm, axis: 1}
- {op: layer_norm}
- {op: rms_norm, axis: 2}
- {op: softmax}
- {op: softmax, axis: 1}
- {op: softmax, axis: 2}
- {op: argmax, axis: 1}
- {op: argmax, axis: 3}
- {op: concat, in: [x, x], axis: 0}
- {op: concat, in: [x, x], axis: 1}
- {op: concat, in: [x, x], axis: 2}
- {op: concat, in: [x, x], axis: 3}
- {op: split, out: [p, q], axis: 1}
- {op: split, out: [p, q], axis: 2}
- {op: split, out: [p, q], axis: 3, sizes: [1, 5]}
- {op: slice, axis: 1, start: 1, stop: 3}
- {op: slice, axis: 2, start: 2}
- {op: slice, axis: 3, start: -2}
- {op: slice, axis: 0, stop: 1}
- {op: transpose, order: [0, 2, 3, 1]}
- {op: transpose, order: [0, 1, 3, 2]}
- {op: transpose, order: [1, 0, 2, 3]}
- {op: transpose, order: [0, 2, 1, 3]}
- {op: pad, before: [0, 0, 1, 2], after: [0, 0, 2, 0]}
- {op: pad, before: [0, 2, 0, 0], after: [0, 0, 0, 0]}
- {op: pad, before: [1, 0, 0, 0], after: [0, 1, 1, 0]}
- {op: resize, scale: 2}
- {op: resize, size: [5, 9]}
- {op: resize, size: [16, 3]}
- {op: space_to_depth, block: 2}
- {op: depth_to_space, block: 2}
- {op: reduce_sum, axes: [1]}
- {op: reduce_mean, axes: [2, 3], keep: false}
- {op: reduce_max, axes: [3]}
- {op: reduce_min, axes: [0], keep: false}
- {op: copy}
- {op: cast, dtype: int32}
- {op: custom, out: {y: [2, 3, 8]}, rows: 6, weights: 100}
- {op: matmul, in: [x, square]}
- {op: matmul, in: [x, square], transpose_right: true}
- {op: matmul, in: [x, batched]}
"""


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("layer", LAYERS.strip().splitlines())
@pytest.mark.parametrize("view", ["", "- {op: reshape, in: x, shape: [2, 4, 8, 6], name: v}"])
def test_parts_of_every_kind_are_true(layer: str, dtype: str, view: str) -> None:
    """On an image that is an input, and on one that is a view of a matrix."""
    first = "[2, 4, 48]" if view else "[2, 4, 8, 6]"
    if view:
        layer = layer.replace("x, x", "v, v").replace("[x", "[v")
    if "in:" not in layer:
        layer = layer.replace("{op:", "{in: v, op:" if view else "{in: x, op:")
    if "out:" not in layer:
        layer = layer.replace("{", "{name: y, ", 1)
    inputs = f"{{x: {first}, row: [6], square: [6, 6], batched: [2, 1, 6, 5]}}"
    text = f"name: n\ndtype: {dtype}\ninputs: {inputs}\nops:\n{view}\n{layer}\n"
    program = parse_yaml_program(text, "n.yaml")
    for number, op in enumerate(program.ops()):
        for seed in range(8):
            check_part(program, op, 100 * number + seed)
