"""Operators of ONNX graphs that move bytes and compute little or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import cast, get_args

from chipmodel.model.attributes import (
    Attributes,
    AxisOrder,
    CornerRule,
    Margins,
    OverAxes,
    PixelBlocks,
    ResizeMode,
    Scaling,
    SliceRanges,
)
from workloads.from_onnx.graph import OnnxNode, unfit
from workloads.from_onnx.lowering import MICROSOFT, OnnxLowering, along_axis, axis_rows, leading, operator
from workloads.from_onnx.operator_table import op_kind, operators
from workloads.from_onnx.padding import pad_amounts


@operator("Concat")
def concat(low: OnnxLowering, node: OnnxNode) -> None:
    """Constants among the parts (a class token) are weights; empty parts (an empty cache) are left out."""
    axis = node.integer("axis", 0)
    parts = [name for name in node.inputs if low.fact(name).elements]
    if len(parts) == 1:
        low.bind(node.output, low.named(node, parts[0]))
        return
    held = [low.weight(name) for name in parts if low.is_constant(name)]
    rows = axis_rows(low.shape(node.output), axis)
    along = along_axis(low.shape(node.output), axis)
    low.vector(node, "concat", rows=rows, operands=parts, weights=held, attributes=along)


@operator("Split")
def split(low: OnnxLowering, node: OnnxNode) -> None:
    """All pieces that are read are copied."""
    rows = axis_rows(low.shape(node.input(0)), node.integer("axis", 0))
    along = along_axis(low.shape(node.input(0)), node.integer("axis", 0))
    low.vector(node, "split", rows=rows, operands=node.inputs[:1], moves=True, attributes=along)


@operator("Slice")
def slice_(low: OnnxLowering, node: OnnxNode) -> None:
    """Only the output's elements are read."""
    _reshaping(low, node, "slice", _ranges(low, node))


@operator("Pad")
def pad(low: OnnxLowering, node: OnnxNode) -> None:
    """The whole input is copied."""
    amounts = pad_amounts(low.view, node)
    _reshaping(low, node, "pad", Margins(amounts.before) if amounts else None)


@operator("Expand", "Tile", "Resize", "Upsample")
def repeat(low: OnnxLowering, node: OnnxNode) -> None:
    """Rows are repeated or interpolated along some axes."""
    if node.op in ("Resize", "Upsample"):
        _reshaping(low, node, "resize", _scaling(node))
    else:
        _reshaping(low, node, node.op.lower(), None)


_RULES: Mapping[str, CornerRule] = {
    **dict.fromkeys(("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric"), "half-pixel"),
    "align_corners": "align-corners",
    "asymmetric": "asymmetric",
}


def _scaling(node: OnnxNode) -> Scaling | None:
    """How a resize takes its inputs; None for a mode that ONNX does not have."""
    mode = node.text("mode", "nearest")
    rule = node.text("coordinate_transformation_mode", "half_pixel" if node.op == "Resize" else "asymmetric")
    if mode not in get_args(ResizeMode):
        return None
    rounded = node.text("nearest_mode", "round" if node.op == "Resize" else "floor") != "floor"
    # Other inputs say what is cropped (tf_crop_and_resize); against aliases an output blends more inputs.
    corners = "other" if node.integer("antialias", 0) else _RULES.get(rule, "other")
    return Scaling(cast("ResizeMode", mode), corners, rounded or mode != "nearest")


def _ranges(low: OnnxLowering, node: OnnxNode) -> SliceRanges | None:
    """First indices and steps of a slice; None where they are computed."""
    x = low.shape(node.input(0))
    given = node.integers("starts") or low.view.integers(node.input(1))
    if given is None:
        return None
    axes = node.integers("axes") or low.view.integers(node.input(3))
    every = node.integers("steps") or low.view.integers(node.input(4))
    starts, steps = [0] * len(x), [1] * len(x)
    for place, start in enumerate(given):
        axis = (axes[place] if axes else place) % len(x)
        steps[axis] = every[place] if every else 1
        least = start + x[axis] if start < 0 else start
        starts[axis] = min(max(least, 0), x[axis] - (steps[axis] < 0))
    return SliceRanges(tuple(starts), tuple(steps))


