"""The layers that words of the catalogue stand for (``workloads.zoo.layered`` says what they mean)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from chipmodel.model.attributes import AlongAxis, AxisOrder, OverAxes, PixelBlocks
from chipmodel.model.work import Vector
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Padding, Value, tensor_bytes
from workloads.zoo import layers

Letters = Mapping[str, int]
"""The numbers after letters, such as ``k`` for a kernel."""
Windowed = Callable[[ProgramBuilder, str, Value, int, Letters], Value]
Joining = Callable[[ProgramBuilder, str, Value, Sequence[Value]], Value]


def conv(net: ProgramBuilder, name: str, x: Value, channels: int, given: Letters) -> Value:
    """A convolution."""
    if given.get("m"):
        x = net.conv(f"{name}.0", x, given["m"], 1, bias=False)
        x = conv(net, f"{name}.1", x, given["m"], {**given, "m": 0, "b": 0})
        return net.conv(f"{name}.2", x, channels, 1)
    dilation, kernel = given.get("d", 1), given.get("k", 1)
    usual: Padding = dilation * (kernel // 2) if dilation > 1 else 0 if "u" in given else "same"
    kernels = (kernel, given.get("l", kernel)) if kernel else (x.shape[2], x.shape[3])
    stride = given.get("s", 1)
    return net.conv(
        name,
        x,
        channels,
        kernels if len(x.shape) == 4 else kernel,
        stride=(stride, given["x"]) if "x" in given else stride,
        pad=_pad(given, usual),
        dilation=dilation,
        groups=given.get("g", 1),
        bias="b" not in given,
    )


def _pad(given: Letters, usual: Padding) -> Padding:
    """The padding ``p``: a digit for all sides, or four for top, left, bottom and right."""
    if "p" not in given:
        return usual
    if given["p"] < 10:
        return given["p"]
    top, left, bottom, right = map(int, f"{given['p']:04}")
    return top, left, bottom, right


def up_conv(net: ProgramBuilder, name: str, x: Value, channels: int, given: Letters) -> Value:
    """A transposed convolution whose kernel is its stride."""
    kernel = given.get("k", 2)
    return net.conv(name, x, channels, kernel, stride=kernel, transposed=True)


def depthwise(net: ProgramBuilder, name: str, x: Value, _: int, given: Letters) -> Value:
    """A depthwise convolution."""
    return conv(net, name, x, x.shape[1], {"k": 3, **given, "g": x.shape[1]})


def separable(net: ProgramBuilder, name: str, x: Value, channels: int, given: Letters) -> Value:
    """A depthwise and a 1x1 convolution."""
    x = depthwise(net, f"{name}.depthwise", x, 0, given)
    return net.conv(f"{name}.pointwise", x, channels, 1)


def block(net: ProgramBuilder, name: str, x: Value, channels: int, given: Letters) -> Value:
    """Inverted residuals, the first of which has the stride."""
    for index in range(given.get("n", 1)):
        stride, own = given.get("s", 1) if index == 0 else 1, f"{name}.{index}"
        y = (_fused if "f" in given else _inverted)(net, own, (x, channels), stride, given)
        x = layers.add(net, f"{own}.add", y, x) if "chain" not in given and y.shape == x.shape else y
    return x


def _inverted(net: ProgramBuilder, own: str, ends: tuple[Value, int], stride: int, given: Letters) -> Value:
    x, channels = ends
    hidden, kernel = given.get("h", x.shape[1] * given.get("t", 1)), given.get("k", 3)
    y = net.conv(f"{own}.expand", x, hidden, 1) if hidden != x.shape[1] else x
    y = _curved(net, f"{own}.expand", y, given) if hidden != x.shape[1] else y
    around = {"p": kernel // 2} if "p" in given else {}
    y = depthwise(net, f"{own}.depthwise", y, 0, {"k": kernel, "s": stride, **around})
    y = _curved(net, f"{own}.depthwise", y, given)
    if "e" in given:
        y = layers.excited(net, own, y, layers.divisible(y.shape[1] / given["e"]))
    if "q" in given:
        middle = max(1, x.shape[1] // 4)
        y = layers.excited(net, own, y, middle, swished="b" in given, clipped="z" in given)
    return net.conv(f"{own}.project", y, channels, 1)


def _fused(net: ProgramBuilder, own: str, ends: tuple[Value, int], stride: int, given: Letters) -> Value:
    x, channels = ends
    hidden = x.shape[1] * given["t"] if "t" in given else channels
    y = _curved(net, own, net.conv(own, x, hidden, 3, stride=stride, pad="same"), given)
    return net.conv(f"{own}.project", y, channels, 1) if "t" in given else y


def _curved(net: ProgramBuilder, name: str, x: Value, given: Letters) -> Value:
    """``x`` after a hard swish (``a``) or a swish (``b``), where there is one."""
    if "a" in given:
        return net.elementwise("hard_swish", f"{name}.hard_swish", [x])
    return layers.swish(net, name, x) if "b" in given else x


def _pool(kind: Literal["max_pool", "average_pool"]) -> Windowed:
    def pool(net: ProgramBuilder, name: str, x: Value, kernel: int, given: Letters) -> Value:
        if not kernel:
            return net.pool(name, x, None, kind=kind)
        kernels, stride = (kernel, given.get("l", kernel)), given.get("s")
        return net.pool(
            name,
            x,
            kernels,
            stride=None if stride is None else (stride, min(stride, kernels[1])),
            pad=_pad(given, 0 if "u" in given or "c" in given else "same"),
            kind=kind,
            ceil="c" in given,
        )

    return pool


def flat(net: ProgramBuilder, _: str, x: Value, __: int) -> Value:
    """The image as one row."""
    return net.flatten(x)


def rows(net: ProgramBuilder, _: str, x: Value, numbers: int) -> Value:
    """The bytes as rows of so many numbers, by default as many as channels."""
    return net.reshape(x, (1, -1, numbers or x.shape[1]))


def turned(net: ProgramBuilder, name: str, x: Value, _: int) -> Value:
    """The channels of a pixel side by side."""
    shape = (x.shape[0], *x.shape[2:], x.shape[1])
    return net.vector("transpose", name, [x], shape, attributes=AxisOrder((0, 2, 3, 1)))


def dense(net: ProgramBuilder, name: str, x: Value, features: int, given: Letters) -> Value:
    """A dense layer of the flattened tensor."""
    return net.dense(name, net.flatten(x) if len(x.shape) > 2 else x, features, bias="b" not in given)


def lrn(net: ProgramBuilder, name: str, x: Value, _: int) -> Value:
    """A local response normalisation, in one piece."""
    return net.vector("lrn", name, [x], rows=1)


def crelu(net: ProgramBuilder, name: str, x: Value, _: int) -> Value:
    """x and -x joined along the channels; the ReLU is fused."""
    batch, channels, height, width = x.shape
    shape, along = (batch, 2 * channels, height, width), AlongAxis(1, channels)
    return net.vector("crelu", name, [x], shape, rows=height, attributes=along)


def total(net: ProgramBuilder, name: str, x: Value, _: int) -> Value:
    """The sum over the numbers of a row."""
    return net.vector("reduce_sum", name, [x], (1, 1), rows=1, attributes=OverAxes((1,)))


def half(net: ProgramBuilder, name: str, x: Value, _: int) -> Value:
    """The second half of the channels."""
    work = x.shape[1] // 2
    return net.vector("slice", name, [x], (x.shape[0], work, *x.shape[2:]), rows=x.shape[2])


def shuffle(net: ProgramBuilder, name: str, x: Value, size: int) -> Value:
    """Channels become blocks of ``size`` x ``size`` pixels."""
    batch, channels, rows, columns = x.shape
    shape = (batch, channels // size**2, rows * size, columns * size)
    return net.vector("depth_to_space", name, [x], shape, rows=rows, attributes=PixelBlocks(size))


def function(net: ProgramBuilder, kind: str, name: str, x: Value) -> Value:
    """A function of each element, or a softmax."""
    if kind == "softmax":
        return net.softmax(name, x)
    if kind == "swish":
        return layers.swish(net, name, x)
    if kind == "prelu":
        slopes = net.weight(f"{name}.slope", x.shape[1])
        return net.elementwise(kind, f"{name}.prelu", [x], weights=[slopes])
    weights = [net.weight(f"{name}.scales", 2 * x.shape[1])] if kind == "batch_norm" else []
    return net.elementwise(kind, name, [x], weights=weights)


def cast(net: ProgramBuilder, name: str, x: Value, dtype: str) -> Value:
    """``x`` in another type."""
    if x.dtype == dtype:
        return x
    work = Vector(x.elements, x.bytes, tensor_bytes(x.shape, dtype), rows=x.elements)
    return net.emit("cast", name, work, [x], [x.shape], out_dtype=dtype)[0]


def _concat(axis: int) -> Joining:
    return lambda net, name, x, others: net.concat(name, [x, *others], axis)


def _add(net: ProgramBuilder, name: str, x: Value, others: Sequence[Value]) -> Value:
    return layers.add(net, name, x, others[0])


def _skip(net: ProgramBuilder, name: str, x: Value, others: Sequence[Value]) -> Value:
    return layers.add(net, name, others[0], x) if x.shape == others[0].shape else x


def _elementwise(kind: str) -> Joining:
    return lambda net, name, x, others: net.elementwise(kind, name, [x, *others])


def matched(net: ProgramBuilder, name: str, x: Value, others: Sequence[Value]) -> Value:
    """``x`` in the shape of another, by a 1x1 convolution where they differ."""
    like = others[0].shape
    if x.shape == like:
        return x
    return net.conv(name, x, like[1], 1, stride=-(-x.shape[2] // like[2]), pad="same")


WINDOWED: Mapping[str, Windowed] = {
    "conv": conv,
    "up-conv": up_conv,
    "dw": depthwise,
    "sep": separable,
    "block": block,
    "dense": dense,
    "max": _pool("max_pool"),
    "avg": _pool("average_pool"),
    "mean": _pool("average_pool"),
}
"""Layers that take a number, and others after letters."""
SIZED: Mapping[str, Callable[[ProgramBuilder, str, Value, int], Value]] = {
    "flat": flat,
    "rows": rows,
    "turn": turned,
    "to": layers.adaptive_pool,
    "excite": layers.excited,
    "widen": layers.pad_channels,
    "interleave": layers.shuffle_channels,
    "lrn": lrn,
    "crelu": crelu,
    "sum": total,
    "half": half,
    "shuffle": shuffle,
}
"""Layers that take one number or none."""
JOINS: Mapping[str, Joining] = {
    "concat": _concat(1),
    "concat2": _concat(2),
    "concat3": _concat(3),
    "add": _add,
    "skip": _skip,
    "mul": _elementwise("mul"),
    "plus": _elementwise("add"),
    "less": _elementwise("sub"),
    "largest": _elementwise("max"),
    "match": matched,
}
"""What the tensor so far and others become."""
