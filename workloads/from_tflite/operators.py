"""TensorFlow Lite's operators as nodes of the importer's graph, one function for each kind.

An operator becomes the ONNX operators of the same meaning, so that both importers share everything after it,
and the same network has the same plan. Source of operands and options: schema.fbs and the kernels of
TensorFlow Lite Micro.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from chipmodel.errors import BadInput
from workloads.from_onnx.graph import ACTIVATION
from workloads.from_onnx.lowering import MICROSOFT
from workloads.from_tflite.context import TFLITE, SubgraphContext, axis_of, channels_first
from workloads.from_tflite.model_file import TfliteOperator
from workloads.from_tflite.operator_table import OPERATORS, operators
from workloads.from_tflite.schema import names_of

Translation = Callable[[SubgraphContext, TfliteOperator], None]

TRANSLATIONS: dict[str, Translation] = {}
"""Translations by the operator's name in the schema."""


def operator(*names: str) -> Callable[[Translation], Translation]:
    """Register the decorated function as the translation of these operators."""

    def register(function: Translation) -> Translation:
        TRANSLATIONS.update(dict.fromkeys(names, function))
        return function

    return register


@operator(*operators("elementwise"))
def elementwise(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands are broadcast; a fused activation costs nothing."""
    rank = max((len(at.shape(number)) for number in op.inputs if number >= 0), default=0)
    inputs = [at.aligned(number, rank) for number in op.inputs if number >= 0]
    name = OPERATORS[op.name].form
    applied = op.integer("FusedActivationFunction")
    attributes = {ACTIVATION: applied} if applied else None
    at.node(name or op.name, inputs, at.outputs(op), attributes, "" if name else TFLITE)


@operator(*operators("of_first_operand"))
def of_first_operand(at: SubgraphContext, op: TfliteOperator) -> None:
    """The other operands say only what the output's shape says, too."""
    known = OPERATORS[op.name]
    attributes = _resized(op, known.mode) if known.mode else {}
    at.node(known.form, [at.name(op.input(0))], at.outputs(op), attributes)


def _resized(op: TfliteOperator, mode: str) -> dict[str, str]:
    """ONNX's attributes of a resize."""
    rules = {"align_corners": op.integer("AlignCorners"), "half_pixel": op.integer("HalfPixelCenters")}
    rule = next((name for name, asked in rules.items() if asked), "asymmetric")
    place = "floor" if rule == "asymmetric" else "round_prefer_ceil"
    return {"mode": mode, "coordinate_transformation_mode": rule, "nearest_mode": place}


@operator("CONV_2D", "DEPTHWISE_CONV_2D", "CONV_3D")
def convolution(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands x, filter (out, *kernel, in; depthwise: 1, *kernel, out; 3-D: *kernel, in, out), bias."""
    x, filters = op.input(0), op.input(1)
    shape = at.shape(filters)
    need(op, len(at.shape(x)) == len(shape) and len(shape) in (4, 5), "its operands have other ranks")
    channels = at.shape(x)[-1]
    if op.name == "DEPTHWISE_CONV_2D":
        weight, groups = (shape[3], 1, *shape[1:3]), channels
    elif op.name == "CONV_3D":
        weight, groups = (shape[4], shape[3], *shape[:3]), 1
    else:
        need(op, bool(shape[3]) and channels % shape[3] == 0, "its filter does not fit its channels")
        weight, groups = (shape[0], shape[3], *shape[1:3]), channels // shape[3]
    attributes = {"group": groups, **_window(op, len(shape) - 2, weight[2:])}
    inputs = [at.name(x), at.view(at.name(filters), weight), *_bias(at, op, 2)]
    at.node("Conv", inputs, at.outputs(op), attributes)


@operator("TRANSPOSE_CONV")
def transposed_convolution(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands: the output's shape, filter (out, *kernel, in), x, bias."""
    shape = at.shape(op.input(1))
    need(op, len(shape) == 4 == len(at.shape(op.input(2))), "its operands have other ranks")
    weight = (shape[3], shape[0], *shape[1:3])
    inputs = [at.name(op.input(2)), at.view(at.name(op.input(1)), weight), *_bias(at, op, 3)]
    at.node("ConvTranspose", inputs, at.outputs(op), {"group": 1, **_window(op, 2, weight[2:])})


@operator(*operators("pool"))
def pool(at: SubgraphContext, op: TfliteOperator) -> None:
    """A window over each channel."""
    kernel = (op.integer("FilterHeight", 1), op.integer("FilterWidth", 1))
    at.node(OPERATORS[op.name].form, [at.name(op.input(0))], at.outputs(op), _window(op, 2, kernel))


def _window(op: TfliteOperator, axes: int, kernel: tuple[int, ...]) -> dict[str, Any]:
    letters = "DHW"[-axes:]
    padding = names_of("Padding").get(op.integer("Padding"), "VALID")
    return {
        "kernel_shape": kernel,
        "strides": tuple(max(1, op.integer(f"Stride{letter}", 1)) for letter in letters),
        "dilations": tuple(max(1, op.integer(f"Dilation{letter}Factor", 1)) for letter in letters),
        "auto_pad": "SAME_UPPER" if padding == "SAME" else "VALID",
    }


def _bias(at: SubgraphContext, op: TfliteOperator, index: int) -> list[str]:
    name = at.name(op.input(index))
    return [name] if name else []


@operator("FULLY_CONNECTED")
def fully_connected(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands x, weights (out, in), bias; x is seen as rows of in elements."""
    x, weights = op.input(0), at.shape(op.input(1))
    need(op, len(weights) == 2 and bool(weights[1]), "its weights are not a matrix")
    rows, left = divmod(prod(at.shape(x)), weights[1])
    need(op, not left, f"its input {list(at.shape(x))} has no rows of {weights[1]} elements")
    matrix = at.view(at.name(x), (rows, weights[1]))
    at.node("Gemm", [matrix, at.name(op.input(1)), *_bias(at, op, 2)], at.outputs(op)[:1], {"transB": 1})


@operator("BATCH_MATMUL")
def batch_matmul(at: SubgraphContext, op: TfliteOperator) -> None:
    """Two operands, either with its last axes swapped, in the file's order of axes; a view has ours."""
    swaps = {"transA": op.integer("AdjX"), "transB": op.integer("AdjY")}
    inputs = [at.as_filed(op.input(0)), at.as_filed(op.input(1))]
    (number,) = op.outputs[:1]
    filed = name = at.name(number)
    if at.shape(number) != at.state.facts[name].shape:
        filed = at.fresh(f"{name}:filed", at.shape(number), number)
    at.node("FusedMatMul", inputs, [filed], swaps, MICROSOFT)
    if filed != name:
        at.node("Reshape", [filed], [name])


@operator(*operators("along_axis"))
def along_axis(at: SubgraphContext, op: TfliteOperator) -> None:
    """Work along one axis, which may be that of the channels."""
    known = OPERATORS[op.name]
    operands = [op.input(int(place)) for place in known.operands.split()] or op.inputs
    kind, _, place = known.axis.partition(" ")
    if place:
        axis = (at.integers(op.input(int(place))) or (0,))[0]
    else:
        axis = op.integer(kind) if kind.isalpha() else int(kind)
    attributes = {"axis": axis_of(len(at.shape(operands[0])), axis)}
    at.node(known.form, [at.name(number) for number in operands], at.outputs(op), attributes)


@operator("LOCAL_RESPONSE_NORMALIZATION")
def local_response(at: SubgraphContext, op: TfliteOperator) -> None:
    """Normalise across neighbouring channels."""
    at.node("LRN", [at.name(op.input(0))], at.outputs(op), {"size": 2 * op.integer("Radius") + 1})


@operator(*operators("reduction"))
def reduction(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands x and the axes; a mean over height and width is a global average pooling."""
    x, rank = at.name(op.input(0)), len(at.shape(op.input(0)))
    given = at.integers(op.input(1))
    if given is None:
        at.node("ReduceSum", [x], at.outputs(op))
        return
    axes = tuple(sorted({axis_of(rank, axis) for axis in given}))
    if op.name == "MEAN" and rank == 4 and axes == (2, 3):
        pooled = at.fresh(f"{at.outputs(op)[0]}:pooled", (*at.state.facts[x].shape[:2], 1, 1), op.input(0))
        at.node("GlobalAveragePool", [x], [pooled])
        at.node("Reshape", [pooled], at.outputs(op))
        return
    at.node(OPERATORS[op.name].form, [x], at.outputs(op), {"axes": axes})


@operator("PACK")
def pack(at: SubgraphContext, op: TfliteOperator) -> None:
    """Parts along a new axis: a concat of views that have it."""
    shape = at.shape(op.outputs[0])
    axis = op.integer("Axis") % max(1, len(shape))
    piece = channels_first((*shape[:axis], 1, *shape[axis + 1 :]))
    parts = [at.view(at.name(number), piece) for number in op.inputs]
    at.node("Concat", parts, at.outputs(op), {"axis": axis_of(len(shape), axis)})


@operator("UNPACK")
def unpack(at: SubgraphContext, op: TfliteOperator) -> None:
    """Pieces along one axis, without it."""
    x = op.input(0)
    shape = at.shape(x)
    axis = op.integer("Axis") % max(1, len(shape))
    piece = channels_first((*shape[:axis], 1, *shape[axis + 1 :]))
    names = at.outputs(op)
    pieces = [at.fresh(f"{name}:piece", piece, x) for name in names]
    at.node("Split", [at.name(x)], pieces, {"axis": axis_of(len(shape), axis)})
    for made, name in zip(pieces, names, strict=True):
        at.node("Reshape", [made], [name])


@operator("SLICE")
def slice_(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands x, first indices, sizes."""
    begin = at.integers(op.input(1))
    rank = len(at.shape(op.input(0)))
    attributes = {} if begin is None or len(begin) != rank else _ranges(begin, (1,) * rank)
    at.node("Slice", [at.name(op.input(0))], at.outputs(op), attributes)


@operator("STRIDED_SLICE")
def strided_slice(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands x, first indices, ends, steps; masks say which bounds are left out and which axes go."""
    x = op.input(0)
    shape, out = at.shape(x), at.shape(op.outputs[0])
    begin, steps = at.integers(op.input(1)), at.integers(op.input(3))
    shrink = op.integer("ShrinkAxisMask")
    plain = begin is not None and steps is not None and len(begin) == len(shape)
    if not plain or op.integer("EllipsisMask") or op.integer("NewAxisMask") or begin is None or steps is None:
        at.node("Slice", [at.name(x)], at.outputs(op))
        return
    mask = op.integer("BeginMask")
    last = [size - 1 if step < 0 else 0 for size, step in zip(shape, steps, strict=True)]
    starts = [last[i] if mask >> i & 1 else first for i, first in enumerate(begin)]
    sizes = iter(out)
    kept = tuple(1 if shrink >> i & 1 else next(sizes, 1) for i in range(len(shape)))
    name = at.outputs(op)[0]
    attributes = _ranges(starts, steps)
    if kept == out:
        at.node("Slice", [at.name(x)], [name], attributes)
        return
    piece = at.fresh(f"{name}:piece", channels_first(kept), x)
    at.node("Slice", [at.name(x)], [piece], attributes)
    at.node("Reshape", [piece], [name])


def _ranges(starts: tuple[int, ...] | list[int], steps: tuple[int, ...]) -> dict[str, Any]:
    """First indices and steps of the axes as they are here."""
    return {"starts": channels_first(starts), "steps": channels_first(steps)}


@operator("PAD", "PADV2", "MIRROR_PAD")
def pad(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands x, for each axis the elements before and after it, and for PADV2 their value."""
    sizes = at.integers(op.input(1))
    rank = len(at.shape(op.input(0)))
    attributes: dict[str, Any] = {"mode": "reflect" if op.name == "MIRROR_PAD" else "constant"}
    if sizes is not None and len(sizes) == 2 * rank:
        attributes["pads"] = (*channels_first(sizes[::2]), *channels_first(sizes[1::2]))
    value = ["", at.name(op.input(2))] if op.name == "PADV2" else []
    at.node("Pad", [at.name(op.input(0)), *value], at.outputs(op), attributes)


@operator("TRANSPOSE")
def transpose(at: SubgraphContext, op: TfliteOperator) -> None:
    """Operands x and, for each axis of the result, the axis of x."""
    order = at.integers(op.input(1))
    x = op.input(0)
    rank = len(at.shape(x))
    need(op, order is not None and sorted(order) == list(range(rank)), "its order of axes is not known")
    assert order is not None
    moved = channels_first(order)  # the file's axes of x, in our order of the result's axes
    perm = tuple(axis_of(rank, axis) for axis in moved)
    at.node("Transpose", [at.name(x)], at.outputs(op), {"perm": perm})


@operator("DEPTH_TO_SPACE", "SPACE_TO_DEPTH")
def pixel_blocks(at: SubgraphContext, op: TfliteOperator) -> None:
    """Blocks of pixels moved to channels, or back."""
    need(op, len(at.shape(op.input(0))) == 4, "its input is not an image")
    attributes = {"blocksize": op.integer("BlockSize", 1)}
    at.node(OPERATORS[op.name].form, [at.name(op.input(0))], at.outputs(op), attributes)


@operator(*operators("by_bytes"))
def by_bytes(at: SubgraphContext, op: TfliteOperator) -> None:
    """Vector work on all operands."""
    at.node(op.name, [at.name(number) for number in op.inputs if number >= 0], at.outputs(op), None, TFLITE)


def need(op: TfliteOperator, holds: bool, what: str) -> None:
    """Refuse an operator for which something does not hold."""
    if not holds:
        raise BadInput(f"operator {op.name}: {what}", hint="convert the model again")
