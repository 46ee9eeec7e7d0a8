"""Swin-T, CoaT, SegFormer, RetinaNet and the decoder of Whisper-tiny, shrunken: the same ops in the same
order as exporters write them, with few channels, tokens and blocks."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.workloads.from_onnx.support_models import Constants, ints, model, node

INT64 = 7


class NetWriter:
    """Nodes and constants of a model. Every method appends nodes and gives the name of what they make."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(node(kind, " ".join(inputs), name, **attributes))
        return name

    def several(self, kind: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """An op with several outputs."""
        names = [f"{kind}{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(node(kind, " ".join(inputs), " ".join(names), **attributes))
        return names

    def constant(self, value: float | NDArray[Any]) -> str:
        """An array as it is, a number as float32."""
        name = f"constant{len(self.constants)}"
        self.constants[name] = np.asarray(value, np.float32) if isinstance(value, int | float) else value
        return name

    def weight(self, *shape: int) -> str:
        """A weight unlike all others, so that none are shared."""
        return self.constant(np.full(shape, len(self.constants) + 1, np.float32))

    def linear(self, x: str, inner: int, outer: int, bias: bool = True) -> str:
        made = self.op("MatMul", x, self.weight(inner, outer))
        return self.op("Add", self.weight(outer), made) if bias else made

    def norm(self, x: str, channels: int) -> str:
        return self.op("LayerNormalization", x, self.weight(channels), self.weight(channels), axis=-1)

    def gelu(self, x: str) -> str:
        """As exporters write it in operator sets that have none."""
        scaled = self.op("Div", x, self.constant(2**0.5))
        one = self.op("Add", self.op("Erf", scaled), self.constant(1.0))
        return self.op("Mul", self.op("Mul", x, one), self.constant(0.5))

    def mlp(self, x: str, channels: int) -> str:
        return self.linear(self.gelu(self.linear(x, channels, 4 * channels)), 4 * channels, channels)

    def conv(self, x: str, inner: int, outer: int, kernel: int, stride: int = 1, groups: int = 1) -> str:
        pad = 0 if kernel == stride else kernel // 2
        w, b = self.weight(outer, inner // groups, kernel, kernel), self.weight(outer)
        sizes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
        return self.op("Conv", x, w, b, group=groups, **sizes)

    def reshape(self, x: str, *shape: int) -> str:
        return self.op("Reshape", x, self.constant(ints(*shape)))

    def transpose(self, x: str, *order: int) -> str:
        return self.op("Transpose", x, perm=list(order))

    def slice(self, x: str, axis: int, start: int, stop: int, step: int = 1) -> str:
        ranges = [self.constant(ints(each)) for each in (start, stop, axis, step)]
        return self.op("Slice", x, *ranges)

    def roll(self, x: str, axis: int, shift: int) -> str:
        """The first ``shift`` indices of an axis moved to its end."""
        rest, first = self.slice(x, axis, shift, 1 << 30), self.slice(x, axis, 0, shift)
        return self.op("Concat", rest, first, axis=axis)

    def tokens(self, image: str, channels: int, count: int) -> str:
        """Pixels as rows of a matrix."""
        return self.transpose(self.reshape(image, 1, channels, count), 0, 2, 1)

    def image(self, tokens: str, channels: int, height: int, width: int) -> str:
        return self.reshape(self.transpose(tokens, 0, 2, 1), 1, channels, height, width)

    def heads(self, x: str, batch: int, count: int, heads: int, size: int) -> str:
        return self.transpose(self.reshape(x, batch, count, heads, size), 0, 2, 1, 3)

    def joined(self, x: str, batch: int, count: int, channels: int) -> str:
        return self.reshape(self.transpose(x, 0, 2, 1, 3), batch, count, channels)

    def attention(self, q: str, k: str, v: str, size: int, added: Sequence[str] = ()) -> str:
        """Of each head; ``added`` to the scores."""
        scaled = self.op("Mul", q, self.constant(size**-0.5))
        scores = self.op("MatMul", scaled, self.transpose(k, 0, 1, 3, 2))
        for each in added:
            scores = self.op("Add", scores, each)
        return self.op("MatMul", self.op("Softmax", scores, axis=-1), v)

    def model(self, inputs: Mapping[str, Sequence[int]], *outputs: str, types: Any = None) -> Any:
        constants: Constants = self.constants
        return model(self.nodes, inputs, " ".join(outputs), constants, types=types)


def _swin_block(net: NetWriter, x: str, side: int, channels: int, shift: int) -> str:
    window, heads = 4, 2
    across, count, size = side // window, window * window, channels // heads
    n = net.norm(x, channels)
    for axis in (1, 2) if shift else ():
        n = net.roll(n, axis, shift)
    n = net.transpose(net.reshape(n, 1, across, window, across, window, channels), 0, 1, 3, 2, 4, 5)
    n = net.linear(net.reshape(n, across * across, count, channels), channels, 3 * channels)
    n = net.transpose(net.reshape(n, across * across, count, 3, heads, size), 2, 0, 3, 1, 4)
    q, k, v = (net.op("Gather", n, net.constant(np.array(i)), axis=0) for i in range(3))
    added = [net.weight(1, heads, count, count)]
    added += [net.weight(across * across, 1, count, count)] if shift else []
    mixed = net.joined(net.attention(q, k, v, size, added), across * across, count, channels)
    mixed = net.linear(mixed, channels, channels)
    mixed = net.transpose(net.reshape(mixed, 1, across, across, window, window, channels), 0, 1, 3, 2, 4, 5)
    mixed = net.reshape(mixed, 1, side, side, channels)
    for axis in (1, 2) if shift else ():
        mixed = net.roll(mixed, axis, side - shift)
    x = net.op("Add", x, mixed)
    return net.op("Add", x, net.mlp(net.norm(x, channels), channels))


def swin() -> Any:
    """Windows, shifted windows, and four neighbouring pixels merged to one between two stages."""
    net, side, channels = NetWriter(), 16, 16
    x = net.norm(net.transpose(net.conv("x", 3, channels, 4, 4), 0, 2, 3, 1), channels)
    for shift in (0, 2):
        x = _swin_block(net, x, side, channels, shift)
    parts: list[str] = []
    for right in (0, 1):
        for down in (0, 1):
            parts.append(net.slice(net.slice(x, 1, down, 1 << 30, 2), 2, right, 1 << 30, 2))
    x = net.norm(net.op("Concat", *parts, axis=3), 4 * channels)
    side, channels = side // 2, 2 * channels
    x = net.linear(x, 2 * channels, channels, bias=False)
    for shift in (0, 2):
        x = _swin_block(net, x, side, channels, shift)
    pooled = net.op("GlobalAveragePool", net.transpose(net.norm(x, channels), 0, 3, 1, 2))
    return net.model({"x": [1, 3, 64, 64]}, net.linear(net.op("Flatten", pooled), channels, 10))


def _coat_block(net: NetWriter, x: str, side: int, channels: int) -> str:
    heads, count = 2, side * side
    size = channels // heads
    first, rest = net.slice(x, 1, 0, 1), net.slice(x, 1, 1, 1 << 30)
    image = net.image(rest, channels, side, side)
    image = net.op("Add", net.conv(image, channels, channels, 3, groups=channels), image)
    x = net.op("Concat", first, net.tokens(image, channels, count), axis=1)
    n = net.linear(net.norm(x, channels), channels, 3 * channels)
    n = net.transpose(net.reshape(n, 1, count + 1, 3, heads, size), 2, 0, 3, 1, 4)
    parts = net.several("Split", 3, n, axis=0)
    q, k, v = (net.op("Squeeze", part, net.constant(ints(0))) for part in parts)
    factor = net.op("MatMul", net.transpose(net.op("Softmax", k, axis=2), 0, 1, 3, 2), v)
    factored = net.op("Mul", net.op("MatMul", q, factor), net.constant(size**-0.5))
    rest_q, rest_v = (net.slice(each, 2, 1, 1 << 30) for each in (q, v))
    image = net.reshape(net.transpose(rest_v, 0, 1, 3, 2), 1, channels, side, side)
    halves = net.several("Split", 2, image, axis=1)
    near = [
        net.conv(half, size, size, kernel, groups=size) for half, kernel in zip(halves, (3, 5), strict=True)
    ]
    relative = net.reshape(net.op("Concat", *near, axis=1), 1, heads, size, count)
    relative = net.op("Mul", rest_q, net.transpose(relative, 0, 1, 3, 2))
    relative = net.op("Pad", relative, net.constant(ints(0, 0, 1, 0, 0, 0, 0, 0)))
    mixed = net.joined(net.op("Add", factored, relative), 1, count + 1, channels)
    x = net.op("Add", x, net.linear(mixed, channels, channels))
    return net.op("Add", x, net.mlp(net.norm(x, channels), channels))


def coat() -> Any:
    """Factorised attention with convolutions as relative positions, in two stages."""
    net, side, channels, inner, x = NetWriter(), 16, 16, 3, "x"
    for stride in (4, 2):
        x = net.tokens(net.conv(x, inner, channels, stride, stride), channels, side * side)
        x = net.op("Concat", net.weight(1, 1, channels), net.norm(x, channels), axis=1)
        x = _coat_block(net, x, side, channels)
        if stride == 4:
            x = net.image(net.slice(x, 1, 1, 1 << 30), channels, side, side)
            side, channels, inner = side // 2, 2 * channels, channels
    first = net.op("Gather", net.norm(x, channels), net.constant(np.array(0)), axis=1)
    return net.model({"x": [1, 3, 64, 64]}, net.linear(first, channels, 10))


def _segformer_block(net: NetWriter, x: str, side: int, channels: int, reduction: int) -> str:
    heads, count = 2, side * side
    size, few = channels // heads, count // reduction**2
    n = net.norm(x, channels)
    q = net.heads(net.linear(n, channels, channels), 1, count, heads, size)
    reduced = net.conv(net.image(n, channels, side, side), channels, channels, reduction, reduction)
    reduced = net.norm(net.tokens(reduced, channels, few), channels)
    k, v = (net.heads(net.linear(reduced, channels, channels), 1, few, heads, size) for _ in range(2))
    mixed = net.joined(net.attention(q, k, v, size), 1, count, channels)
    x = net.op("Add", x, net.linear(mixed, channels, channels))
    wide = 4 * channels
    image = net.image(net.linear(net.norm(x, channels), channels, wide), wide, side, side)
    image = net.conv(image, wide, wide, 3, groups=wide)
    mixed = net.linear(net.gelu(net.tokens(image, wide, count)), wide, channels)
    return net.op("Add", x, mixed)


def segformer() -> Any:
    """Attention to fewer keys than queries in two stages, whose images are resized and joined."""
    net, x, inner, levels = NetWriter(), "x", 3, list[str]()
    for side, channels, kernel, stride, reduction in ((32, 8, 7, 2, 4), (16, 16, 3, 2, 2)):
        x = net.tokens(net.conv(x, inner, channels, kernel, stride), channels, side * side)
        x = _segformer_block(net, net.norm(x, channels), side, channels, reduction)
        level = net.image(net.linear(x, channels, 16), 16, side, side)
        if side < 32:
            scales = net.constant(np.array([1, 1, 2, 2], np.float32))
            made = f"resized{side}"
            net.nodes.append(node("Resize", f"{level} _ {scales}", made, mode="linear"))
            level = made
        levels.insert(0, level)
        x, inner = net.image(net.norm(x, channels), channels, side, side), channels
    fused = net.op("Relu", net.conv(net.op("Concat", *levels, axis=1), 32, 16, 1))
    return net.model({"x": [1, 3, 64, 64]}, net.conv(fused, 16, 8, 1))


def retinanet() -> Any:
    """A pyramid of three levels with heads for classes and boxes, the anchors of all levels joined."""
    net, x, channels = NetWriter(), "x", 16
    sides, stages = (32, 16, 8), list[str]()
    for inner in (3, 8, 16, 32):
        x = net.op("Relu", net.conv(x, inner, 2 * inner if inner > 3 else 8, 3, 2))
        stages.append(x)
    lateral = [
        net.conv(each, inner, channels, 1) for each, inner in zip(stages[1:], (16, 32, 64), strict=True)
    ]
    levels = [lateral[-1]]
    for each in lateral[-2::-1]:
        scales, made = net.constant(np.array([1, 1, 2, 2], np.float32)), f"up{len(levels)}"
        net.nodes.append(node("Resize", f"{levels[0]} _ {scales}", made, mode="nearest"))
        levels.insert(0, net.op("Add", each, made))
    results: list[str] = []
    for size in (5, 4):
        w, b, out, last = net.weight(channels, channels, 3, 3), net.weight(channels), 9 * size, list[str]()
        v, c = net.weight(out, channels, 3, 3), net.weight(out)
        for level, side in zip(levels, sides, strict=True):
            hidden = net.op("Relu", net.op("Conv", level, w, b, kernel_shape=[3, 3], pads=[1] * 4))
            made = net.op("Conv", hidden, v, c, kernel_shape=[3, 3], pads=[1] * 4)
            made = net.transpose(net.reshape(made, 1, 9, size, side, side), 0, 3, 4, 1, 2)
            last.append(net.reshape(made, 1, 9 * side * side, size))
        results.append(net.op("Concat", *last, axis=1))
    return net.model({"x": [1, 3, 128, 128]}, net.op("Sigmoid", results[0]), results[1])


def whisper_decoder() -> Any:
    """A token with a cache of those before it, and attention to what the encoder heard."""
    net, count, before, channels, heads = NetWriter(), 100, 40, 48, 3
    size, words = channels // heads, net.weight(600, channels)
    x = net.op("Add", net.op("Gather", words, "token", axis=0), net.weight(1, 1, channels))
    kept: list[str] = []
    inputs: dict[str, Sequence[int]] = {"token": [1, 1], "heard": [1, count, channels]}
    for layer in range(2):
        n, new = net.norm(x, channels), list[str]()
        q = net.heads(net.linear(n, channels, channels), 1, 1, heads, size)
        for part in "kv":
            past = f"past_{part}{layer}"
            inputs[past] = [1, heads, before, size]
            now = net.heads(net.linear(n, channels, channels), 1, 1, heads, size)
            new.append(net.op("Concat", past, now, axis=2))
        kept += new
        mixed = net.joined(net.attention(q, new[0], new[1], size), 1, 1, channels)
        x = net.op("Add", x, net.linear(mixed, channels, channels))
        q = net.heads(net.linear(net.norm(x, channels), channels, channels), 1, 1, heads, size)
        k, v = (net.heads(net.linear("heard", channels, channels), 1, count, heads, size) for _ in range(2))
        mixed = net.joined(net.attention(q, k, v, size), 1, 1, channels)
        x = net.op("Add", x, net.linear(mixed, channels, channels))
        x = net.op("Add", x, net.mlp(net.norm(x, channels), channels))
    logits = net.op("MatMul", net.norm(x, channels), net.op("Transpose", words, perm=[1, 0]))
    return net.model(inputs, logits, *kept, types={"token": INT64})


NETWORKS: Mapping[str, Callable[[], Any]] = {
    made.__name__: made for made in (swin, coat, segformer, retinanet, whisper_decoder)
}
