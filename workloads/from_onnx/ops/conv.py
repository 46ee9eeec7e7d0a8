"""Convolution and pooling of ONNX graphs."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from chipmodel.geometry.window import Window
from chipmodel.model.work import Conv, Matmul, Pool
from workloads.from_onnx.fusion import fuse
from workloads.from_onnx.graph import OnnxNode, unfit
from workloads.from_onnx.lowering import MICROSOFT, OnnxLowering, axes_from, leading, operator


@operator("Conv", "ConvTranspose")
@operator("FusedConv", domain=MICROSOFT)
def conv(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands x, w, bias; FusedConv adds a residual input."""
    _convolution(low, node, node.input(0), node.input(1), node.input(2), node.inputs[3:4])


@operator("ConvInteger")
def conv_integer(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands x, w, and their zero points."""
    _convolution(low, node, node.input(0), node.input(1), "", ())


@operator("QLinearConv")
def quantised_conv(low: OnnxLowering, node: OnnxNode) -> None:
    """Operands x, w and y, each with scale and zero point, then the bias."""
    _convolution(low, node, node.input(0), node.input(3), node.input(8), ())


def _convolution(
    low: OnnxLowering, node: OnnxNode, x: str, w: str, bias: str, residual: Sequence[str]
) -> None:
    transposed = node.op == "ConvTranspose"
    groups = node.integer("group", 1)
    _check_channels(low, node, low.shape(x), low.shape(w), groups, transposed)
    extra = [low.named(node, name) for name in residual if name]
    plain = len(low.shape(x)) in (3, 4) and not extra and low.is_constant(w)
    if not plain or (bias and not low.is_constant(bias)):
        _as_product(low, node, x, w, [bias, *residual])
        return
    fused = fuse(low, node.output, channel_axis=1)
    bias = bias or fused.bias
    shifted = (*fused.merged, *fused.shifted)
    weights = [low.weight(w, merged=fused.merged)]
    weights += [low.weight(bias, bias=True, merged=shifted)] if bias else []
    weights += low.weights(fused.weights)
    shape, out = low.shape(x), low.shape(node.output)
    window = _window(node, shape[2:], out[2:], low.shape(w)[2:])
    work = Conv(window, shape[1], out[1], groups, shape[0])
    kind = "depthwise_conv" if work.depthwise else "transposed_conv" if transposed else "conv"
    low.emit(kind, node, work, [low.named(node, x)], outputs=[fused.output], weights=weights)


def _check_channels(
    low: OnnxLowering, node: OnnxNode, x: Sequence[int], w: Sequence[int], groups: int, transposed: bool
) -> None:
    kernel = node.integers("kernel_shape")
    if len(w) != len(x) or len(x) < 3 or (kernel and kernel != tuple(w[2:])) or not prod(w):
        what = f"its kernel {list(kernel or w[2:])} and weight {list(w)} do not fit its input {list(x)}"
        raise unfit(node, what, "a weight has the shape [out, in / groups, *kernel] with sizes of at least 1")
    expected = w[0] if transposed else w[1] * groups
    outputs = w[1] * groups if transposed else w[0]
    out = low.shape(node.output)
    if len(out) != len(x) or out[:2] != (x[0], outputs):
        raise unfit(node, f"its output would be {list(out)} for {outputs} channels of {list(x)}")
    if x[1] != expected or x[1] % groups or outputs % groups:
        what = f"its weight {list(w)} in {groups} groups does not fit the {x[1]} channels of {list(x)}"
        raise unfit(node, what, "check the attribute group and the weight's shape")


def _as_product(low: OnnxLowering, node: OnnxNode, x: str, w: str, others: Sequence[str]) -> None:
    """Model a convolution over volumes, or with computed weights, as its matrix product."""
    out, weight, groups = low.shape(node.output), low.shape(w), node.integer("group", 1)
    transposed = node.op == "ConvTranspose"
    spatial = prod((low.shape(x) if transposed else out)[2:])
    inner = weight[0] // groups if transposed else prod(weight[1:])
    cols = prod(weight[1:]) if transposed else weight[0] // groups
    work = Matmul(
        spatial if groups > 1 else spatial * out[0], inner, cols, out[0] * groups if groups > 1 else 1
    )
    operands = [w, *others]
    fused = fuse(low, node.output, channel_axis=1, scales=low.is_constant(w))
    inputs = [low.named(node, x), *low.activations(operands)]
    if low.is_constant(w) and fused.bias and not others[0]:
        operands.append(fused.bias)
    if len(out) > 4 or not low.is_constant(w):
        low.builder.notes.append(
            f"{node.label}: a convolution over {len(out) - 2} axes"
            f"{'' if low.is_constant(w) else ' with computed weights'} is modelled as its matrix product"
        )
    held = low.weights([w], merged=fused.merged)
    held += [
        *low.weights(operands[1:], bias=True, merged=(*fused.merged, *fused.shifted)),
        *low.weights(fused.weights),
    ]
    # Rows of the product are no rows of its operands.
    whole = range(len(inputs))
    low.emit("conv", node, work, inputs, outputs=[fused.output], weights=held, whole=whole)


WINDOWED = ("MaxPool", "AveragePool", "LpPool")


@operator(*WINDOWED, *(f"Global{name}" for name in WINDOWED))
def pool(low: OnnxLowering, node: OnnxNode) -> None:
    """Maximum or mean over a window or the whole image; an Lp norm is taken to cost as much as a mean."""
    kind, whole = "max_pool" if "Max" in node.op else "average_pool", node.op.startswith("Global")
    x, out = low.shape(node.input(0)), low.shape(node.output)
    kernel = x[2:] if whole else node.integers("kernel_shape")
    if len(x) not in (3, 4) or len(kernel) != len(x) - 2:
        first = 1 if whole else 2
        rows, over = leading(x, first), axes_from(x, first)
        low.vector(node, kind, rows=rows, operands=node.inputs[:1], attributes=over)
        return
    window = _window(node, x[2:], out[2:], kernel, kernel if whole else ())
    low.emit(kind, node, Pool(window, x[1], x[0]), [low.value(node)])


def _each(node: OnnxNode, name: str, like: Sequence[int], default: int = 1) -> tuple[int, ...]:
    values = node.integers(name) or (default,) * len(like)
    if len(values) != len(like):
        raise unfit(node, f"attribute {name} is {list(values)} and must have {len(like)} numbers")
    return values


def _pair(values: Sequence[int], filler: int = 1) -> tuple[int, int]:
    """(height, width); the builder takes the length of a sequence as its height."""
    return (values[0], values[1]) if len(values) == 2 else (values[0], filler)


def _window(
    node: OnnxNode, image: Sequence[int], out: Sequence[int], kernel: Sequence[int], steps: Sequence[int] = ()
) -> Window:
    """The window of a convolution or pooling, with the padding with which the window formula, rounded down,
    gives exactly the output's size.

    So it covers auto_pad, output_shape and the partial last window of ceil_mode. ``steps`` are the strides
    where no attribute has them.
    """
    transposed = node.op == "ConvTranspose"
    stride, dilation = steps or _each(node, "strides", image), _each(node, "dilations", image)
    given = node.text("auto_pad", "NOTSET") == "NOTSET" and not node.integers("output_shape")
    explicit = node.integers("pads") if given else ()
    if explicit and (len(explicit) != 2 * len(image) or (min(explicit) < 0 and not transposed)):
        raise unfit(node, f"attribute pads is {list(explicit)} for {len(image)} axes")
    added = _each(node, "output_padding", image, 0)
    starts: list[int] = []
    ends: list[int] = []
    for axis, size in enumerate(image):
        reach = dilation[axis] * (kernel[axis] - 1) + 1
        if transposed:
            total = (size - 1) * stride[axis] + reach + added[axis] - out[axis]
        else:
            total = (out[axis] - 1) * stride[axis] + reach - size
        start = explicit[axis] if explicit else _start_padding(node, total)
        starts.append(start)
        # Rows that no window of a convolution reaches would make its padding negative.
        ends.append(total - start if transposed else max(total - start, 0))
    sizes = (*_pair(image), *_pair(out), *_pair(kernel), *_pair(stride))
    pads = (*_pair(starts, 0), *_pair(ends, 0))
    return Window(*sizes, *pads, *_pair(dilation), transposed=transposed)


def _start_padding(node: OnnxNode, total: int) -> int:
    """The part of the padding before the image: the smaller half, with SAME_LOWER the larger."""
    match node.text("auto_pad", "NOTSET"):
        case "SAME_LOWER":
            return max(0, total - total // 2)
        case "SAME_UPPER":
            return max(0, total // 2)
        case "NOTSET" if node.integers("output_shape"):
            return max(0, total - total // 2)
        case _:
            return 0
