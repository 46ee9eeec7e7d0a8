"""Small int8 models as TensorFlow Lite Micro runs them: every layer with scales that its kernels accept."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.support.tflite_writer import GraphWriter, ModelWriter

SAME, VALID = 0, 1
RELU = 1
SCALE = 0.05
"""Of every activation."""
WEIGHT_SCALE = 0.01


class LayerWriter:
    """Layers of one subgraph with random weights, all activations with one scale and zero point 0."""

    def __init__(self, graph: GraphWriter, seed: int = 0) -> None:
        self.graph = graph
        self.random = np.random.default_rng(seed)

    def input(self, *shape: int, kind: str = "INT8") -> int:
        """An input of the subgraph."""
        number = self.activation(shape, kind)
        self.graph.inputs = (*self.graph.inputs, number)
        return number

    def output(self, number: int) -> None:
        """Declare an output of the subgraph."""
        self.graph.outputs = (*self.graph.outputs, number)

    def activation(self, shape: Sequence[int], kind: str = "INT8") -> int:
        """A tensor of the scale of all activations."""
        scaled: dict[str, Any] = {"scale": SCALE, "zero": 0} if kind in ("INT8", "INT16") else {}
        return self.graph.tensor(shape, kind, **scaled)

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape of a tensor."""
        return tuple(self.graph.tensors[number]["shape"])

    def _weighted(self, x: int, shape: Sequence[int], axis: int, each: bool = True) -> list[int]:
        """Operands of a product: ``x``, weights with one scale or one for ``each`` channel along ``axis``, a
        bias. The scale keeps results within the range of int8."""
        count = shape[axis]
        scale = 1 / (60 * (np.prod(shape) / count) ** 0.5)
        scales, products = ([float(value)] * (count if each else 1) for value in (scale, SCALE * scale))
        weights = self.random.integers(-127, 128, shape)
        bias = self.random.integers(-500, 500, count)
        return [
            x,
            self.graph.constant(weights, scale=scales, axis=axis),
            self.graph.constant(bias, "INT32", scale=products),
        ]

    def conv(self, x: int, channels: int, kernel: int = 3, stride: int = 1, padding: int = SAME) -> int:
        """CONV_2D with a Relu."""
        n, h, w, c = self.shape(x)
        out = self.activation((n, *_windows((h, w), kernel, stride, padding), channels))
        operands = self._weighted(x, (channels, kernel, kernel, c), 0)
        window = {"StrideH": stride, "StrideW": stride, "DilationHFactor": 1, "DilationWFactor": 1}
        options = {"Padding": padding, "FusedActivationFunction": RELU, **window}
        self.graph.op("CONV_2D", operands, [out], "Conv2DOptions", **options)
        return out

    def depthwise(self, x: int, kernel: int = 3, stride: int = 1, padding: int = SAME) -> int:
        """DEPTHWISE_CONV_2D with a Relu."""
        n, h, w, c = self.shape(x)
        out = self.activation((n, *_windows((h, w), kernel, stride, padding), c))
        operands = self._weighted(x, (1, kernel, kernel, c), 3)
        window = {"StrideH": stride, "StrideW": stride, "DilationHFactor": 1, "DilationWFactor": 1}
        options = {"Padding": padding, "DepthMultiplier": 1, "FusedActivationFunction": RELU, **window}
        self.graph.op("DEPTHWISE_CONV_2D", operands, [out], "DepthwiseConv2DOptions", **options)
        return out

    def pool(self, x: int, kind: str = "MAX_POOL_2D", size: int = 2) -> int:
        """A pooling with windows side by side."""
        n, h, w, c = self.shape(x)
        out = self.activation((n, *_windows((h, w), size, size, VALID), c))
        options = {"FilterHeight": size, "FilterWidth": size, "StrideH": size, "StrideW": size}
        self.graph.op(kind, [x], [out], "Pool2DOptions", Padding=VALID, **options)
        return out

    def dense(self, x: int, features: int) -> int:
        """FULLY_CONNECTED."""
        shape = self.shape(x)
        out = self.activation((shape[0], features))
        inner = int(np.prod(shape[1:]))
        operands = self._weighted(x, (features, inner), 0, each=False)
        self.graph.op("FULLY_CONNECTED", operands, [out], "FullyConnectedOptions")
        return out

    def add(self, a: int, b: int) -> int:
        """ADD of equal shapes."""
        out = self.activation(self.shape(a))
        self.graph.op("ADD", [a, b], [out], "AddOptions")
        return out

    def concat(self, parts: Sequence[int], axis: int) -> int:
        """CONCATENATION."""
        shape = list(self.shape(parts[0]))
        shape[axis] = sum(self.shape(part)[axis] for part in parts)
        out = self.activation(shape)
        self.graph.op("CONCATENATION", parts, [out], "ConcatenationOptions", Axis=axis)
        return out

    def reshape(self, x: int, shape: Sequence[int]) -> int:
        """RESHAPE with a constant shape."""
        out = self.activation(shape)
        self.graph.op("RESHAPE", [x, self.graph.constant(shape, "INT32")], [out], "ReshapeOptions")
        return out

    def mean(self, x: int) -> int:
        """MEAN over height and width."""
        n, _, _, c = self.shape(x)
        out = self.activation((n, c))
        self.graph.op("MEAN", [x, self.graph.constant([1, 2], "INT32")], [out], "ReducerOptions")
        return out

    def softmax(self, x: int) -> int:
        """SOFTMAX, whose output has the scale and zero point that the kernel wants."""
        out = self.graph.tensor(self.shape(x), scale=1 / 256, zero=-128)
        self.graph.op("SOFTMAX", [x], [out], "SoftmaxOptions", Beta=1.0)
        return out


