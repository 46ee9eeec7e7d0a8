"""Layers and element-wise ops of a YAML workload -> the builder, their sizes checked."""

from __future__ import annotations

from math import prod
from typing import Literal

from chipmodel.model.work import Vector
from workloads.build.shapes import Value, broadcast_shape
from workloads.from_yaml import op_models as models
from workloads.from_yaml.build_context import Site, build, padding, pair, rows_across
from workloads.from_yaml.field_types import Windowed

# -- convolution, pooling, matrices ----------------------------------------------------------------


@build.register
def _(op: models.Conv, site: Site) -> tuple[Value, ...]:
    return _convolve(op, site, op.channels, op.dilation, op.groups)


@build.register
def _(op: models.DepthwiseConv, site: Site) -> tuple[Value, ...]:
    site.rank((3, 4), "[N, C, H, W] or [N, C, L]")
    channels = site.x.shape[1]
    return _convolve(op, site, channels * op.multiplier, op.dilation, channels)


@build.register
def _(op: models.TransposedConv, site: Site) -> tuple[Value, ...]:
    return _convolve(op, site, op.channels, op.dilation, op.groups, transposed=True, output_pad=op.output_pad)


def _convolve(
    op: Windowed,
    site: Site,
    channels: int,
    dilation: int | list[int],
    groups: int,
    *,
    transposed: bool = False,
    output_pad: int | list[int] = 0,
) -> tuple[Value, ...]:
    site.rank((3, 4), "[N, C, H, W] or [N, C, L]")
    value = site.builder.conv(
        site.name,
        site.x,
        channels,
        pair(op.kernel, site, "kernel"),
        stride=pair(op.stride, site, "stride"),
        pad=padding(op.pad, site),
        dilation=pair(dilation, site, "dilation"),
        groups=groups,
        bias=op.bias,
        transposed=transposed,
        output_pad=pair(output_pad, site, "output_pad"),
        outputs=site.outputs,
        weight_dtype=op.weight_dtype,
    )
    return (value,)


@build.register
def _(op: models.Pool, site: Site) -> tuple[Value, ...]:
    site.rank((3, 4), "[N, C, H, W] or [N, C, L]")
    value = site.builder.pool(
        site.name,
        site.x,
        pair(op.kernel, site, "kernel"),
        stride=None if op.stride is None else pair(op.stride, site, "stride"),
        pad=padding(op.pad, site),
        kind=op.op,
        ceil=op.ceil,
        outputs=site.outputs,
    )
    return (value,)


@build.register
def _(op: models.GlobalPool, site: Site) -> tuple[Value, ...]:
    site.rank((3, 4), "[N, C, H, W] or [N, C, L]")
    kind: Literal["max_pool", "average_pool"] = "max_pool" if "max" in op.op else "average_pool"
    return (site.builder.pool(site.name, site.x, None, kind=kind, outputs=site.outputs),)


@build.register
def _(op: models.Dense, site: Site) -> tuple[Value, ...]:
    value = site.builder.dense(
        site.name,
        site.x,
        op.features,
        bias=op.bias,
        outputs=site.outputs,
        weight_dtype=op.weight_dtype,
    )
    return (value,)


@build.register
def _(op: models.Matmul, site: Site) -> tuple[Value, ...]:
    site.same_dtypes()
    left, right = site.inputs
    if op.transpose_right:
        if len(right.shape) < 2:
            what = f"'{right.name}' has shape {list(right.shape)} and no axes to swap"
            site.refuse(what, "drop it", "transpose_right")
        right = Value(right.name, (*right.shape[:-2], right.shape[-1], right.shape[-2]), right.dtype)
    return (site.builder.matmul(site.name, left, right, outputs=site.outputs),)


@build.register
def _(op: models.Recurrent, site: Site) -> tuple[Value, ...]:
    site.rank((3,), "[steps, batch, features]")
    value = site.builder.recurrent(
        site.name,
        site.x,
        op.hidden,
        op.op,
        directions=2 if op.bidirectional else 1,
        outputs=site.outputs,
        weight_dtype=op.weight_dtype,
    )
    steps, directions, batch, hidden = value.shape
    return (site.builder.reshape(value, (steps, batch, directions * hidden)),)


@build.register
def _(op: models.Embedding, site: Site) -> tuple[Value, ...]:
    dtype = op.dtype or site.builder.dtype
    table = site.builder.weight(f"{site.name}.weight", op.rows * op.features, op.weight_dtype or dtype)
    out = Value(site.name, (*site.x.shape, op.features), dtype)
    # The NPU reads the indices and the rows that they name.
    work = Vector(out.elements, site.x.bytes + out.bytes, out.bytes, site.x.elements)
    return site.builder.emit(
        "embedding",
        site.name,
        work,
        [site.x],
        [out.shape],
        weights=[table],
        outputs=site.outputs,
        out_dtype=dtype,
        gathers=True,
    )


