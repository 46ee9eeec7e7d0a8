"""Shapes of one node's outputs, by the shape inference of the onnx package; where a size depends on data, by
a bound from the operands, ``--shape``, or an assumption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from chipmodel.records import dataclass
from workloads.from_onnx.contrib_shapes import STANDARD_FORM, Outputs, contrib_outputs
from workloads.from_onnx.graph import Fact, OnnxNode, fault
from workloads.from_onnx.onnx_package import FAULTS, TensorProto, TypeProto, module
from workloads.from_onnx.operator_table import FORMS, operators

SAME_AS_INPUT = operators("same_as_first")

ON_INTEGERS = frozenset(form.op for (_, name), form in FORMS.items() if name.startswith("QLinear")) - {
    "QLinearConv"
}
"""Operators on floats that stand for those on quantised tensors."""

FLOAT = 1
MOST_SHOWN = 8
"""Elements of a constant that a message shows."""


def schema_outputs(node: OnnxNode, facts: Mapping[str, Fact], opsets: Mapping[str, int]) -> Outputs:
    """Element type and shape of outputs, as far as known. Raises BadInput for an ill-formed node."""
    standard = STANDARD_FORM.get(node.op) if node.domain else None
    try:
        contrib = contrib_outputs(node, facts)
        if contrib is not None or (node.domain and standard is None):
            return contrib or {}
        outputs = (
            _on_integers(node, facts)
            if node.op in ON_INTEGERS and node.written
            else _onnx_inference(node, standard or node.op, facts, _version(node, opsets))
        )
    except FAULTS as error:
        raise fault(node, f"{_reason(error)} ({_given(node, facts)})") from None
    if node.op in SAME_AS_INPUT and node.input(0) and outputs.get(node.output, (0, None))[1] is None:
        first = facts[node.input(0)]
        outputs[node.output] = (first.element, first.shape)
    return outputs


def _version(node: OnnxNode, opsets: Mapping[str, int]) -> int | None:
    return None if node.domain or node.written else opsets[""]


def _on_integers(node: OnnxNode, facts: Mapping[str, Fact]) -> Outputs:
    """The outputs of an operator on quantised tensors: of their type, and else as for floats."""
    kept = facts[node.inputs[-1]].element
    floats = {
        name: replace(facts[name], element=FLOAT) if facts[name].element == kept else facts[name]
        for name in node.reads
    }
    outputs = _onnx_inference(node, node.op, floats, None)
    return {name: (kept, shape) for name, (_, shape) in outputs.items()}


def _onnx_inference(node: OnnxNode, op: str, facts: Mapping[str, Fact], version: int | None) -> Outputs:
    """Infer outputs by the operator set ``version``; None is the newest, for operators not ONNX's own."""
    defs, shape_inference = module("onnx.defs"), module("onnx.shape_inference")
    foreign = version is None
    version = defs.onnx_opset_version() if version is None else version
    try:
        schema = defs.get_schema(op, version, "")
    except defs.SchemaError:
        return {}
    if schema.deprecated:  # GroupNormalization of operator set 18, which onnx then infers nothing for
        return {}
    try:
        outputs = shape_inference.infer_node_outputs(
            schema,
            node.message(op, schema.max_input, schema.attributes) if foreign else node.message(),
            {name: _type(facts[name]) for name in node.reads},
            _data(node, facts),
            opset_imports=[module("onnx.helper").make_opsetid("", version)],
            ir_version=8,
        )
    except (shape_inference.InferenceError, module("onnx.checker").ValidationError) as error:
        raise ValueError(_reason(error)) from None
    return {name: _read_type(proto) for name, proto in outputs.items()}


def _type(fact: Fact) -> TypeProto:
    return module("onnx.helper").make_tensor_type_proto(fact.element, fact.shape)


def _data(node: OnnxNode, facts: Mapping[str, Fact]) -> dict[str, TensorProto]:
    """The values of small constant vectors (shapes, axes, sizes, scales); inference reads no others."""
    known = {name: facts[name].array for name in node.inputs if name}
    return {
        name: module("onnx.numpy_helper").from_array(array, name)
        for name, array in known.items()
        if array is not None and array.ndim <= 1 and array.size <= 1024
    }