def _windows(sizes: Sequence[int], kernel: int, stride: int, padding: int) -> list[int]:
    reach = 0 if padding == SAME else kernel - 1
    return [-(-(size - reach) // stride) for size in sizes]


def _start(shape: Sequence[int], seed: int) -> tuple[ModelWriter, LayerWriter, int]:
    model = ModelWriter()
    layers = LayerWriter(model.graph(), seed)
    return model, layers, layers.input(*shape)


def plain() -> ModelWriter:
    """Convolutions and poolings, a dense layer, softmax."""
    model, net, x = _start((1, 16, 16, 3), 1)
    x = net.pool(net.conv(x, 8))
    x = net.pool(net.conv(x, 16, stride=2), "AVERAGE_POOL_2D")
    net.output(net.softmax(net.dense(x, 10)))
    return model


def separable() -> ModelWriter:
    """Depthwise and pointwise convolutions, a mean over the image."""
    model, net, x = _start((1, 20, 20, 4), 2)
    x = net.conv(x, 8, stride=2)
    for channels in (16, 24):
        x = net.conv(net.depthwise(x), channels, kernel=1)
    net.output(net.dense(net.mean(x), 4))
    return model


def residual() -> ModelWriter:
    """Two residual blocks."""
    model, net, x = _start((1, 12, 12, 8), 3)
    for _ in range(2):
        x = net.add(x, net.conv(net.conv(x, 8), 8))
    net.output(net.dense(net.reshape(x, (1, 12 * 12 * 8)), 3))
    return model


def branches() -> ModelWriter:
    """Parallel convolutions that are joined again, twice."""
    model, net, x = _start((1, 10, 10, 6), 4)
    for _ in range(2):
        x = net.concat([net.conv(x, 4, kernel=1), net.conv(x, 6), net.depthwise(x)], 3)
    net.output(net.mean(x))
    return model


def dense() -> ModelWriter:
    """Dense layers."""
    model, net, x = _start((1, 64), 5)
    for features in (48, 32, 10):
        x = net.dense(x, features)
    net.output(x)
    return model


def two_outputs() -> ModelWriter:
    """A trunk with two heads."""
    model, net, x = _start((1, 16, 16, 4), 6)
    trunk = net.conv(x, 12, stride=2)
    net.output(net.dense(net.mean(trunk), 5))
    net.output(net.conv(trunk, 2, kernel=1))
    return model


def long_skip() -> ModelWriter:
    """An early tensor that is read again at the end."""
    model, net, x = _start((1, 14, 14, 4), 7)
    early = net.conv(x, 4)
    y = early
    for channels in (16, 8, 12, 4):
        y = net.conv(y, channels)
    net.output(net.add(early, y))
    return model


def lstm() -> ModelWriter:
    """An LSTM layer over a sequence, and a dense layer."""
    model, net, x = _start((1, 6, 8), 8)
    graph, hidden = net.graph, 12

    def weights(*shape: int) -> int:
        return graph.constant(net.random.integers(-127, 128, shape), scale=WEIGHT_SCALE)

    def bias() -> int:
        values = net.random.integers(-100, 100, hidden)
        return graph.constant(values, "INT32", scale=SCALE * WEIGHT_SCALE)

    state = graph.tensor((1, hidden), variable=True, name="state", scale=1 / 128, zero=0)
    cell = graph.tensor((1, hidden), "INT16", variable=True, name="cell", scale=1 / 2048, zero=0)
    out = graph.tensor((1, 6, hidden), scale=1 / 128, zero=0)
    operands = [x, *(weights(hidden, 8) for _ in range(4)), *(weights(hidden, hidden) for _ in range(4))]
    operands += [-1, -1, -1, *(bias() for _ in range(4)), -1, -1, state, cell, -1, -1, -1, -1]
    options = {"FusedActivationFunction": 4, "CellClip": 10.0, "ProjClip": 0.0, "TimeMajor": False}
    graph.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [out], "UnidirectionalSequenceLSTMOptions", **options)
    net.output(net.dense(out, 4))
    return model


def conditional() -> ModelWriter:
    """An IF whose arms have different layers."""
    model = ModelWriter()
    main, then, other = model.graph("main"), model.graph("then"), model.graph("else")
    net = LayerWriter(main, 9)
    condition, x = net.input(1, kind="BOOL"), net.input(1, 8, 8, 4)
    x = net.conv(x, 4)
    out = net.activation((1, 8, 8, 4))
    main.op("IF", [condition, x], [out], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    net.output(net.conv(out, 2))
    arm = LayerWriter(then, 10)
    arm.output(arm.conv(arm.conv(arm.input(1, 8, 8, 4), 16), 4))
    arm = LayerWriter(other, 11)
    arm.output(arm.depthwise(arm.input(1, 8, 8, 4)))
    return model


def repeated(limit: int = 3, first: int = 0, step: int = 1, goes_on: str = "LESS") -> ModelWriter:
    """A WHILE with a tensor that each iteration convolves, and a counter that goes from ``first`` in steps
    while the operator ``goes_on`` holds of it and ``limit``."""
    model = ModelWriter()
    main, condition, body = model.graph("main"), model.graph("condition"), model.graph("body")
    net = LayerWriter(main, 12)
    x = net.conv(net.input(1, 8, 8, 3), 4)
    zero = main.constant([first], "INT32")
    counter, out = main.tensor((1,), "INT32"), net.activation((1, 8, 8, 4))
    main.op("WHILE", [zero, x], [counter, out], "WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
    net.output(net.conv(out, 2))
    test = LayerWriter(condition)
    number = test.input(1, kind="INT32")
    test.input(1, 8, 8, 4)
    going = condition.tensor((1,), "BOOL")
    options = f"{goes_on.title().replace('_', '')}Options"
    condition.op(goes_on, [number, condition.constant([limit], "INT32")], [going], options)
    test.output(going)
    inner = LayerWriter(body, 13)
    number, image = inner.input(1, kind="INT32"), inner.input(1, 8, 8, 4)
    following = body.tensor((1,), "INT32")
    body.op("ADD", [number, body.constant([step], "INT32")], [following], "AddOptions")
    inner.output(following)
    inner.output(inner.add(image, inner.conv(image, 4)))
    return model


MODELS: Mapping[str, Callable[[], ModelWriter]] = {
    made.__name__: made
    for made in (
        plain,
        separable,
        residual,
        branches,
        dense,
        two_outputs,
        long_skip,
        lstm,
        conditional,
        repeated,
    )
}
"""Ten models by name."""
