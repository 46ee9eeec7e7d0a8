"""The words of the ONNX importer: a node, what is known of a tensor, and how faults are told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

from chipmodel.errors import BadInput, Place
from workloads.from_onnx.proto import GraphProto, NodeProto, module

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workloads.from_onnx.bodies import Control

LIMIT = 1 << 16
"""Constants of at most so many elements keep their value: shapes, indices, scales; not weight matrices."""

ELEMENT_NAMES: Mapping[int, str] = {
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    12: "uint32",
    13: "uint64",
    21: "uint4",
    22: "int4",
}
"""``onnx.TensorProto.DataType`` to the deployed type of the element types that are kept as they are."""

FLOATS = frozenset({1, 10, 11, 16, 17, 18, 19, 20, 23, 24})
"""FLOAT, FLOAT16, DOUBLE, BFLOAT16, the FLOAT8 and FLOAT4 types: these become the deployed type."""


@dataclass(frozen=True, slots=True)
class Node:
    """One node of the file. ``captured`` are the outer tensors that its sub-graphs read."""

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    proto: NodeProto
    captured: tuple[str, ...] = ()
    control: Control | None = None
    """What an If, Loop or Scan does, once its sub-graphs have been resolved."""

    @property
    def label(self) -> str:
        domain = f"{self.domain}." if self.domain else ""
        return f"node {self.name!r} ({domain}{self.op})"

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

    def input(self, index: int) -> str:
        """The name of an input, empty where the node leaves it out."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def integer(self, name: str, default: int) -> int:
        """An integer attribute; BadInput where the file gives another type."""
        value = self.attributes.get(name, default)
        if not isinstance(value, int):
            raise fault(self, f"attribute {name} is {value!r} and must be an integer")
        return value

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
class Fact:
    """What is known of a tensor before anything is lowered.

    ``element`` is its ``TensorProto.DataType``. A constant has its value in ``array`` where that is
    small enough to matter, and ``origin`` names the stored weight that it is a view of; ``stored`` is
    the element type of that weight, which a DequantizeLinear in between does not change.
    """

    name: str
    shape: tuple[int, ...]
    element: int
    constant: bool = False
    array: NDArray[Any] | None = field(default=None, compare=False)
    origin: str = ""
    stored: int = 0

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def scalar(self) -> bool:
        """Whether this is a constant of one element, which an op carries in its parameters."""
        return self.constant and self.elements == 1


def fault(node: Node, what: str, hint: str = "export the model again, or hint this node") -> BadInput:
    """An error about one node; the file's name is added by ``placed`` at the boundary."""
    return BadInput(f"{node.label}: {what}", hint=hint)


def placed(error: BadInput, where: Place) -> BadInput:
    """The same error with the file that it is about."""
    return error if error.where else BadInput(error.what, where=where, hint=error.hint)


def read_nodes(graph: GraphProto, taken: set[str]) -> list[Node]:
    """The nodes of a graph with unique names: ``Conv_12`` for unnamed, ``conv_2`` for repeated ones."""
    return [_node(proto, index, taken) for index, proto in enumerate(graph.node)]


def _node(proto: NodeProto, index: int, taken: set[str]) -> Node:
    helper = module("onnx.helper")
    name = _unique(proto.name or f"{proto.op_type}_{index}", taken)
    attributes: dict[str, Any] = {}
    for attribute in proto.attribute:
        try:
            attributes[attribute.name] = _plain(helper.get_attribute_value(attribute))
        except (ValueError, TypeError) as error:
            raise BadInput(
                f"node {name!r} ({proto.op_type}): attribute {attribute.name!r}: {error}"
            ) from None
    domain = "" if proto.domain == "ai.onnx" else proto.domain
    captured = tuple(dict.fromkeys(_captured(attributes.values())))
    return Node(
        name, proto.op_type, domain, tuple(proto.input), tuple(proto.output), attributes, proto, captured
    )


def _unique(name: str, taken: set[str]) -> str:
    candidate, count = name, 2
    while candidate in taken:
        candidate, count = f"{name}_{count}", count + 1
    taken.add(candidate)
    return candidate


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    return tuple(_plain(item) for item in as_tuple(value))


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A list's items; of anything else, itself."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return (value,)
    items: Sequence[Any] = value  # pyright: ignore[reportUnknownVariableType]
    return tuple(items)


def _captured(attributes: Iterable[Any]) -> Iterator[str]:
    kind = module("onnx").GraphProto
    for value in attributes:
        for graph in as_tuple(value):
            if isinstance(graph, kind):
                yield from outer_reads(graph)


def outer_reads(graph: GraphProto) -> Iterator[str]:
    """The tensors of the surrounding graph that a sub-graph reads."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    own |= {name for node in graph.node for name in node.output}
    for node in graph.node:
        inner = (name for a in node.attribute for g in (a.g, *a.graphs) for name in outer_reads(g))
        yield from (name for name in (*node.input, *inner) if name and name not in own)
    yield from (v.name for v in graph.output if v.name not in own)


def sort_nodes(nodes: Sequence[Node], known: Iterable[str]) -> list[Node]:
    """Execution order: the file's own where that is sorted, else the first that is (stable).

    Raises BadInput for a tensor that is produced twice, that nothing produces, and for a cycle.
    """
    from heapq import heapify, heappop, heappush

    producer = _producers(nodes, known)
    waiting = [0] * len(nodes)
    users: dict[int, list[int]] = {}
    for index, node in enumerate(nodes):
        sources = {producer[name] for name in _checked_reads(node, producer)} - {-1}
        waiting[index] = len(sources)
        for source in sources:
            users.setdefault(source, []).append(index)
    ready = [index for index, count in enumerate(waiting) if not count]
    heapify(ready)
    order: list[Node] = []
    while ready:
        index = heappop(ready)
        order.append(nodes[index])
        for user in users.get(index, ()):
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, user)
    if len(order) < len(nodes):
        stuck = next(nodes[i] for i, count in enumerate(waiting) if count)
        raise fault(stuck, "the graph has a cycle through or before it", "an ONNX graph must be acyclic")
    return order


def _producers(nodes: Sequence[Node], known: Iterable[str]) -> dict[str, int]:
    producer = dict.fromkeys(known, -1)
    for index, node in enumerate(nodes):
        for name in node.writes:
            if name in producer:
                raise fault(node, f"it produces {name!r}, which exists already", "give every tensor one name")
            producer[name] = index
    return producer


def _checked_reads(node: Node, producer: Mapping[str, int]) -> tuple[str, ...]:
    for name in node.reads:
        if name not in producer:
            raise fault(
                node,
                f"it reads {name!r}, which no node, input or initializer produces",
                "export the model again; its graph is incomplete",
            )
    return node.reads


def live_nodes(nodes: Sequence[Node], outputs: Iterable[str]) -> list[Node]:
    """The nodes of a sorted list that some output depends on."""
    wanted = set(outputs)
    kept: list[Node] = []
    for node in reversed(nodes):
        if wanted.intersection(node.writes):
            kept.append(node)
            wanted.update(node.reads)
    return kept[::-1]
