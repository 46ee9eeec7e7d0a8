"""Build the layers and element-wise ops of a YAML workload, with checks of their sizes."""

from __future__ import annotations

from math import prod
from typing import Literal

from chipmodel.model.attributes import AlongAxis, Attributes, OverAxes, OverGroups
from chipmodel.model.work import Vector
from workloads.build.shapes import Value, broadcast_shape, rows_across
from workloads.from_yaml import op_models as models
from workloads.from_yaml.build_context import BuildContext, build_op, padding, pair
from workloads.from_yaml.field_types import WindowedOp

# -- convolution, pooling, matrices ----------------------------------------------------------------


@build_op.register
def _(op: models.ConvOp | models.TransposedConvOp, ctx: BuildContext) -> Value:
    return _convolve(op, ctx, op.channels, op.groups)


@build_op.register
def _(op: models.DepthwiseConvOp, ctx: BuildContext) -> Value:
    ctx.rank((3, 4), "[N, C, H, W] or [N, C, L]")
    channels = ctx.x.shape[1]
    return _convolve(op, ctx, channels * op.multiplier, channels)


def _convolve(op: WindowedOp, ctx: BuildContext, channels: int, groups: int) -> Value:
    ctx.rank((3, 4), "[N, C, H, W] or [N, C, L]")
    transposed = isinstance(op, models.TransposedConvOp)
    output_pad = pair(op.output_pad, ctx, "output_pad") if isinstance(op, models.TransposedConvOp) else 0
    return ctx.builder.conv(
        ctx.name,
        ctx.x,
        channels,
        pair(op.kernel, ctx, "kernel"),
        stride=pair(op.stride, ctx, "stride"),
        pad=padding(op.pad, ctx),
        dilation=pair(op.dilation, ctx, "dilation"),
        groups=groups,
        bias=op.bias,
        transposed=transposed,
        output_pad=output_pad,
        outputs=ctx.outputs,
        weight_dtype=op.weight_dtype,
    )


@build_op.register
def _(op: models.PoolOp, ctx: BuildContext) -> Value:
    ctx.rank((3, 4), "[N, C, H, W] or [N, C, L]")
    return ctx.builder.pool(
        ctx.name,
        ctx.x,
        pair(op.kernel, ctx, "kernel"),
        stride=None if op.stride is None else pair(op.stride, ctx, "stride"),
        pad=padding(op.pad, ctx),
        kind=op.op,
        ceil=op.ceil,
        outputs=ctx.outputs,
    )


@build_op.register
def _(op: models.GlobalPoolOp, ctx: BuildContext) -> Value:
    ctx.rank((3, 4), "[N, C, H, W] or [N, C, L]")
    kind: Literal["max_pool", "average_pool"] = "max_pool" if "max" in op.op else "average_pool"
    return ctx.builder.pool(ctx.name, ctx.x, None, kind=kind, outputs=ctx.outputs)


@build_op.register
def _(op: models.DenseOp, ctx: BuildContext) -> Value:
    return ctx.builder.dense(
        ctx.name, ctx.x, op.features, bias=op.bias, outputs=ctx.outputs, weight_dtype=op.weight_dtype
    )


@build_op.register
def _(op: models.MatmulOp, ctx: BuildContext) -> Value:
    ctx.same_dtypes()
    left, right = ctx.inputs
    if op.transpose_right and len(right.shape) < 2:
        what = f"'{right.name}' has shape {list(right.shape)} and no axes to swap"
        ctx.refuse(what, "drop it", "transpose_right")
    return ctx.builder.matmul(ctx.name, left, right, transpose_right=op.transpose_right, outputs=ctx.outputs)


@build_op.register
def _(op: models.RecurrentOp, ctx: BuildContext) -> Value:
    ctx.rank((3,), "[steps, batch, features]")
    value = ctx.builder.recurrent(
        ctx.name,
        ctx.x,
        op.hidden,
        op.op,
        directions=2 if op.bidirectional else 1,
        outputs=ctx.outputs,
        weight_dtype=op.weight_dtype,
    )
    steps, directions, batch, hidden = value.shape
    return ctx.builder.reshape(value, (steps, batch, directions * hidden))


@build_op.register
def _(op: models.EmbeddingOp, ctx: BuildContext) -> tuple[Value, ...]:
    dtype = op.dtype or ctx.builder.dtype
    table = ctx.builder.weight(f"{ctx.name}.weight", op.rows * op.features, op.weight_dtype or dtype)
    out = Value(ctx.name, (*ctx.x.shape, op.features), dtype)
    # The NPU reads the indices and the rows that they name.
    rows = AlongAxis(0, op.rows)
    work = Vector(out.elements, ctx.x.bytes + out.bytes, out.bytes, ctx.x.elements, attributes=rows)
    return ctx.emit("embedding", work, out.shape, weights=[table], out_dtype=dtype, gathers=True)


# -- element-wise and along an axis ----------------------------------------------------------------


