"""The importer's first pass: every tensor's shape, and the value of every small constant.

Shapes come node by node from the onnx package's own inference, which is given the values of the small
constants; so the shape arithmetic that exporters leave in a graph folds away, while no weight matrix is
ever computed or copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chipmodel.errors import Place
from workloads.onnx_contrib import STANDARD_FORM, contrib_outputs
from workloads.onnx_file import constant
from workloads.onnx_fold import evaluate, folded_without_values
from workloads.onnx_graph import Fact, Node, fault, read_nodes, sort_nodes
from workloads.onnx_shapes import declared_shape

if TYPE_CHECKING:
    from onnx import GraphProto, TensorProto, TypeProto

VIEWS_OF_CONSTANTS = frozenset(
    "Identity Reshape Flatten Squeeze Unsqueeze Transpose Cast CastLike QuantizeLinear DequantizeLinear".split()
)
"""On a weight these are done once, before deployment: the result is the same weight."""

NEVER_FOLDED = frozenset(
    "If Loop Scan RandomNormal RandomUniform RandomNormalLike RandomUniformLike Multinomial Bernoulli".split()
)

SAME_AS_INPUT = frozenset(["GroupNormalization", "MeanVarianceNormalization", "SimplifiedLayerNormalization"])
"""Operators for which some version of the onnx package has no inference."""

POSITIVE = (
    "kernel_shape strides dilations group blocksize num_outputs num_groups hidden_size output_shape "
    "q_num_heads kv_num_heads num_heads"
).split()
"""Attributes that count something. Older onnx packages divide by them before they look."""

FAULTS = (RuntimeError, ValueError, TypeError, LookupError, ArithmeticError)


@dataclass(slots=True)
class Inference:
    """Walks nodes in execution order; ``facts`` and ``nodes`` (what is left to run) are the result."""

    where: Place
    folder: Path
    opsets: Mapping[str, int]
    notes: list[str]
    facts: dict[str, Fact]
    declared: dict[str, tuple[int, tuple[int, ...] | None]]
    """The element type and, where it is fixed, shape that the file itself gives a tensor."""
    names: set[str]
    nodes: list[Node] = field(default_factory=list[Node])
    _types: dict[str, TypeProto] = field(default_factory=dict[str, "TypeProto"])

    def run(self, nodes: Sequence[Node]) -> None:
        """Adds a fact for each output of each node."""
        for node in nodes:
            branch = self._chosen_branch(node)
            if branch is not None:
                self._inline(node, branch)
            elif not self._fold(node):
                self._infer(node)

    # -- constants -----------------------------------------------------------------------------

    def _fold(self, node: Node) -> bool:
        """Whether all outputs of ``node`` are constants, whose facts are then added."""
        if node.op in NEVER_FOLDED:
            return False
        if node.op == "Constant" and not node.domain:
            self._constant(node)
            return True
        fact = folded_without_values(node, self.facts)
        if fact is not None:
            self.facts[fact.name] = fact
            return True
        inputs = [self.facts[name] for name in node.reads]
        if not all(fact.constant for fact in inputs):
            return False
        shapes = self._constant_shapes(node)
        source = inputs[0] if inputs and node.op in VIEWS_OF_CONSTANTS else None
        for name, (shape, element, array) in shapes.items():
            origin, stored = (source.origin, source.stored) if source else (name, element)
            self.facts[name] = Fact(name, shape, element, True, array, origin, stored)
        return True

    def _constant_shapes(self, node: Node) -> dict[str, tuple[tuple[int, ...], int, Any]]:
        """Shape, element type and (where all is small) value of the outputs of a constant node."""
        inferred = self._shapes(node)
        arrays = evaluate(node, self.facts, self.opsets, [inferred.get(n, (0, None))[1] for n in node.outputs])
        result: dict[str, tuple[tuple[int, ...], int, Any]] = {}
        for name in node.writes:
            element, shape = inferred.get(name, (1, None))
            array = arrays.get(name)
            result[name] = (self._known(node, name, array.shape if array is not None else shape), element, array)
        return result

    def _constant(self, node: Node) -> None:
        from onnx import TensorProto, numpy_helper

        name = node.output
        value: Any = next(iter(node.attributes.values()), None)
        if isinstance(value, TensorProto):
            self.facts[name] = constant(value, name, self.folder, self.where)
            return
        import numpy

        if not isinstance(value, int | float | str | tuple):
            raise fault(node, "it has no value that can be read")
        kind = numpy.int64 if "value_int" in node.attributes or "value_ints" in node.attributes else numpy.float32
        text = isinstance(value, str) or "value_strings" in node.attributes
        tensor = numpy_helper.from_array(numpy.array(value, numpy.object_ if text else kind), name)
        self.facts[name] = constant(tensor, name, self.folder, self.where)

    # -- sub-graphs ----------------------------------------------------------------------------

    def _chosen_branch(self, node: Node) -> GraphProto | None:
        """The branch of an If whose condition is known."""
        if node.op != "If" or node.domain:
            return None
        condition = self.facts[node.input(0)] if node.input(0) else None
        if condition is None or condition.array is None or condition.array.size != 1:
            return None
        branch = node.attributes.get("then_branch" if condition.array.item() else "else_branch")
        if branch is None or len(branch.output) != len(node.outputs):
            raise fault(node, "its branches do not have one output for each of its own")
        return branch

    def _inline(self, node: Node, branch: GraphProto) -> None:
        for tensor in branch.initializer:
            self.facts[tensor.name] = constant(tensor, tensor.name, self.folder, self.where)
        self.declared.update(declarations(branch, {}))
        self.run(sort_nodes(read_nodes(branch, self.names), self.facts))
        for name, inner in zip(node.outputs, branch.output, strict=True):
            if name:
                self._alias(node, inner.name, name)

    def _alias(self, node: Node, inner: str, name: str) -> None:
        from onnx import helper

        proto = helper.make_node("Identity", [inner], [name], name=f"{node.name}.{name}")
        identity = Node(proto.name, "Identity", "", (inner,), (name,), {}, proto)
        if not self._fold(identity):
            self._infer(identity)

    # -- shapes --------------------------------------------------------------------------------

    def _infer(self, node: Node) -> None:
        shapes = self._shapes(node)
        for name in node.writes:
            element, shape = shapes.get(name, (0, None))
            fact = Fact(name, self._known(node, name, shape), element or self._element(node))
            self.facts[name] = _checked(node, fact)
        self.nodes.append(node)

    def _element(self, node: Node) -> int:
        return self.facts[node.reads[0]].element if node.reads else 1

    def _known(self, node: Node, name: str, shape: tuple[int, ...] | None) -> tuple[int, ...]:
        if shape is not None:
            return shape
        raise fault(
            node,
            f"the shape of its output {name!r} is not known",
            "it depends on data or the operator is foreign: export with static shapes, or add the shape of "
            f"{name!r} to the graph's value_info",
        )

    def _shapes(self, node: Node) -> dict[str, tuple[int, tuple[int, ...] | None]]:
        """Element type and shape of each output; what inference leaves open, the file may tell."""
        found = self._by_schema(node)
        for name in node.writes:
            element, shape = found.get(name, (0, None))
            told_element, told_shape = self.declared.get(name, (0, None))
            found[name] = (element or told_element, shape if shape is not None else told_shape)
        return found

    def _by_schema(self, node: Node) -> dict[str, tuple[int, tuple[int, ...] | None]]:
        _check_counts(node)
        contrib = contrib_outputs(node, self.facts)
        if contrib is not None:
            return contrib
        standard = STANDARD_FORM.get(node.op) if node.domain else None
        if node.domain and standard is None:
            return {}
        try:
            found = self._onnx_inference(node, standard or node.op)
        except FAULTS as error:
            raise fault(node, _reason(error), "export the model again, or mend this node") from None
        if node.op in SAME_AS_INPUT and found.get(node.output, (0, None))[1] is None:
            first = self.facts[node.input(0)]
            found[node.output] = (first.element, first.shape)
        return found

    def _onnx_inference(self, node: Node, op: str) -> dict[str, tuple[int, tuple[int, ...] | None]]:
        from onnx import checker, defs, helper, shape_inference

        version = self.opsets[""]
        try:
            schema = defs.get_schema(op, defs.onnx_opset_version() if node.domain else version, "")
        except defs.SchemaError:
            return {}
        try:
            outputs = shape_inference.infer_node_outputs(
                schema,
                _standard_node(node, op, schema) if node.domain else node.proto,
                {name: self._type(name) for name in node.reads},
                self._data(node),
                opset_imports=[helper.make_opsetid("", version)],
                ir_version=8,
            )
        except (shape_inference.InferenceError, checker.ValidationError) as error:
            raise ValueError(_reason(error)) from None
        return {name: _read_type(proto) for name, proto in outputs.items()}

    def _type(self, name: str) -> TypeProto:
        if name not in self._types:
            from onnx import helper

            fact = self.facts[name]
            self._types[name] = helper.make_tensor_type_proto(fact.element, fact.shape)
        return self._types[name]

    def _data(self, node: Node) -> dict[str, TensorProto]:
        """The constants that may be shapes, axes, sizes or scales; inference reads only small vectors."""
        from onnx import numpy_helper

        facts = {name: self.facts[name] for name in node.inputs if name}
        return {
            name: numpy_helper.from_array(fact.array, name)
            for name, fact in facts.items()
            if fact.array is not None and fact.array.ndim <= 1 and fact.array.size <= 1024
        }


def _check_counts(node: Node) -> None:
    for name in POSITIVE:
        if name not in node.attributes:
            continue
        value = node.attributes[name]
        counts = value if isinstance(value, tuple) else (value,)
        if any(isinstance(count, int) and count < 1 for count in counts):
            shown = list(counts) if isinstance(value, tuple) else value
            raise fault(node, f"attribute {name} is {shown}", "it must be at least 1")


def _checked(node: Node, fact: Fact) -> Fact:
    """``fact``; BadInput where a size is not positive. A slice of nothing is an empty constant."""
    from workloads.onnx_shapes import empty_is_constant

    empty_allowed = node.op in {"Slice", "Split", "Gather", "Identity", "Cast", "Reshape", "Concat", "Transpose"}
    if any(size < 0 for size in fact.shape) or (not fact.elements and not empty_allowed):
        raise fault(
            node,
            f"its output {fact.name!r} gets the shape {list(fact.shape)}",
            "check its kernel, strides, padding and axes against the shape of its input",
        )
    return empty_is_constant(fact)


def _standard_node(node: Node, op: str, schema: Any) -> Any:
    """A foreign node as the standard one that it extends: without the attributes that it adds."""
    from onnx import NodeProto

    plain = NodeProto()
    plain.CopyFrom(node.proto)
    plain.domain, plain.op_type = "", op
    del plain.attribute[:]
    plain.attribute.extend(a for a in node.proto.attribute if a.name in schema.attributes)
    del plain.input[schema.max_input :]
    return plain


def _read_type(proto: TypeProto) -> tuple[int, tuple[int, ...] | None]:
    kind = proto.tensor_type
    if not kind.HasField("shape") or not all(d.HasField("dim_value") for d in kind.shape.dim):
        return kind.elem_type, None
    return kind.elem_type, tuple(d.dim_value for d in kind.shape.dim)


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text.removeprefix("[ShapeInferenceError] ").removeprefix("[TypeInferenceError] ")[:300]


def declarations(
    graph: GraphProto, symbols: Mapping[str, int]
) -> dict[str, tuple[int, tuple[int, ...] | None]]:
    """What the file says of its own tensors; a shape only where ``symbols`` fix all of it."""
    told: dict[str, tuple[int, tuple[int, ...] | None]] = {}
    for info in (*graph.value_info, *graph.output):
        sizes = [symbols.get(d, d) if isinstance(d, str) else d for d in declared_shape(info) or ("?",)]
        fixed = tuple(d for d in sizes if isinstance(d, int))
        scalar = declared_shape(info) == ()
        whole = () if scalar else fixed if len(fixed) == len(sizes) else None
        told[info.name] = (info.type.tensor_type.elem_type, whole)
    return told

