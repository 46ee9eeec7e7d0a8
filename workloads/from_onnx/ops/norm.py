"""Normalisations, softmax and reductions of ONNX graphs."""

from __future__ import annotations

from math import prod
from typing import Literal

from chipmodel.model.attributes import ChannelWindow, OverGroups
from workloads.from_onnx.fusion import fuse, is_inference_norm
from workloads.from_onnx.graph import OnnxNode, unfit
from workloads.from_onnx.lowering import (
    MICROSOFT,
    OnnxLowering,
    along_axis,
    axes_from,
    axis_rows,
    leading,
    operator,
    over_axes,
)
from workloads.from_onnx.operator_table import op_kind, operators


@operator("BatchNormalization")
def batch_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """A batch norm that was not fused into the op before: scale and shift by channel; others fuse into it."""
    if not is_inference_norm(low, node):
        low.builder.notes.append(
            f"{node.label}: its statistics are computed at run time; it is modelled as an op of its own"
        )
        low.vector(node, "batch_norm", rows=1)
        return
    fused = fuse(low, node.output, channel_axis=1)
    held = [*low.weights([node.input(1)]), *low.weights([node.input(2)], bias=True)]
    held += low.weights(fused.weights)
    low.vector(node, "batch_norm", operands=node.inputs[:1], outputs=[fused.output], weights=held)


@operator("InstanceNormalization")
def instance_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise each channel of each image."""
    x = low.shape(node.input(0))
    low.vector(node, "instance_norm", rows=prod(x[:2]), attributes=OverGroups(x[1]))


@operator("GroupNormalization")
def group_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise each group of channels."""
    groups = node.integer("num_groups", 1)
    if groups < 1:
        raise unfit(node, f"attribute num_groups is {groups}", "it must be at least 1")
    rows = low.shape(node.input(0))[0] * groups
    low.vector(node, "group_norm", rows=rows, attributes=OverGroups(groups))


@operator("GroupNorm", domain=MICROSOFT)
def group_norm_channels_last(low: OnnxLowering, node: OnnxNode) -> None:
    """Channels are the last axis, so only whole images are independent."""
    x = low.shape(node.input(0))
    low.vector(node, "group_norm", rows=x[0], attributes=axes_from(x, 1))


@operator("LayerNormalization", "RMSNormalization", "SimplifiedLayerNormalization")
@operator("SimplifiedLayerNormalization", domain=MICROSOFT)
def norm_over_axes(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise over the axes from ``axis`` on or, in a norm that was joined from its pieces, over others.

    An RMS norm leaves the mean in.
    """
    kind = "layer_norm" if node.op == "LayerNormalization" else "rms_norm"
    x, axis, others = low.shape(node.input(0)), node.integer("axis", -1), node.integers("axes")
    attributes = over_axes(x, others) if others else axes_from(x, axis)
    rows = axis_rows(x, others[0]) if len(others) == 1 else leading(x, axis)
    low.vector(node, kind, rows=rows, attributes=attributes)


@operator("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def norm_of_sum(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise the sum of two operands, and of a bias where there is one."""
    kind = "layer_norm" if node.op == "SkipLayerNormalization" else "rms_norm"
    low.vector(node, kind, attributes=axes_from(low.shape(node.input(0)), -1))


@operator("EmbedLayerNormalization", domain=MICROSOFT)
def embedding(low: OnnxLowering, node: OnnxNode) -> None:
    """Look up words, places and types, and normalise their sum."""
    low.vector(node, "embedding", rows=prod(low.shape(node.output)[:-1]), gathers=True)


@operator("LRN")
def local_response_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise across neighbouring channels."""
    x = low.shape(node.input(0))
    low.vector(node, "lrn", rows=axis_rows(x, 1), attributes=ChannelWindow(node.integer("size", 1)))


@operator("MeanVarianceNormalization")
def mean_variance_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise over the given axes, by default batch, height and width."""
    axes = node.integers("axes") or (0, 2, 3)
    x = low.shape(node.input(0))
    low.vector(node, "instance_norm", rows=leading(x, min(axes)), attributes=over_axes(x, axes))


@operator("LpNormalization", "Softmax", "LogSoftmax", "Hardmax", "CumSum")
def work_along_axis(low: OnnxLowering, node: OnnxNode) -> None:
    """Work along one axis; before operator set 13, softmax works over all axes from ``axis`` on."""
    axis = node.integer("axis", -1)
    if node.op == "CumSum":
        axis = 0
        array = low.fact(node.input(1)).array
        axis = int(array.item()) if array is not None and array.size == 1 else 0
    elif node.op != "LpNormalization" and "axis" not in node.attributes and low.opset < 13:
        axis = 1
    x = low.shape(node.input(0))
    old = axis == 1 and len(x) > 2 and "axis" not in node.attributes and low.opset < 13
    attributes = axes_from(x, 1) if old else along_axis(x, axis)
    low.vector(
        node, op_kind(node.op), rows=axis_rows(x, axis), operands=node.inputs[:1], attributes=attributes
    )


@operator(*operators("reduction"))
def reduction(low: OnnxLowering, node: OnnxNode) -> None:
    """The axes are an attribute or, in newer operator sets, an input; by default all. A mean or maximum over
    height and width is global pooling."""
    axes = node.integers("axes") or low.view.integers(node.input(1)) or ()
    x = low.shape(node.input(0))
    if not axes and node.integer("noop_with_empty_axes", 0):
        low.bind(node.output, low.value(node))
        return
    if node.op in ("ReduceMean", "ReduceMax") and len(x) == 4 and {a % 4 for a in axes} == {2, 3}:
        kind: Literal["max_pool", "average_pool"] = "max_pool" if node.op == "ReduceMax" else "average_pool"
        pooled = low.builder.pool(node.name, low.value(node), None, kind=kind, outputs=[node.output])
        low.bind(node.output, pooled)
        return
    rows = leading(x, min(a % len(x) for a in axes)) if axes and x else 1
    over = over_axes(x, axes or range(len(x)))
    reduced = f"reduce_{node.op.removeprefix('Reduce').lower()}"
    low.vector(node, reduced, rows=rows, operands=node.inputs[:1], attributes=over)


@operator("ArgMax", "ArgMin", "TopK")
def search(low: OnnxLowering, node: OnnxNode) -> None:
    """The largest or smallest elements along one axis, or the index of one."""
    x = low.shape(node.input(0))
    axis = node.integer("axis", -1 if node.op == "TopK" else 0)
    rows, along = axis_rows(x, axis), along_axis(x, axis)
    low.vector(node, node.op.lower(), rows=rows, operands=node.inputs[:1], attributes=along)