__all__ = ["build"]


# -- element-wise and along an axis ----------------------------------------------------------------


@build.register
def _(op: models.Unary, site: Site) -> tuple[Value, ...]:
    return (site.builder.elementwise(op.op, site.name, [site.x], in_place=op.in_place, outputs=site.outputs),)


@build.register
def _(op: models.Binary, site: Site) -> tuple[Value, ...]:
    weights: list[str] = []
    if op.constant is None and len(site.inputs) < 2:
        hint = "write in: [a, b], or give the shape of a 'constant' operand"
        site.refuse(f"{op.op} takes two or more inputs, not {len(site.inputs)}", hint, "in")
    site.same_dtypes()
    place = site.document.place((*site.path, "in" if op.constant is None else "constant"))
    shape = broadcast_shape(site.name, [v.shape for v in site.inputs], place)
    if op.constant is not None:
        if broadcast_shape(site.name, [shape, tuple(op.constant)], place) != shape:
            what = f"the constant {op.constant} is larger than the input {list(shape)}"
            site.refuse(what, "its sizes must be those of the input, or 1", "constant")
        weights.append(site.builder.weight(f"{site.name}.constant", prod(op.constant), site.x.dtype))
    value = site.builder.elementwise(
        op.op, site.name, site.inputs, weights=weights, in_place=op.in_place, outputs=site.outputs
    )
    return (value,)


@build.register
def _(op: models.Normalisation, site: Site) -> tuple[Value, ...]:
    elements, rows = _normalised(op, site)
    dtype = op.weight_dtype or site.x.dtype
    weight = site.builder.weight(f"{site.name}.weight", elements, dtype)
    value = site.builder.vector(op.op, site.name, [site.x], rows=rows, weights=[weight], outputs=site.outputs)
    return (value,)


def _normalised(op: models.Normalisation, site: Site) -> tuple[int, int]:
    """(weight elements, independent rows)"""
    shape = site.x.shape
    if op.op in ("layer_norm", "rms_norm"):
        axis = site.axis(op.axis, "axis")
        return prod(shape[axis:]) * (2 if op.op == "layer_norm" else 1), prod(shape[:axis])
    if "axis" in op.model_fields_set:
        site.refuse(f"{op.op} works on axis 1, the channels", "drop 'axis'", "axis")
    site.rank(range(2, 9), "[N, C, ...]")
    if op.op == "group_norm" and shape[1] % op.groups:
        site.refuse(f"{op.groups} groups do not divide {shape[1]} channels", "take a divisor", "groups")
    if op.op == "batch_norm":
        return 2 * shape[1], site.x.elements
    return 2 * shape[1], shape[0] * (op.groups if op.op == "group_norm" else shape[1])


@build.register
def _(op: models.Prelu, site: Site) -> tuple[Value, ...]:
    site.rank(range(2, 9), "[N, C, ...]")
    weight = site.builder.weight(f"{site.name}.weight", site.x.shape[1], op.weight_dtype or site.x.dtype)
    return (site.builder.elementwise("prelu", site.name, [site.x], weights=[weight], outputs=site.outputs),)


@build.register
def _(op: models.Along, site: Site) -> tuple[Value, ...]:
    axis = site.axis(op.axis, "axis")
    shape = site.x.shape
    rows = rows_across(shape, axis)
    if op.op == "softmax":
        return (site.builder.vector("softmax", site.name, [site.x], rows=rows, outputs=site.outputs),)
    out = Value(site.name, (*shape[:axis], *shape[axis + 1 :]) or (1,), "int32")
    return _convert("argmax", site, out, rows)


@build.register
def _(op: models.Reduce, site: Site) -> tuple[Value, ...]:
    axes = {site.axis(a, "axes", i) for i, a in enumerate(op.axes)}
    sizes = [1 if i in axes else s for i, s in enumerate(site.x.shape) if op.keep or i not in axes]
    return (site.builder.vector(op.op, site.name, [site.x], sizes or [1], outputs=site.outputs),)


@build.register
def _(op: models.Cast, site: Site) -> tuple[Value, ...]:
    out = Value(site.name, site.x.shape, op.dtype)
    return _convert("cast", site, out, out.elements)


def _convert(kind: str, site: Site, out: Value, rows: int) -> tuple[Value, ...]:
    work = Vector(site.x.elements, site.x.bytes, out.bytes, max(1, rows))
    return site.builder.emit(
        kind, site.name, work, [site.x], [out.shape], outputs=site.outputs, out_dtype=out.dtype
    )
