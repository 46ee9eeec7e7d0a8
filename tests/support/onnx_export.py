"""Programs of windows, slices and concats as ONNX models, to compare what two programs compute."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import helper

from chipmodel.geometry.window import Window
from chipmodel.model.attributes import AlongAxis, SliceRanges
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Conv, Pool, Vector
from chipmodel.rewrites.op_shapes import seen_inputs
from tests.support.onnx_oracle import Array, real_model


def exported(program: Program) -> onnx.ModelProto:
    """``program`` as a model; weights of one name are the same in every model."""
    constants: dict[str, Array] = {}
    nodes = [node for op in program.ops() for node in _nodes(program, op, constants)]
    inputs = {name: np.zeros(program.tensors[name].shape, "f") for name in program.inputs}
    return real_model(nodes, inputs, constants)


def _nodes(program: Program, op: Op, constants: dict[str, Array]) -> Iterator[Any]:
    made = op.outputs[0]
    seen = [each.shape for each in seen_inputs(op, program.tensors)]
    match op.work:
        case Conv():
            kernel = _kernel(op, op.work, constants)
            image, *added = op.inputs
            summand = f"{made}.sum" if added else made
            options: dict[str, Any] = {**_options(op.work.window), "group": op.work.groups}
            kind = "ConvTranspose" if op.work.window.transposed else "Conv"
            yield helper.make_node(kind, [image, kernel], [summand], **options)
            if added:
                yield helper.make_node("Add", [summand, *added], [made])
        case Vector() if op.kind == "add":
            yield helper.make_node("Add", op.inputs, [made])
        case Pool():
            options = {**_options(op.work.window), "kernel_shape": _size(op.work.window)}
            if op.kind == "average_pool":
                yield helper.make_node("AveragePool", op.inputs, [made], **_undilated(options))
            else:
                yield helper.make_node("MaxPool", op.inputs, [made], **options)
        case Vector(attributes=AlongAxis(axis)) if op.kind == "concat":
            yield helper.make_node("Concat", op.inputs, [made], axis=axis)
        case Vector(attributes=SliceRanges(starts, steps)) if op.kind == "slice":
            sizes = program.tensors[made].shape
            ends = [s + n * p for s, n, p in zip(starts, sizes, steps, strict=True)]
            bounds = {"starts": starts, "ends": ends, "axes": range(len(seen[0])), "steps": steps}
            constants |= {f"{made}.{name}": np.array(values) for name, values in bounds.items()}
            yield helper.make_node("Slice", [*op.inputs, *(f"{made}.{name}" for name in bounds)], [made])
        case _:
            raise AssertionError(op.kind)


def _kernel(op: Op, work: Conv, constants: dict[str, Array]) -> str:
    name = op.weights[0]
    shape = work.out_c, work.in_c // work.groups, *_size(work.window)
    if work.window.transposed:
        shape = work.in_c, work.out_c // work.groups, *_size(work.window)
    constants[name] = np.random.default_rng(0).normal(0, 1, shape).astype("f")
    return name


def _size(window: Window) -> tuple[int, int]:
    return window.kernel_h, window.kernel_w


def _options(window: Window) -> dict[str, Any]:
    pads = window.pad_top, window.pad_left, window.pad_bottom, window.pad_right
    steps = {"strides": (window.stride_h, window.stride_w), "pads": pads}
    return {**steps, "dilations": (window.dilation_h, window.dilation_w)}


def _undilated(options: dict[str, Any]) -> dict[str, Any]:
    """Means have no dilation before opset 19."""
    return {name: value for name, value in options.items() if name != "dilations"}
