"""Normalisations, softmax and reductions of ONNX graphs."""

from __future__ import annotations

from math import prod

from workloads.from_onnx.fusion import fuse, is_inference_norm
from workloads.from_onnx.graph import OnnxNode
from workloads.from_onnx.lowering import MICROSOFT, OnnxLowering, axis_rows, leading, operator


@operator("BatchNormalization")
def batch_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """A batch norm that could not be fused into the op before: a scale and a shift for each channel. What can
    be fused into it, is."""
    if not is_inference_norm(low, node):
        low.builder.notes.append(
            f"{node.label}: its statistics are computed at run time; it is modelled as an op of its own"
        )
        low.vector(node, "batch_norm", rows=low.shape(node.input(0))[0])
        return
    fused = fuse(low, node.output, channel_axis=1)
    held = [*low.weights([node.input(1)]), *low.weights([node.input(2)], bias=True)]
    held += low.weights(fused.weights)
    low.vector(
        node,
        "batch_norm",
        operands=node.inputs[:1],
        outputs=[fused.output],
        weights=held,
    )


@operator("InstanceNormalization")
def instance_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise each channel of each image."""
    low.vector(node, "instance_norm", rows=prod(low.shape(node.input(0))[:2]))


@operator("GroupNormalization")
def group_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise each group of channels."""
    rows = low.shape(node.input(0))[0] * node.integer("num_groups", 1)
    low.vector(node, "group_norm", rows=rows)


@operator("GroupNorm", domain=MICROSOFT)
def group_norm_channels_last(low: OnnxLowering, node: OnnxNode) -> None:
    """Channels are the last axis, so only whole images are independent."""
    low.vector(node, "group_norm", rows=low.shape(node.input(0))[0])


@operator("LayerNormalization")
def layer_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise over the axes from ``axis`` on."""
    low.vector(node, "layer_norm", rows=leading(low.shape(node.input(0)), node.integer("axis", -1)))


@operator("RMSNormalization", "SimplifiedLayerNormalization")
@operator("SimplifiedLayerNormalization", domain=MICROSOFT)
def rms_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise over the axes from ``axis`` on, without a mean."""
    low.vector(node, "rms_norm", rows=leading(low.shape(node.input(0)), node.integer("axis", -1)))


@operator("SkipLayerNormalization", "EmbedLayerNormalization", domain=MICROSOFT)
def skip_layer_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise the sum of two operands and a bias; EmbedLayerNormalization looks up the operands first."""
    if node.op == "EmbedLayerNormalization":
        low.vector(node, "embedding", rows=prod(low.shape(node.output)[:-1]), gathers=True)
    else:
        low.vector(node, "layer_norm")


@operator("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_rms_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise the sum of two operands."""
    low.vector(node, "rms_norm")


@operator("LRN")
def local_response_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise across neighbouring channels."""
    low.vector(node, "lrn", rows=axis_rows(low.shape(node.input(0)), 1))


@operator("MeanVarianceNormalization")
def mean_variance_norm(low: OnnxLowering, node: OnnxNode) -> None:
    """Normalise over the given axes, by default batch, height and width."""
    axes = node.integers("axes") or (0, 2, 3)
    low.vector(node, "instance_norm", rows=leading(low.shape(node.input(0)), min(axes)))


@operator("LpNormalization", "Softmax", "LogSoftmax", "Hardmax", "CumSum")
@operator("QLinearSoftmax", domain=MICROSOFT)
def along_axis(low: OnnxLowering, node: OnnxNode) -> None:
    """Work along one axis; before operator set 13, softmax works over all axes from ``axis`` on."""
    kind = {
        "LpNormalization": "lp_norm",
        "CumSum": "cumsum",
        "Softmax": "softmax",
        "QLinearSoftmax": "softmax",
    }
    axis = node.integer("axis", -1)
    if node.op == "CumSum":
        axis = 0
        array = low.fact(node.input(1)).array
        axis = int(array.item()) if array is not None and array.size == 1 else 0
    elif node.op != "LpNormalization" and "axis" not in node.attributes and low.opset < 13:
        axis = 1
    rows = axis_rows(low.shape(node.input(0)), axis)
    low.vector(node, kind.get(node.op, "softmax"), rows=rows, operands=node.inputs[:1])


@operator(
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceSumSquare",
)
def reduction(low: OnnxLowering, node: OnnxNode) -> None:
    """The axes are an attribute or, in newer operator sets, an input; by default all."""
    name = node.input(1)
    array = low.fact(name).array if name else None
    axes = node.integers("axes") or (tuple(int(a) for a in array.reshape(-1)) if array is not None else ())
    x = low.shape(node.input(0))
    if not axes and node.integer("noop_with_empty_axes", 0):
        low.bind(node.output, low.value(node))
        return
    rows = leading(x, min(a % len(x) for a in axes)) if axes and x else 1
    low.vector(node, f"reduce_{node.op.removeprefix('Reduce').lower()}", rows=rows, operands=node.inputs[:1])


@operator("ArgMax", "ArgMin")
def arg_reduction(low: OnnxLowering, node: OnnxNode) -> None:
    """The index of the largest or smallest element along one axis."""
    x = low.shape(node.input(0))
    low.vector(node, node.op.lower(), rows=axis_rows(x, node.integer("axis", 0)), operands=node.inputs[:1])


@operator("TopK")
def top_k(low: OnnxLowering, node: OnnxNode) -> None:
    """Values and indices of the largest elements along one axis."""
    x = low.shape(node.input(0))
    low.vector(node, "topk", rows=axis_rows(x, node.integer("axis", -1)), operands=node.inputs[:1])