def _read_type(proto: TypeProto) -> tuple[int, tuple[int, ...] | None]:
    kind = proto.tensor_type
    if not kind.HasField("shape") or not all(d.HasField("dim_value") for d in kind.shape.dim):
        return kind.elem_type, None
    return kind.elem_type, tuple(d.dim_value for d in kind.shape.dim)


def _given(node: OnnxNode, facts: Mapping[str, Fact]) -> str:
    """The shapes of a node's operands, or the values of short ones, and its attributes."""
    operands = [(name, facts[name].shape, facts[name].array) for name in node.reads]
    shapes = [
        f"{name!r} has shape {list(shape)}"
        if array is None or array.size > MOST_SHOWN
        else f"{name!r} is {array}"
        for name, shape, array in operands
    ]
    plain = [name for name, value in node.attributes.items() if isinstance(value, int | str | tuple)]
    return ", ".join([*shapes, *(f"{name} is {node.attributes[name]}" for name in plain)])[:300]


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text.removeprefix("[ShapeInferenceError] ").removeprefix("[TypeInferenceError] ")[:300]


ASSUMED_LENGTH = 100
"""Elements of a Range whose limits are computed (assumed)."""


@dataclass(frozen=True, slots=True)
class SizedOutput:
    """The shape of an output, with a bound or an assumption for its one unknown size, and why it is this."""

    shape: tuple[int, ...]
    place: int
    """The axis of the unknown size."""
    why: str


def sized_output(node: OnnxNode, name: str, facts: Mapping[str, Fact]) -> SizedOutput | None:
    """The largest that an output of unknown size can be; None for operators without such a bound."""
    first = facts.get(node.input(0))
    if node.domain or first is None or name not in node.outputs:
        return None
    match node.op:
        case "NonZero":
            return SizedOutput((max(1, len(first.shape)), first.elements), 1, "if no element is 0")
        case "NonMaxSuppression":
            return SizedOutput((_most_boxes(node, facts), 3), 0, "if no box suppresses another")
        case "Unique" if "axis" not in node.attributes:
            return SizedOutput((first.elements,), 0, "if no element is there twice")
        case "Compress":
            return _compressed(node, first)
        case "Range":
            return SizedOutput((ASSUMED_LENGTH,), 0, "assumed, as its limits are computed")
        case _:
            return None


def _most_boxes(node: OnnxNode, facts: Mapping[str, Fact]) -> int:
    """Boxes of all batches and classes."""
    boxes, scores = facts[node.input(0)].shape, facts[node.input(1)].shape
    if len(boxes) != 3 or len(scores) != 3:
        raise fault(node, f"its boxes {list(boxes)} and scores {list(scores)} must have 3 axes")
    limit = facts[node.input(2)].array if node.input(2) else None
    most = boxes[1] if limit is None or limit.size != 1 else min(boxes[1], max(1, int(limit.item())))
    return scores[0] * scores[1] * most


def _compressed(node: OnnxNode, x: Fact) -> SizedOutput | None:
    if "axis" not in node.attributes:
        return SizedOutput((x.elements,), 0, "if the condition always holds")
    axis = node.integer("axis", 0)
    if not -len(x.shape) <= axis < len(x.shape):
        return None
    return SizedOutput(x.shape, axis % len(x.shape), "if the condition always holds")


def given_shape(
    node: OnnxNode, name: str, given: tuple[int, ...], bound: SizedOutput | None
) -> tuple[int, ...]:
    """The shape that ``--shape`` gives: all sizes, or only the unknown one."""
    if bound is None or len(given) == len(bound.shape):
        return given
    if len(given) == 1:
        return (*bound.shape[: bound.place], given[0], *bound.shape[bound.place + 1 :])
    what = f"--shape gives its output {name!r} {len(given)} sizes; it has {len(bound.shape)}"
    raise fault(node, what, f"give all, or only the unknown one: --shape {name}={bound.shape[bound.place]}")