@build_op.register
def _(op: models.UnaryOp, ctx: BuildContext) -> Value:
    return ctx.builder.elementwise(op.op, ctx.name, [ctx.x], in_place=op.in_place, outputs=ctx.outputs)


@build_op.register
def _(op: models.BinaryOp, ctx: BuildContext) -> Value:
    weights: list[str] = []
    if op.constant is None and len(ctx.inputs) < 2:
        hint = "write in: [a, b], or give the shape of a 'constant' operand"
        ctx.refuse(f"{op.op} takes two or more inputs, not {len(ctx.inputs)}", hint, "in")
    ctx.same_dtypes()
    place = ctx.document.place((*ctx.path, "in" if op.constant is None else "constant"))
    shape = broadcast_shape(ctx.name, [v.shape for v in ctx.inputs], place)
    if op.constant is not None:
        if broadcast_shape(ctx.name, [shape, tuple(op.constant)], place) != shape:
            what = f"the constant {op.constant} is larger than the input {list(shape)}"
            ctx.refuse(what, "its sizes must be those of the input, or 1", "constant")
        weights.append(ctx.builder.weight(f"{ctx.name}.constant", prod(op.constant), ctx.x.dtype))
    return ctx.builder.elementwise(
        op.op, ctx.name, ctx.inputs, weights=weights, in_place=op.in_place, outputs=ctx.outputs
    )


@build_op.register
def _(op: models.NormalisationOp, ctx: BuildContext) -> Value:
    elements, rows, attributes = _normalised(op, ctx)
    dtype = op.weight_dtype or ctx.x.dtype
    weight = ctx.builder.weight(f"{ctx.name}.weight", elements, dtype)
    return ctx.vector(op.op, rows=rows, weights=[weight], attributes=attributes)


def _normalised(op: models.NormalisationOp, ctx: BuildContext) -> tuple[int, int, Attributes]:
    """(weight elements, independent rows, what is normalised together)"""
    shape = ctx.x.shape
    if op.op in ("layer_norm", "rms_norm"):
        axis = ctx.axis(op.axis, "axis")
        over = OverAxes(tuple(range(axis, len(shape))))
        return prod(shape[axis:]) * (2 if op.op == "layer_norm" else 1), prod(shape[:axis]), over
    if "axis" in op.model_fields_set:
        ctx.refuse(f"{op.op} works on axis 1, the channels", "drop 'axis'", "axis")
    ctx.rank(range(2, 9), "[N, C, ...]")
    if op.op == "group_norm" and shape[1] % op.groups:
        ctx.refuse(f"{op.groups} groups do not divide {shape[1]} channels", "take a divisor", "groups")
    if op.op == "batch_norm":
        return 2 * shape[1], ctx.x.elements, OverGroups(shape[1])
    groups = op.groups if op.op == "group_norm" else shape[1]
    return 2 * shape[1], shape[0] * groups, OverGroups(groups)


@build_op.register
def _(op: models.PreluOp, ctx: BuildContext) -> Value:
    ctx.rank(range(2, 9), "[N, C, ...]")
    weight = ctx.builder.weight(f"{ctx.name}.weight", ctx.x.shape[1], op.weight_dtype or ctx.x.dtype)
    return ctx.builder.elementwise("prelu", ctx.name, [ctx.x], weights=[weight], outputs=ctx.outputs)


@build_op.register
def _(op: models.AlongAxisOp, ctx: BuildContext) -> Value | tuple[Value, ...]:
    axis = ctx.axis(op.axis, "axis")
    shape = ctx.x.shape
    if op.op == "softmax":
        return ctx.builder.softmax(ctx.name, ctx.x, axis, ctx.outputs)
    out = Value(ctx.name, (*shape[:axis], *shape[axis + 1 :]) or (1,), "int32")
    return _convert("argmax", ctx, out, rows_across(shape, axis), AlongAxis(axis, shape[axis]))


@build_op.register
def _(op: models.ReduceOp, ctx: BuildContext) -> Value:
    axes = {ctx.axis(a, "axes", i) for i, a in enumerate(op.axes)}
    sizes = [1 if i in axes else s for i, s in enumerate(ctx.x.shape) if op.keep or i not in axes]
    over = OverAxes(tuple(sorted(axes)))
    return ctx.vector(op.op, sizes or [1], attributes=over)


@build_op.register
def _(op: models.CastOp, ctx: BuildContext) -> tuple[Value, ...]:
    out = Value(ctx.name, ctx.x.shape, op.dtype)
    return _convert("cast", ctx, out, out.elements)


def _convert(
    kind: str, ctx: BuildContext, out: Value, rows: int, attributes: Attributes | None = None
) -> tuple[Value, ...]:
    work = Vector(ctx.x.elements, ctx.x.bytes, out.bytes, max(1, rows), attributes=attributes)
    return ctx.emit(kind, work, out.shape, out_dtype=out.dtype)
