"""The importer's first pass: every tensor's shape, and the value of every small constant.

Shapes come node by node from the onnx package's own inference, which is given the values of the small
constants; so the shape arithmetic that exporters leave in a graph folds away, while no weight matrix is
ever computed or copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chipmodel.errors import Place
from workloads.onnx_contrib import Outputs
from workloads.onnx_file import constant
from workloads.onnx_fold import evaluate, folded_without_values
from workloads.onnx_graph import Fact, Node, fault, read_nodes, sort_nodes
from workloads.onnx_proto import GraphProto, module
from workloads.onnx_schema import schema_outputs
from workloads.onnx_shapes import declared_shape, empty_is_constant

VIEWS_OF_CONSTANTS = frozenset(
    [
        "Identity",
        "Reshape",
        "Flatten",
        "Squeeze",
        "Unsqueeze",
        "Transpose",
        "Cast",
        "CastLike",
        "QuantizeLinear",
        "DequantizeLinear",
    ]
)
"""On a weight these are done once, before deployment: the result is the same weight."""

NEVER_FOLDED = frozenset(
    [
        "If",
        "Loop",
        "Scan",
        "RandomNormal",
        "RandomUniform",
        "RandomNormalLike",
        "RandomUniformLike",
        "Multinomial",
        "Bernoulli",
    ]
)


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
    _unknown: dict[str, Node] = field(default_factory=dict[str, Node])

    def run(self, nodes: Sequence[Node]) -> None:
        """Adds a fact for each output of each node."""
        for node in nodes:
            self.require(node.reads)
            branch = self._chosen_branch(node)
            if branch is not None:
                self._inline(node, branch)
            elif not self._fold(node):
                self._infer(node)

    def require(self, names: Iterable[str]) -> None:
        """BadInput for a tensor whose shape could not be worked out: only those that are read matter."""
        for name in names:
            if name in self._unknown:
                raise fault(
                    self._unknown[name],
                    f"the shape of its output {name!r} is not known",
                    "it depends on data or the operator is foreign: export with static shapes, or add the "
                    f"shape of {name!r} to the graph's value_info",
                )

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
        arrays = evaluate(
            node, self.facts, self.opsets, [inferred.get(n, (0, None))[1] for n in node.outputs]
        )
        result: dict[str, tuple[tuple[int, ...], int, Any]] = {}
        for name in node.writes:
            element, shape = inferred.get(name, (1, None))
            array = arrays.get(name)
            shape = array.shape if array is not None else shape
            if shape is None:
                self._unknown[name] = node
            else:
                result[name] = (shape, element, array)
        return result

    def _constant(self, node: Node) -> None:
        name = node.output
        value: Any = next(iter(node.attributes.values()), None)
        if isinstance(value, module("onnx").TensorProto):
            self.facts[name] = constant(value, name, self.folder, self.where)
            return
        import numpy

        if not isinstance(value, int | float | str | tuple):
            raise fault(node, "it has no value that can be read")
        kind = (
            numpy.int64
            if "value_int" in node.attributes or "value_ints" in node.attributes
            else numpy.float32
        )
        text = isinstance(value, str) or "value_strings" in node.attributes
        tensor = module("onnx.numpy_helper").from_array(
            numpy.array(value, numpy.object_ if text else kind), name
        )
        self.facts[name] = constant(tensor, name, self.folder, self.where)

    # -- sub-graphs ----------------------------------------------------------------------------

    def _chosen_branch(self, node: Node) -> GraphProto | None:
        """The branch of an If whose condition is known."""
        if node.op != "If" or node.domain:
            return None
        condition = self.facts[node.input(0)] if node.input(0) else None
        if condition is None or condition.array is None or condition.array.size != 1:
            return None
        branch: GraphProto | None = node.attributes.get(
            "then_branch" if condition.array.item() else "else_branch"
        )
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
        proto = module("onnx.helper").make_node("Identity", [inner], [name], name=f"{node.name}.{name}")
        identity = Node(proto.name, "Identity", "", (inner,), (name,), {}, proto)
        if not self._fold(identity):
            self._infer(identity)

    # -- shapes --------------------------------------------------------------------------------

    def _infer(self, node: Node) -> None:
        shapes = self._shapes(node)
        for name in node.writes:
            element, shape = shapes.get(name, (0, None))
            if shape is None:
                self._unknown[name] = node
            else:
                self.facts[name] = _checked(node, Fact(name, shape, element or self._element(node)))
        self.nodes.append(node)

    def _element(self, node: Node) -> int:
        return self.facts[node.reads[0]].element if node.reads else 1

    def _shapes(self, node: Node) -> dict[str, tuple[int, tuple[int, ...] | None]]:
        """Element type and shape of each output; what inference leaves open, the file may tell."""
        found = schema_outputs(node, self.facts, self.opsets)
        told = {**self.declared, **_told_by_body(node)}
        for name in node.writes:
            element, shape = found.get(name, (0, None))
            told_element, told_shape = told.get(name, (0, None))
            found[name] = (element or told_element, shape if shape is not None else told_shape)
        return found


def _checked(node: Node, fact: Fact) -> Fact:
    """``fact``; BadInput where a size is not positive. A slice of nothing is an empty constant."""
    empty_allowed = node.op in {
        "Slice",
        "Split",
        "Gather",
        "Identity",
        "Cast",
        "Reshape",
        "Concat",
        "Transpose",
    }
    if any(size < 0 for size in fact.shape) or (not fact.elements and not empty_allowed):
        raise fault(
            node,
            f"its output {fact.name!r} gets the shape {list(fact.shape)}",
            "check its kernel, strides, padding and axes against the shape of its input",
        )
    return empty_is_constant(fact)


def _told_by_body(node: Node) -> Outputs:
    """What the sub-graph of an If or a Loop says of its results; a Loop's first is its condition."""
    if node.domain or node.op not in ("If", "Loop"):
        return {}
    body: GraphProto | None = node.attributes.get("then_branch" if node.op == "If" else "body")
    if body is None:
        return {}
    told, skipped = declarations(body, {}), int(node.op == "Loop")
    results = [info.name for info in body.output][skipped:]
    carried = len(node.outputs) if node.op == "If" else len(node.inputs) - 2
    return {name: told[result] for name, result in list(zip(node.outputs, results, strict=False))[:carried]}


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
        if whole is not None or info.name not in told:
            told[info.name] = (info.type.tensor_type.elem_type, whole)
    return told
