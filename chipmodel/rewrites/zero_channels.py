"""Output channels whose weights are all zero: what a network is without them.

A channel of a convolution whose weights are all zero has the same number everywhere. Depthwise layers,
poolings and functions keep it so, and a later convolution adds it to its bias; so a compiler may leave it out
up to there. The channels stay where anything else reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from chipmodel.model.program import Op, Program, Tensor, Weight, with_ops
from chipmodel.model.work import Conv, Pool, Vector, Work

FUNCTIONS = ("relu", "relu6", "clip", "leaky_relu", "sigmoid", "tanh", "hard_swish", "silu", "gelu")
"""Kinds of ops that make each element of one element alone."""


def zero_channels(program: Program, op: Op) -> int:
    """The output channels of a convolution whose weights are all zero, where its file has them."""
    kernel = program.weights.get(op.weights[0]) if op.weights else None
    plain = isinstance(op.work, Conv) and op.work.groups == 1 and not op.work.solid
    return kernel.zero_channels if kernel and plain else 0


def without_zero_channels(program: Program) -> Program:
    """``program`` without these channels, as far as they can be left out."""
    readers: dict[str, list[Op]] = {}
    for op in program.ops():
        for name in {*op.inputs}:
            readers.setdefault(name, []).append(op)
    used = [name for op in program.ops() for name in op.weights]
    fixed = {*program.inputs, *program.outputs, *program.states, *program.states.values()}

    def free(name: str) -> bool:
        """Whether all that reads a tensor can do without channels of it."""
        return name not in fixed and all(
            _ends(op) or (_passes(op) and free(op.outputs[0])) for op in readers.get(name, [])
        )

    left: dict[str, int] = {}
    for op in program.ops():
        made, dead = op.outputs[0], zero_channels(program, op)
        if any(used.count(name) > 1 for name in op.weights):
            continue
        if 0 < dead < op.work.channels and _plain(program, op) and free(made):
            left[made] = dead
        elif _passes(op) and op.inputs[0] in left:
            left[made] = left[op.inputs[0]]
    if not left:
        return program
    tensors = {name: _narrower(tensor, left.get(name, 0)) for name, tensor in program.tensors.items()}
    weights = dict(program.weights)
    for op in program.ops():
        weights.update(_lighter(op, left, weights))
    body = with_ops(program.body, lambda op: _narrowed(op, left, tensors))
    return replace(program, tensors=tensors, weights=weights, body=body)


def _plain(program: Program, op: Op) -> bool:
    """Whether an op sees its operands as images of their own shapes."""
    shapes = [program.tensors[name].shape for name in (*op.inputs, *op.outputs)]
    return op.sliced is None and (not op.views or [*op.views] == shapes) and len(shapes) == 2


def _ends(op: Op) -> bool:
    return isinstance(op.work, Conv) and op.work.groups == 1 and not op.work.solid and len(op.inputs) == 1


def _passes(op: Op) -> bool:
    """Whether an op has as many channels as its only operand, each made of that channel alone."""
    work, alone = op.work, len(op.inputs) == len(op.outputs) == 1 and op.sliced is None
    if isinstance(work, Conv):
        return alone and work.depthwise and work.in_c == work.out_c and not work.solid
    return alone and (isinstance(work, Pool) or (isinstance(work, Vector) and op.kind in FUNCTIONS))


def _narrower(tensor: Tensor, left: int) -> Tensor:
    if not left:
        return tensor
    images, channels, *image = tensor.shape
    size = tensor.bytes * (channels - left) // channels
    return replace(tensor, shape=(images, channels - left, *image), bytes=size)


def _lighter(op: Op, left: Mapping[str, int], weights: Mapping[str, Weight]) -> Mapping[str, Weight]:
    """The weights of a convolution with fewer input and output channels."""
    work, less = op.work, left.get(op.outputs[0], 0)
    fewer = left.get(op.inputs[0], 0) if op.inputs else 0
    if not isinstance(work, Conv) or not (less or fewer):
        return {}
    found: dict[str, Weight] = {}
    for number, name in enumerate(op.weights):
        weight, kernel = weights[name], not number and work.groups == 1
        channels = work.out_c * (work.in_c if kernel else 1)
        share = (work.out_c - less) * (work.in_c - fewer if kernel else 1)
        if weight.elements % channels == 0:
            found[name] = Weight(
                name, *(size * share // channels for size in (weight.bytes, weight.elements))
            )
    return found


def _narrowed(op: Op, left: Mapping[str, int], tensors: Mapping[str, Tensor]) -> Op:
    less, fewer = left.get(op.outputs[0], 0), left.get(op.inputs[0], 0) if op.inputs else 0
    if not less and not fewer:
        return op
    views = tuple(tensors[name].shape for name in (*op.inputs, *op.outputs)) if op.views else ()
    if isinstance(op.work, Vector):
        made = tensors[op.outputs[0]]
        share = Fraction(made.shape[1], made.shape[1] + less)
        sizes = (int(size * share) for size in (op.work.elements, op.work.in_bytes, op.work.out_bytes))
        elements, in_bytes, out_bytes = sizes
        work: Work = replace(op.work, elements=elements, in_bytes=in_bytes, out_bytes=out_bytes)
    else:
        work = _work(op.work, less, fewer)
    return replace(op, work=work, views=views)


def _work(work: Work, less: int, fewer: int) -> Work:
    match work:
        case Conv() if work.depthwise:
            return replace(work, in_c=work.in_c - fewer, out_c=work.out_c - less, groups=work.groups - less)
        case Conv():
            return replace(work, in_c=work.in_c - fewer, out_c=work.out_c - less)
        case Pool():
            return replace(work, channels_=work.channels_ - less)
        case _:
            return work
