"""The importer's first pass: the shape of every tensor, and the value of every small constant.

Shapes come node by node from the onnx package's own inference, which is given the values of small constants.
So the shape arithmetic that exporters leave in a graph folds away, and no weight matrix is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from chipmodel.errors import BadInput, Unshaped
from workloads.build.read_options import READ, Reading
from workloads.from_onnx.constant_folding import evaluate, folded_without_values
from workloads.from_onnx.contrib_shapes import Outputs
from workloads.from_onnx.graph import Fact, OnnxNode, fault, unfit
from workloads.from_onnx.input_shapes import declared_shape, empty_is_constant
from workloads.from_onnx.node_shapes import given_shape, schema_outputs, sized_output
from workloads.from_onnx.onnx_file import constant, stored
from workloads.from_onnx.onnx_package import GraphProto, module
from workloads.from_onnx.operator_table import operators
from workloads.from_onnx.views import RESHAPES

VIEWS_OF_CONSTANTS = RESHAPES | {"Transpose", "Cast", "QuantizeLinear", "DequantizeLinear"}
"""Operators that are applied to a weight once, before deployment: the result is the same weight."""

ControlHandler = Callable[["Inference", OnnxNode], None]
"""Adds the facts of the outputs of a node with sub-graphs, and the node itself where it has to run."""

UNSIZED, MAY_BE_EMPTY = operators("unsized"), operators("may_be_empty")
NEVER_FOLDED = UNSIZED | operators("random")


@dataclass(slots=True)
class Inference:
    """Visits nodes in execution order; collects ``facts``, and ``nodes`` that have to run on the chip."""

    folder: Path
    opsets: Mapping[str, int]
    notes: list[str]
    facts: dict[str, Fact]
    declared: dict[str, tuple[int, tuple[int, ...] | None]]
    """The element type and, where it is fixed, the shape that the file declares for a tensor."""
    names: set[str]
    """Names of nodes that are in use."""
    tensors: set[str]
    """Names of tensors that are in use: of the main graph and of the sub-graphs seen so far."""
    control_handlers: Mapping[str, ControlHandler]
    """The handlers of If, Loop and Scan, by operator."""
    reading: Reading = field(default_factory=Reading)
    nodes: list[OnnxNode] = field(default_factory=list[OnnxNode])
    unknown: dict[str, OnnxNode] = field(default_factory=dict[str, OnnxNode])
    """Tensors of unknown shape, with the nodes that make them."""
    examples: dict[str, Any] = field(default_factory=dict[str, Any])
    """The value of a tensor in one iteration of a loop, for shapes that depend on it."""
    loops: set[str] = field(default_factory=set[str])
    """Names of loops."""
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """The option ``--shape``, by the names of tensors that nodes make."""
    sizes_used: set[str] = field(default_factory=set[str])
    refused: Mapping[tuple[str, str], Unshaped] = field(default_factory=dict[tuple[str, str], Unshaped])
    """Why arms of an If cannot run, by its node and the arm, where that was seen when they became ops."""

    def run(self, nodes: Sequence[OnnxNode]) -> None:
        """Add a fact for each output of each node. Raises TimeIsOver."""
        for node in nodes:
            self.reading.deadline.require(READ)
            control = None if node.domain else self.control_handlers.get(node.op)
            self.require(name for name in (node.inputs if control else node.reads) if name)
            if control:
                control(self, node)
                continue
            plain = self._cast(node) if node.op == "CastLike" and not node.domain else node
            self._infer(plain)

    def _cast(self, node: OnnxNode) -> OnnxNode:
        """The Cast that a CastLike is."""
        attributes = {"to": self.facts[node.input(1)].element if node.input(1) else 0}
        return replace(node, op="Cast", inputs=node.inputs[:1], attributes=attributes, stored=())

    def inside(self, graph: GraphProto) -> Inference:
        """An inference for a sub-graph, which shares all facts with this one, also of its initializers."""
        self.facts.update({fact.name: fact for fact in stored(graph, self.folder)})
        self.declared.update(declarations(graph, {}))
        return replace(self, nodes=[])

    def alias(self, node: OnnxNode, inner: str, name: str) -> None:
        """Let ``name`` be the tensor ``inner``, which is known."""
        identity = OnnxNode(f"{node.name}.{name}", "Identity", "", (inner,), (name,), {})
        self._infer(identity)

    def approximate(self, node: OnnxNode, what: str) -> None:
        """Note what is only approximated; with ``strict``, refuse it."""
        if self.reading.strict:
            raise fault(node, what, "leave out --strict to accept the approximation")
        self.notes.append(f"{node.label}: {what}")

    def require(self, names: Iterable[str]) -> None:
        """Raise BadInput where the shape of one of these tensors is not known."""
        for name in names:
            if name in self.unknown:
                node = self.unknown[name]
                if node.op in UNSIZED and not node.domain:
                    what = f"its output {name!r} is a sequence or an optional, which has no fixed size"
                    raise fault(node, what, "export the model with tensors only")
                raise fault(
                    node,
                    f"the shape of its output {name!r} is not known",
                    f"say it as in --shape {name}=1,128 (it depends on data, "
                    f"or the operator is not ONNX's own); "
                    f"or add the shape of {name!r} to the graph's value_info",
                )

    # -- constants -----------------------------------------------------------------------------

    def _constant(self, node: OnnxNode) -> None:
        value: Any = node.attributes.get("value")
        if not isinstance(value, module("onnx").TensorProto):
            arrays = evaluate(node, {}, self.opsets, ())
            if node.output not in arrays:
                raise fault(node, "it has no value that can be read")
            value = module("onnx.numpy_helper").from_array(arrays[node.output], node.output)
        self.facts[node.output] = constant(value, node.output, self.folder)

    # -- shapes --------------------------------------------------------------------------------

    def _infer(self, node: OnnxNode) -> None:
        """Add the facts of a node's outputs, constants where all its operands are; others have to run."""
        if node.op == "Constant" and not node.domain:
            self._constant(node)
            return
        if (fact := folded_without_values(node, self.facts)) is not None:
            self.facts[fact.name] = fact
            return
        inputs = [self.facts[name] for name in node.reads]
        constant = node.op not in NEVER_FOLDED and all(fact.constant for fact in inputs)
        shapes = self._shapes(node)
        known = [shapes[name][1] if name else None for name in node.outputs]
        arrays = evaluate(node, self.facts, self.opsets, known) if constant else {}
        view = inputs[0] if constant and inputs and node.op in VIEWS_OF_CONSTANTS else None
        for name in node.writes:
            element, shape = shapes[name]
            array = arrays.get(name)
            shape = array.shape if array is not None else shape
            shape = self._data_dependent(node, name) if shape is None else shape
            element = element or self._element(node)
            if shape is None:
                self.unknown[name] = node
            elif constant:
                origin, stored = (view.origin, view.stored) if view else (name, element)
                self.facts[name] = Fact(name, shape, element, True, array, origin, stored)
            else:
                self.facts[name] = _checked(node, Fact(name, shape, element))
        if not constant:
            self.nodes.append(node)
        if any(name in self.examples for name in node.reads):
            self._evaluate_examples(node, shapes)

    def _element(self, node: OnnxNode) -> int:
        return self.facts[node.reads[0]].element if node.reads else 1

    def _shapes(self, node: OnnxNode) -> dict[str, tuple[int, tuple[int, ...] | None]]:
        """Element type and shape of each output; where inference gives none, what the file declares."""
        try:
            outputs = schema_outputs(node, self.facts, self.opsets)
        except BadInput as error:
            raise Unshaped(error.what, hint=error.hint) from None
        for name in node.writes:
            element, shape = outputs.get(name, (0, None))
            given_element, given_shape = self.declared.get(name, (0, None))
            outputs[name] = (element or given_element, shape if shape is not None else given_shape)
        if any(outputs[n][1] is None for n in node.writes) and any(n in self.examples for n in node.reads):
            return self._shapes_in_one_iteration(node, outputs)
        return outputs

    def _data_dependent(self, node: OnnxNode, name: str) -> tuple[int, ...] | None:
        """The shape of an output that ``--shape`` gives or the operands bound; None for others."""
        bound = sized_output(node, name, self.facts)
        if name in self.sizes:
            self.sizes_used.add(name)
            return given_shape(node, name, self.sizes[name], bound)
        if bound is not None:
            taken = f"the size of its output {name!r} depends on data; {list(bound.shape)} is taken"
            self.approximate(
                node, f"{taken}, {bound.why} (--shape {name}={bound.shape[bound.place]} sets it)"
            )
        return bound.shape if bound is not None else None

    def _shapes_in_one_iteration(self, node: OnnxNode, outputs: Outputs) -> Outputs:
        """Add shapes that depend on the iteration, as the last counter and first carried values give them."""
        example = schema_outputs(node, self._with_examples(node), self.opsets)
        for name in node.writes:
            if outputs[name][1] is None and example.get(name, (0, None))[1] is not None:
                taken = list(example[name][1] or ())
                what = f"the shape of {name!r} depends on the iteration of the loop; {taken} is taken"
                self.approximate(node, what)
                outputs[name] = example[name]
        return outputs

    def _with_examples(self, node: OnnxNode) -> dict[str, Fact]:
        facts = {name: self.facts[name] for name in node.reads}
        values = {n: replace(f, array=self.examples[n]) for n, f in facts.items() if n in self.examples}
        return facts | values

    def _evaluate_examples(self, node: OnnxNode, shapes: Outputs) -> None:
        facts = self._with_examples(node)
        if all(fact.array is not None for fact in facts.values()):
            known = [shapes.get(name, (0, None))[1] for name in node.outputs]
            self.examples.update(evaluate(node, facts, self.opsets, known))


def _checked(node: OnnxNode, fact: Fact) -> Fact:
    """``fact``, an empty tensor as a constant. Raises BadInput for sizes that the operator cannot give."""
    if any(size < 0 for size in fact.shape) or (not fact.elements and node.op not in MAY_BE_EMPTY):
        what = f"its output {fact.name!r} gets the shape {list(fact.shape)}"
        raise unfit(node, what, "check its kernel, strides, padding and axes against the shape of its input")
    return empty_is_constant(fact)


def declarations(
    graph: GraphProto, symbols: Mapping[str, int]
) -> dict[str, tuple[int, tuple[int, ...] | None]]:
    """Element type and shape that the file declares; no shape where ``symbols`` leave a size open."""
    declared: dict[str, tuple[int, tuple[int, ...] | None]] = {}
    for info in (*graph.value_info, *graph.output):
        sizes = [symbols.get(d, d) if isinstance(d, str) else d for d in declared_shape(info) or ("?",)]
        fixed = tuple(d for d in sizes if isinstance(d, int))
        scalar = declared_shape(info) == ()
        whole = () if scalar else fixed if len(fixed) == len(sizes) else None
        if whole is not None or info.name not in declared:
            declared[info.name] = (info.type.tensor_type.elem_type, whole)
    return declared
