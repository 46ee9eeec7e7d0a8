"""Compute small constants of ONNX graphs, such as shapes and scales, but no weight matrices."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from workloads.from_onnx.graph import LIMIT, Fact, OnnxNode
from workloads.from_onnx.onnx_package import FAULTS, GraphProto, module
from workloads.from_onnx.operator_table import operators

if TYPE_CHECKING:
    from numpy.typing import NDArray

INT64 = 7
COSTLY = operators("costly")

FIRST_EVALUATED = {"Constant": 12, "DequantizeLinear": 19}
"""Operators whose first versions ONNX's reference implementation lacks, and the first that it has; where they
are defined they compute the same."""

EVALUATION_FAULTS = (*FAULTS, AssertionError, AttributeError, ImportError)
"""Exceptions of ONNX's reference implementation for values or variants that it does not support."""


def folded_without_values(node: OnnxNode, facts: Mapping[str, Fact]) -> Fact | None:
    """The constant output of Shape and Size; None for other nodes."""
    if node.domain or not node.output or not node.input(0):
        return None
    match node.op:
        case "Shape":
            shape = facts[node.input(0)].shape
            end = node.integer("end", len(shape))
            return _integers(node.output, list(shape[slice(node.integer("start", 0), end)]))
        case "Size":
            return _integers(node.output, facts[node.input(0)].elements)
        case _:
            return None


def _integers(name: str, value: list[int] | int) -> Fact:
    import numpy

    array = numpy.array(value, numpy.int64)
    return Fact(name, array.shape, INT64, True, array, name, INT64)


def evaluate(
    node: OnnxNode,
    facts: Mapping[str, Fact],
    opsets: Mapping[str, int],
    shapes: Sequence[tuple[int, ...] | None],
) -> dict[str, NDArray[Any]]:
    """Values of the outputs by ONNX's reference implementation; none where an operand or a result is large,
    and for operators that it does not support."""
    arrays = {name: facts[name].array for name in node.reads}
    large = any(shape is not None and prod(shape) > LIMIT for shape in shapes)
    if node.domain or node.op in COSTLY or large or any(array is None for array in arrays.values()):
        return {}
    import numpy

    versions = {**opsets, "": max(opsets[""], FIRST_EVALUATED.get(node.op, 0))}
    try:
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            evaluator = module("onnx.reference").ReferenceEvaluator(_alone(node), opsets=versions)
            results: Any = evaluator.run(None, dict(arrays))
    except EVALUATION_FAULTS:
        return {}
    named = zip(node.writes, results, strict=False)
    return {name: numpy.asarray(value) for name, value in named if value is not None}


def _alone(node: OnnxNode) -> GraphProto:
    """A graph of this node: for a bare node the evaluator would use the newest version of the operator."""
    helper, unknown = module("onnx.helper"), module("onnx").TypeProto()
    reads, writes = dict.fromkeys(node.reads), node.writes
    infos = [[helper.make_value_info(name, unknown) for name in names] for names in (reads, writes)]
    return helper.make_graph([node.message()], "node", *infos)
