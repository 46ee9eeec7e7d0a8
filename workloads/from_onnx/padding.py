"""Fold a Pad node into the convolution or pooling that alone reads it, as deployment compilers do.

A convolution takes zeros (an integer one its zero point) for what lies outside of the image, a maximum takes
less than every element, and a mean counts zeros only with ``count_include_pad``. So the value of the Pad
decides; a Pad of other axes than those of the image, of another mode, or that crops, stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import nan

from chipmodel.records import dataclass
from workloads.build.element_types import FLOATS
from workloads.from_onnx.graph import OnnxNode
from workloads.from_onnx.graph_view import GraphView

LEAST_FLOAT16 = -65504.0
"""The least finite number of the shortest common float: what pads a maximum with it means minus infinity."""
LEAST_INTEGER = {2: 0, 3: -128, 4: 0, 5: -(1 << 15), 6: -(1 << 31), 7: -(1 << 63)}
"""The least number of each element type (``onnx.TensorProto.DataType``)."""

ZERO_POINT = {"Conv": None, "FusedConv": None, "ConvInteger": 2, "QLinearConv": 2}
"""The convolutions, with the operand that holds the zero point of their input."""
BETWEEN = frozenset(["QuantizeLinear", "DequantizeLinear"])
"""Operators that keep the order of elements, behind which the padding may move."""
NOT_NEGATIVE = frozenset(["Relu", "Sigmoid", "HardSigmoid", "Softplus", "Abs", "Exp", "Softmax", "Sqrt"])
ORDER_KEEPING = BETWEEN | {
    *("Identity", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool", "Concat")
}
"""Operators whose results are not negative where no operand is."""
DEEPEST = 16
"""Nodes looked at to see whether a tensor can be negative (assumed; limits time)."""


@dataclass(frozen=True, slots=True)
class PadAmounts:
    """Elements that a Pad adds before and after each axis, and their value."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    value: float


@dataclass(frozen=True, slots=True)
class _PadChain:
    """A Pad, the nodes after it, each the only reader of the one before, and the op that reads the last."""

    pad: OnnxNode
    between: Sequence[OnnxNode]
    reader: OnnxNode
    amounts: PadAmounts


def pad_amounts(view: GraphView, node: OnnxNode) -> PadAmounts | None:
    """What a Pad with known amounts adds; None for other modes than constant, and computed amounts. A value
    that is computed is no number."""
    rank = len(view.facts[node.input(0)].shape)
    given = node.integers("pads") or view.integers(node.input(1))
    axes = view.integers(node.input(3)) if node.input(3) else tuple(range(rank))
    value = view.number(node.input(2)) if node.input(2) else node.number("value", 0.0)
    if given is None or axes is None or node.text("mode", "constant") != "constant":
        return None
    if len(given) != 2 * len(axes):
        return None
    before, after = [0] * rank, [0] * rank
    for place, axis in enumerate(axes):
        before[axis % rank], after[axis % rank] = given[place], given[len(axes) + place]
    return PadAmounts(tuple(before), tuple(after), nan if value is None else value)


def fold_padding(view: GraphView, nodes: Sequence[OnnxNode]) -> list[OnnxNode]:
    """``nodes`` without the Pads that a convolution or pooling can take over."""
    changed: dict[str, OnnxNode | None] = {}
    for node in nodes:
        if node.op == "Pad" and not node.domain:
            changed.update(_without(view, node))
    return [new for node in nodes if (new := changed.get(node.name, node)) is not None]


def _without(view: GraphView, pad: OnnxNode) -> dict[str, OnnxNode | None]:
    """The nodes that change where ``pad`` is folded, by name; none where it must stay."""
    amounts = pad_amounts(view, pad)
    between: list[OnnxNode] = []
    reader = view.only_reader(pad.output)
    while reader is not None and reader.op in BETWEEN and not reader.domain and len(between) < DEEPEST:
        if reader.input(0) not in (pad.output, *(node.output for node in between)):
            return {}
        between.append(reader)
        reader = view.only_reader(reader.output)
    last = between[-1].output if between else pad.output
    if reader is None or amounts is None or reader.inputs.count(last) != 1 or reader.input(0) != last:
        return {}
    if not _neutral(view, _PadChain(pad, between, reader, amounts)):
        return {}
    taken = _with_pads(reader, amounts)
    source = view.facts[pad.input(0)]
    for node in between:
        view.facts[node.output] = replace(view.facts[node.output], shape=source.shape)
    first, *others = (*between, taken)
    moved = replace(first, inputs=(pad.input(0), *first.inputs[1:]))
    return {pad.name: None, first.name: moved, **{node.name: node for node in others}}


