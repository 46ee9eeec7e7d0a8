"""Read the nodes of an ONNX graph; those of ONNX Runtime become ONNX's own where these compute the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from chipmodel.errors import BadInput
from workloads.from_onnx.einsum import ordered_einsum
from workloads.from_onnx.graph import OnnxNode, as_tuple, outer_reads, unique_name
from workloads.from_onnx.onnx_package import GraphProto, NodeProto, module
from workloads.from_onnx.runtime_operators import standard_nodes


def read_nodes(graph: GraphProto, taken: set[str]) -> list[OnnxNode]:
    """The nodes of a graph, each under a name of its own, which is added to ``taken``.

    The 12th node is ``Conv_12`` where it has no name, a second ``conv`` becomes ``conv_2``.
    """
    plain = (_node(proto, index, taken) for index, proto in enumerate(graph.node))
    standard = (each for node in plain for each in standard_nodes(node, taken))
    return [each for node in standard for each in ordered_einsum(node, taken)]


def _node(proto: NodeProto, index: int, taken: set[str]) -> OnnxNode:
    helper = module("onnx.helper")
    name = unique_name(proto.name or f"{proto.op_type}_{index}", taken)
    attributes: dict[str, Any] = {}
    for attribute in proto.attribute:
        try:
            attributes[attribute.name] = _plain(helper.get_attribute_value(attribute))
        except (ValueError, TypeError) as error:
            what = f"node {name!r} ({proto.op_type}): attribute {attribute.name!r}: {error}"
            raise BadInput(what) from None
    domain = "" if proto.domain == "ai.onnx" else proto.domain
    captured = tuple(dict.fromkeys(_captured(attributes.values())))
    return OnnxNode(
        name,
        proto.op_type,
        domain,
        tuple(proto.input),
        tuple(proto.output),
        attributes,
        proto.attribute,
        captured,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    return tuple(_plain(item) for item in as_tuple(value))


def _captured(attributes: Iterable[Any]) -> Iterator[str]:
    kind = module("onnx").GraphProto
    for value in attributes:
        for graph in as_tuple(value):
            if isinstance(graph, kind):
                yield from outer_reads(graph)