def _reshaping(low: OnnxLowering, node: OnnxNode, kind: str, attributes: Attributes | None) -> None:
    """Rows are the axes before the first one whose size changes; without a change it is a view."""
    x, out = low.shape(node.input(0)), low.shape(node.output)
    if x == out:
        low.bind(node.output, low.value(node))
        return
    if attributes is None:
        changed = (axis for axis, (a, b) in enumerate(zip(x, out, strict=False)) if a != b)
        attributes = OverAxes(tuple(changed))
    low.vector(
        node,
        kind,
        rows=_common(x, out),
        operands=node.inputs[:1],
        moves=kind == "slice",
        attributes=attributes,
    )


def _common(x: Sequence[int], out: Sequence[int]) -> int:
    if len(x) != len(out):
        return 1
    changed = [axis for axis, (before, after) in enumerate(zip(x, out, strict=True)) if before != after]
    return axis_rows(x, changed[0]) if changed[1:] == [] else leading(x, changed[0])


@operator("Transpose")
def transpose(low: OnnxLowering, node: OnnxNode) -> None:
    """Every byte is moved."""
    x = low.shape(node.input(0))
    order = node.integers("perm") or tuple(reversed(range(len(x))))
    if sorted(order) != [*range(len(x))]:
        raise unfit(node, f"attribute perm is {list(order)} for {len(x)} axes")
    low.vector(node, "transpose", rows=_fixed_rows(x, order), attributes=AxisOrder(tuple(order)))


def _fixed_rows(x: Sequence[int], order: Sequence[int]) -> int:
    """Rows by the leading axes that stay; where the last two stay (a channel shuffle), image rows."""
    last = len(x) - 1
    fixed = next(place for place, axis in enumerate(order) if place != axis)
    if len(x) > 3 and fixed > 0 and tuple(order[-2:]) == (last - 1, last):
        return x[0] * x[-2]
    return prod(x[:fixed])


@operator("DepthToSpace", "SpaceToDepth")
def blocks(low: OnnxLowering, node: OnnxNode) -> None:
    """Blocks of pixels moved to channels, or back."""
    smaller = min(low.shape(node.input(0))[2], low.shape(node.output)[2])
    blocks = PixelBlocks(node.integer("blocksize", 1))
    low.vector(node, op_kind(node.op), rows=low.shape(node.output)[0] * smaller, attributes=blocks)


@operator("Gather", "GatherElements", "GatherND")
def gather(low: OnnxLowering, node: OnnxNode) -> None:
    """The op reads only as many bytes of its table, weights or an activation, as it writes."""
    data, indices = node.input(0), node.input(1)
    if low.is_constant(data):
        operands, table = [indices], [low.weight(data)]
        rows = prod(low.shape(indices)) if node.op == "Gather" else 1
        along = along_axis(low.shape(data), node.integer("axis", 0))
        low.vector(
            node, "gather", rows=rows, operands=operands, weights=table, gathers=True, attributes=along
        )
        return
    rows = leading(low.shape(data), node.integer("axis", 0)) if node.op == "Gather" else 1
    along = along_axis(low.shape(data), node.integer("axis", 0)) if node.op == "Gather" else None
    operands = [data, *_computed(low, [indices])]
    low.vector(node, "gather", rows=rows, operands=operands, moves=True, attributes=along)


@operator("GatherBlockQuantized", domain=MICROSOFT)
def gather_blocked(low: OnnxLowering, node: OnnxNode) -> None:
    """Rows of a table of 4 or 8 bits, whose blocks have a scale and a zero point each."""
    table = low.weights([node.input(0), *node.inputs[2:]])
    low.vector(
        node,
        "gather",
        rows=prod(low.shape(node.input(1))),
        operands=node.inputs[1:2],
        weights=table,
        gathers=True,
        attributes=along_axis(low.shape(node.input(0)), node.integer("gather_axis", 0)),
    )


def _computed(low: OnnxLowering, names: Sequence[str]) -> list[str]:
    """The names that are no constants: constant indices are part of the commands."""
    return [name for name in names if not low.is_constant(name)]


@operator(*operators("whole"))
def scatter(low: OnnxLowering, node: OnnxNode) -> None:
    """Any output element may depend on any input element, so no rows are independent."""
    operands = [node.input(0), *node.inputs[1:]]
    low.vector(node, node.op.lower(), rows=1, operands=operands)