def _with_pads(reader: OnnxNode, amounts: PadAmounts) -> OnnxNode:
    """``reader`` with the padding added to its own."""
    pads = _joined_pads(reader, amounts)
    counted = {"count_include_pad": 1} if reader.op == "AveragePool" else {}
    return replace(reader, attributes={**reader.attributes, "pads": pads, "auto_pad": "NOTSET", **counted})


def _joined_pads(reader: OnnxNode, amounts: PadAmounts) -> tuple[int, ...]:
    added = (*amounts.before[2:], *amounts.after[2:])
    own = reader.integers("pads") or (0,) * len(added)
    return tuple(a + b for a, b in zip(own, added, strict=True))


def _neutral(view: GraphView, chain: _PadChain) -> bool:
    """Whether the reader computes the same where it pads its input itself."""
    reader, amounts = chain.reader, chain.amounts
    rank, own = len(amounts.before), reader.integers("pads")
    others = (*amounts.before[:2], *amounts.after[:2])
    if rank < 3 or any(others) or min(*amounts.before, *amounts.after) < 0:
        return False
    if reader.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID") or len(own) not in (0, 2 * rank - 4):
        return False
    if reader.op in ZERO_POINT:
        return _value_read(view, chain) == _zero(view, chain)
    if reader.domain:
        return False
    if reader.op == "MaxPool":
        return _below_all(view, chain) and _sees_image(view, chain)
    counted = bool(reader.integer("count_include_pad", 0)) or not any(own)
    exact = counted and not reader.integer("ceil_mode", 0)
    return reader.op == "AveragePool" and exact and _value_read(view, chain) == 0


def _value_read(view: GraphView, chain: _PadChain) -> float | None:
    """The padding as the reader sees it; None where that is not known."""
    value = chain.amounts.value
    for node in chain.between:
        point = view.number(node.input(2)) if node.input(2) else 0.0
        match node.op:
            case "QuantizeLinear" if value == 0 and point is not None:
                value = point
            case "DequantizeLinear" if value == point:
                value = 0.0
            case _:
                return None
    return value


def _zero(view: GraphView, chain: _PadChain) -> float:
    """What a convolution takes for the outside; not a number where that is not known."""
    pad, conv = chain.pad, chain.reader
    place = ZERO_POINT[conv.op]
    if place is not None and conv.input(place):
        point = view.number(conv.input(place))
        return nan if point is None else point
    # Stored integers of a file that is not ONNX have a zero point that is not known here.
    stored = place is None and pad.input(2) and view.facts[pad.input(0)].element not in FLOATS
    return nan if stored and not chain.between else 0.0


def _below_all(view: GraphView, chain: _PadChain) -> bool:
    """Whether no element of the padded tensor is less than the padding."""
    name, value = chain.pad.input(0), chain.amounts.value
    element = view.facts[name].element
    if element not in FLOATS and chain.between:
        return False
    least = LEAST_FLOAT16 if element in FLOATS else LEAST_INTEGER.get(element)
    if least is not None and value <= least:
        return True
    real = element in FLOATS or (chain.pad.written and not chain.pad.input(2))
    return bool(real) and value <= 0 and _not_negative(view, name, DEEPEST)


def _not_negative(view: GraphView, name: str, depth: int) -> bool:
    node = view.producers.get(name)
    if node is None or node.domain or depth == 0:
        return False
    if node.op == "Clip":
        limit = view.number(node.input(1)) if node.input(1) else node.number("min", -1.0)
        return limit is not None and limit >= 0
    if node.op == "QuantizeLinear":
        point = view.number(node.input(2)) if node.input(2) else 0.0
        if point == LEAST_INTEGER.get(view.facts[node.output].element, nan):
            return True
    if node.op in ORDER_KEEPING:
        data = node.inputs if node.op == "Concat" else node.inputs[:1]
        return all(_not_negative(view, each, depth - 1) for each in data)
    return node.op in NOT_NEGATIVE


def _sees_image(view: GraphView, chain: _PadChain) -> bool:
    """Whether every window covers some element of the image, so that the padding never is the result."""
    pool, image = chain.reader, view.facts[chain.pad.input(0)].shape[2:]
    pads, axes = _joined_pads(pool, chain.amounts), len(image)
    kernel, out = pool.integers("kernel_shape"), view.facts[pool.output].shape[2:]
    strides = pool.integers("strides") or (1,) * axes
    if (
        len(kernel) != axes
        or len(strides) != axes
        or any(integer != 1 for integer in pool.integers("dilations"))
    ):
        return False
    return all(
        pads[axis] < kernel[axis] and (out[axis] - 1) * strides[axis] - pads[axis] < image[axis]
        for axis in range(axes)
    )
