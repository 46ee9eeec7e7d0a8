"""The importer's first pass: every tensor's shape, and the value of every small constant.

Shapes come node by node from the onnx package's own inference, which is given the values of the small
constants; so the shape arithmetic that exporters leave in a graph folds away, while no weight matrix is
ever computed or copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chipmodel.errors import Place
from workloads.from_onnx.contrib import Outputs
from workloads.from_onnx.control_infer import chosen_branch, infer_control
from workloads.from_onnx.fold import evaluate, folded_without_values
from workloads.from_onnx.graph import Fact, Node, fault, live_nodes, read_nodes, sort_nodes
from workloads.from_onnx.input_shapes import declared_shape, empty_is_constant
from workloads.from_onnx.onnx_file import constant
from workloads.from_onnx.proto import GraphProto, module
from workloads.from_onnx.schema import schema_outputs

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

CONTROL = frozenset(["If", "Loop", "Scan"])

UNSIZED = frozenset(
    [
        "SequenceEmpty",
        "SequenceConstruct",
        "SequenceInsert",
        "SequenceErase",
        "SequenceMap",
        "SplitToSequence",
        "SequenceAt",
        "ConcatFromSequence",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
    ]
)
"""What makes or takes sequences and optionals."""

NEVER_FOLDED = frozenset(
    [
        *UNSIZED,
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
    tensors: set[str] = field(default_factory=set[str])
    """Names that no other tensor may have: those of the main graph and of the sub-graphs seen so far."""
    iterations: Mapping[str, int] = field(default_factory=dict[str, int])
    """Iterations of loops, by the names of their nodes, that the user knows."""
    strict: bool = False
    nodes: list[Node] = field(default_factory=list[Node])
    unknown: dict[str, Node] = field(default_factory=dict[str, Node])
    """Tensors of unknown shape, with the nodes that make them."""
    examples: dict[str, Any] = field(default_factory=dict[str, Any])
    """A value that a tensor has in some iteration of a loop, where shapes depend on it."""
    iterations_used: set[str] = field(default_factory=set[str])

    def run(self, nodes: Sequence[Node]) -> None:
        """Adds a fact for each output of each node."""
        for node in nodes:
            controls = node.op in CONTROL and not node.domain
            self.require(name for name in (node.inputs if controls else node.reads) if name)
            branch = chosen_branch(self, node) if controls and node.op == "If" else None
            if branch is not None:
                self._inline(node, branch)
            elif controls:
                infer_control(self, node)
            elif not self._fold(node):
                self._infer(node)

    def inside(self, graph: GraphProto) -> Inference:
        """The same for a sub-graph: it knows all that is known here, and the other way round."""
        self._declare(graph)
        return replace(self, nodes=[])

    def approximate(self, node: Node, what: str) -> None:
        """Note, or with ``strict`` refuse, what can only be modelled roughly."""
        if self.strict:
            raise fault(node, what, "leave out --strict to have it costed so")
        self.notes.append(f"{node.label}: {what}")

    def require(self, names: Iterable[str]) -> None:
        """BadInput for a tensor whose shape could not be worked out: only those that are read matter."""
        for name in names:
            if name in self.unknown:
                node = self.unknown[name]
                if node.op in UNSIZED and not node.domain:
                    raise fault(
                        node,
                        f"its output {name!r} is a sequence or an optional, which has no fixed size",
                        "export the model with tensors only",
                    )
                raise fault(
                    node,
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
                self.unknown[name] = node
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

    def _declare(self, graph: GraphProto) -> None:
        for tensor in graph.initializer:
            self.facts[tensor.name] = constant(tensor, tensor.name, self.folder, self.where)
        for sparse in graph.sparse_initializer:
            name, kind = sparse.values.name, sparse.values.data_type
            self.facts[name] = Fact(name, tuple(sparse.dims), kind, True, None, name, kind)
        self.declared.update(declarations(graph, {}))

    def _inline(self, node: Node, branch: GraphProto) -> None:
        self._declare(branch)
        known = {*self.facts, *self.unknown}
        results = [info.name for info in branch.output]
        self.run(live_nodes(sort_nodes(read_nodes(branch, self.names), known), results))
        for name, inner in zip(node.outputs, results, strict=True):
            if name:
                if inner not in self.facts and inner not in self.unknown:
                    raise fault(node, f"its branch gives {inner!r}, which nothing in it produces")
                self.require([inner])
                self.alias(node, inner, name)

    def alias(self, node: Node, inner: str, name: str) -> None:
        """Let ``name`` be the tensor ``inner``, which is known."""
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
                self.unknown[name] = node
            else:
                self.facts[name] = _checked(node, Fact(name, shape, element or self._element(node)))
        self.nodes.append(node)
        if any(name in self.examples for name in node.reads):
            self._exemplify(node, shapes)

    def _element(self, node: Node) -> int:
        return self.facts[node.reads[0]].element if node.reads else 1

    def _shapes(self, node: Node) -> dict[str, tuple[int, tuple[int, ...] | None]]:
        """Element type and shape of each output; what inference leaves open, the file may tell."""
        found = schema_outputs(node, self.facts, self.opsets)
        for name in node.writes:
            element, shape = found.get(name, (0, None))
            told_element, told_shape = self.declared.get(name, (0, None))
            found[name] = (element or told_element, shape if shape is not None else told_shape)
        if any(found[n][1] is None for n in node.writes) and any(n in self.examples for n in node.reads):
            return self._shapes_in_some_iteration(node, found)
        return found

    def _shapes_in_some_iteration(self, node: Node, found: Outputs) -> Outputs:
        """Shapes that depend on the iteration, as they are in the last (of what an iteration changes, in the
        first)."""
        example = schema_outputs(node, self._exemplary(node), self.opsets)
        for name in node.writes:
            if found[name][1] is None and example.get(name, (0, None))[1] is not None:
                taken = list(example[name][1] or ())
                what = f"the shape of {name!r} depends on the iteration of the loop; {taken} is taken"
                self.approximate(node, what)
                found[name] = example[name]
        return found

    def _exemplary(self, node: Node) -> dict[str, Fact]:
        facts = {name: self.facts[name] for name in node.reads}
        values = {n: replace(f, array=self.examples[n]) for n, f in facts.items() if n in self.examples}
        return facts | values

    def _exemplify(self, node: Node, shapes: Outputs) -> None:
        facts = self._exemplary(node)
        if all(fact.array is not None for fact in facts.values()):
            known = [shapes.get(name, (0, None))[1] for name in node.outputs]
            self.examples.update(evaluate(node, facts, self.opsets, known))


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
