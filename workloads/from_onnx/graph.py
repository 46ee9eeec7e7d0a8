"""Data of the ONNX importer: nodes, control flow, what is known of each tensor, and errors about nodes."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from itertools import chain, count
from math import prod
from typing import TYPE_CHECKING, Any

from chipmodel.errors import BadInput, Unshaped
from chipmodel.records import dataclass
from workloads.from_onnx.onnx_package import AttributeProto, GraphProto, NodeProto, inner_graphs, module

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIMIT = 1 << 16
"""Most elements of a constant whose value is kept (assumed): shapes, indices and scales, but no weights."""

ACTIVATION = "activation"
"""The attribute of a node that applies a function to its result, as TensorFlow Lite's arithmetic may."""


@dataclass(frozen=True, slots=True)
class OnnxNode:
    """One node of the file. ``captured`` are tensors of the surrounding graph that its sub-graphs read."""

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    stored: Sequence[AttributeProto] = ()
    """The attributes as the file has them; none for a node that stands for another."""
    captured: tuple[str, ...] = ()
    control: ControlFlow | None = None
    """The sub-graphs of an If, Loop or Scan, once they have been resolved."""
    written: str = ""
    """The operator as the file calls it, where the file is not ONNX."""

    @property
    def label(self) -> str:
        domain = f"{self.domain}." if self.domain else ""
        return f"node {self.name!r} ({self.written or f'{domain}{self.op}'})"

    @property
    def reads(self) -> tuple[str, ...]:
        return tuple(name for name in (*self.inputs, *self.captured) if name)

    @property
    def writes(self) -> tuple[str, ...]:
        return tuple(name for name in self.outputs if name)

    @property
    def output(self) -> str:
        """The name of the first output, empty where it is left out."""
        return self.outputs[0] if self.outputs else ""

    def message(
        self, op: str = "", most: int | None = None, known: Container[str] | None = None
    ) -> NodeProto:
        """This node for the onnx package: as the operator ``op`` of ONNX's own, if given, with at ``most`` so
        many inputs and only those of its attributes that are ``known``."""
        make = module("onnx.helper").make_attribute
        proto = module("onnx").NodeProto(op_type=op or self.op, domain="" if op else self.domain)
        proto.input[:], proto.output[:] = self.inputs[:most], self.outputs
        stored = self.stored or [make(name, value) for name, value in self.attributes.items()]
        proto.attribute.extend(each for each in stored if known is None or each.name in known)
        return proto

    def input(self, index: int) -> str:
        """The name of an input, empty where the node leaves it out."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def integer(self, name: str, default: int) -> int:
        """An integer attribute. Raises BadInput where the file has another type."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise fault(self, f"attribute {name} is {value!r} and must be an integer")
        return value

    def number(self, name: str, default: float) -> float:
        """A number. Raises BadInput where the file has another type."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int | float):
            raise fault(self, f"attribute {name} is {value!r} and must be a number")
        return float(value)

    def integers(self, name: str) -> tuple[int, ...]:
        """A list of integers, empty where the node leaves it out."""
        value: Any = self.attributes.get(name, ())
        items = as_tuple(value)
        if not isinstance(value, tuple) or not all(isinstance(item, int) for item in items):
            raise fault(self, f"attribute {name} is {value!r} and must be a list of integers")
        return items

    def text(self, name: str, default: str) -> str:
        """A string attribute."""
        value = self.attributes.get(name, default)
        return value if isinstance(value, str) else default


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The nodes of a sub-graph that have to run, and its ``results``: outputs, "" for those never read."""

    name: str
    nodes: tuple[OnnxNode, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CarriedTensor:
    """A tensor that a loop hands from iteration to iteration.

    ``inside`` and ``result`` are the body's input and output, ``first`` and ``last`` the tensors with the
    value before and after the loop; ``last`` is "" where nothing reads it.
    """

    first: str
    inside: str
    result: str
    last: str


@dataclass(frozen=True, slots=True)
class SlicedTensor:
    """``whole`` is a tensor outside the loop, ``piece`` the slice of it that one iteration reads or makes."""

    whole: str
    piece: str


@dataclass(frozen=True, slots=True)
class ControlFlow:
    """An If (two bodies), or a Loop or Scan (one body, with its iterations and tensors)."""

    bodies: tuple[Subgraph, ...]
    min_iterations: int = 1
    max_iterations: int = 1
    counter: str = ""
    """The body's input with the number of the iteration; "" where nothing reads it."""
    carried: tuple[CarriedTensor, ...] = ()
    scanned: tuple[SlicedTensor, ...] = ()
    """Slices that iterations read."""
    stacked: tuple[SlicedTensor, ...] = ()
    """Slices that iterations make."""

    @property
    def loop_results(self) -> tuple[str, ...]:
        """What an iteration of a loop makes: whether it goes on, the carried tensors, the slices."""
        names = (*self.bodies[0].results, *(t.result for t in self.carried), *(t.piece for t in self.stacked))
        return tuple(filter(None, names))

    @property
    def loop_inputs(self) -> frozenset[str]:
        """The tensors that an iteration of a loop is given."""
        names = (self.counter, *(t.inside for t in self.carried), *(t.piece for t in self.scanned))
        return frozenset(filter(None, names))


@dataclass(frozen=True, slots=True)
class Fact:
    """What is known of a tensor before anything is lowered.

    ``element`` is its ``TensorProto.DataType``. A small constant has its value in ``array``. ``origin``
    names the stored weight that a constant is a view of, ``stored`` the element type of that weight, which
    a DequantizeLinear in between does not change.
    """

    name: str
    shape: tuple[int, ...]
    element: int
    constant: bool = False
    array: NDArray[Any] | None = field(default=None, compare=False)
    origin: str = ""
    stored: int = 0
    scale_bytes: int = 0
    """Bytes of the scales that a quantised weight has for its channels, stored with it."""
    zero_channels: int = 0
    """Output channels of a kernel, the first of its axes, whose weights are all zero."""

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def scalar(self) -> bool:
        """Whether this is a constant of one element, which is a parameter of the op that reads it."""
        return self.constant and self.elements == 1


def fault(node: OnnxNode, what: str, hint: str = "export the model again, or correct this node") -> BadInput:
    """An error about one node; ``errors.placed`` adds the name of the file."""
    return BadInput(f"{node.label}: {what}", hint=hint)


def unfit(node: OnnxNode, what: str, hint: str = "export the model again, or correct this node") -> Unshaped:
    """An error about one node that cannot run on the shapes that it is given."""
    return Unshaped(f"{node.label}: {what}", hint=hint)


class ArmRefused(Exception):
    """An arm of an If that cannot run on its shapes, which was seen when it became ops."""

    def __init__(self, arm: tuple[str, str], reason: Unshaped) -> None:
        self.arm, self.reason = arm, reason
        super().__init__(str(reason))


def unused_name(name: str, taken: Container[str]) -> str:
    """``name``, or ``name_2`` and so on where it is taken."""
    numbered = (f"{name}_{number}" for number in count(2))
    return next(each for each in chain((name,), numbered) if each not in taken)


def unique_name(name: str, taken: set[str]) -> str:
    """Return ``unused_name`` and add it to ``taken``."""
    unique = unused_name(name, taken)
    taken.add(unique)
    return unique


def as_tuple(value: Any) -> tuple[Any, ...]:
    """The items of a list, or anything else as the only item."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return (value,)
    items: Sequence[Any] = value  # pyright: ignore[reportUnknownVariableType]
    return tuple(items)


def outer_reads(graph: GraphProto) -> Iterator[str]:
    """The tensors of the surrounding graph that a sub-graph reads."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own |= {name for node in graph.node for name in node.output}
    for node in graph.node:
        inner = (name for inside in inner_graphs(node) for name in outer_reads(inside))
        yield from (name for name in (*node.input, *inner) if name and name not in own)
    yield from (v.name for v in graph.output if v.name not in own)


def sort_nodes(nodes: Sequence[OnnxNode], known: Iterable[str]) -> list[OnnxNode]:
    """Sort nodes topologically; of those that are ready, the first in the file comes first.

    ``known`` are the tensors that exist before. Raises BadInput for a tensor that is produced twice or that
    nothing produces, and for a cycle.
    """
    networkx: Any = import_module("networkx")
    producer = _producers(nodes, known)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(len(nodes)))
    for index, node in enumerate(nodes):
        sources = {producer[name] for name in _checked_reads(node, producer)} - {-1}
        graph.add_edges_from((source, index) for source in sources)
    order: list[int] = []
    try:
        for index in networkx.lexicographical_topological_sort(graph):
            order.append(index)
    except networkx.NetworkXUnfeasible:
        stuck = min({*range(len(nodes))} - {*order})
        hint = "an ONNX graph must be acyclic"
        raise fault(nodes[stuck], "it is part of a cycle, or depends on one", hint) from None
    return [nodes[index] for index in order]


def _producers(nodes: Sequence[OnnxNode], known: Iterable[str]) -> dict[str, int]:
    producer = dict.fromkeys(known, -1)
    for index, node in enumerate(nodes):
        for name in node.writes:
            if name in producer:
                raise fault(node, f"it produces {name!r}, which exists already", "give every tensor one name")
            producer[name] = index
    return producer


def _checked_reads(node: OnnxNode, producer: Mapping[str, int]) -> tuple[str, ...]:
    for name in node.reads:
        if name not in producer:
            what = f"it reads {name!r}, which no node, input or initializer produces"
            raise fault(node, what, "export the model again; its graph is incomplete")
    return node.reads


def live_nodes(nodes: Sequence[OnnxNode], outputs: Iterable[str]) -> list[OnnxNode]:
    """The nodes of a sorted list that some output depends on."""
    wanted = set(outputs)
    kept: list[OnnxNode] = []
    for node in reversed(nodes):
        if wanted.intersection(node.writes):
            kept.append(node)
            wanted.update(node.reads)
    return kept[::-1]
