"""A subgraph's operators as nodes: one after the other, with what depends on constants alone left out.

An operator whose outputs have no elements is left out. Tensors without elements are constants: an empty cache
that others are appended to is nothing that is moved.
"""

from __future__ import annotations

from dataclasses import replace

from chipmodel.errors import BadInput
from workloads.build.read_options import READ
from workloads.from_onnx.graph import Fact, OnnxNode
from workloads.from_tflite.context import TFLITE, SubgraphContext
from workloads.from_tflite.model_file import TfliteOperator
from workloads.from_tflite.operator_table import operators
from workloads.from_tflite.operators import TRANSLATIONS

STORED_ELSEWHERE = ("CAST", "DENSIFY", "DEQUANTIZE")
"""Operators on a constant after which the weight is still what is stored."""
NEVER_FOLDED = ("CALL_ONCE", "IF", "VAR_HANDLE", "WHILE")
SHAPES = ("SHAPE", "RANK")
MOVES = frozenset(["Concat", *operators("by_bytes")])
"""Nodes whose output can have elements where an operand has none."""
MOST_NODES = 200_000
"""Nodes of a model with all its subgraphs in all places; larger ones are refused (assumed; limits time)."""


def translate(at: SubgraphContext) -> None:
    """Append the nodes of a subgraph. Raises BadInput for operators that do not fit their operands.
    Raises TimeIsOver at the deadline."""
    for op in at.graph.operators:
        at.state.reading.deadline.require(READ)
        at.begin(op)
        if len(at.state.names) > MOST_NODES:
            raise BadInput(f"its subgraphs have more than {MOST_NODES} operators in all places together")
        first = len(at.nodes)
        if not _folded(at, op) and not _makes_nothing(at, op):
            _translated(at, op)
            for node in at.nodes[first:]:
                _refuse_empty(at, op, node)


def _makes_nothing(at: SubgraphContext, op: TfliteOperator) -> bool:
    """Whether an operator has outputs and none of them has elements."""
    return bool(op.outputs) and not any(at.state.facts[at.name(number)].elements for number in op.outputs)


def _refuse_empty(at: SubgraphContext, op: TfliteOperator, node: OnnxNode) -> None:
    """Refuse a node that computes on, or carries through its sub-graphs, a tensor without elements."""
    known = at.state.facts
    filled = any(name in known and known[name].elements for name in node.reads)
    if op.custom or (node.op in MOVES and filled):
        return
    for name in (*node.reads, *(node.writes if node.control else ())):
        if name in known and not known[name].elements:
            shape = list(known[name].shape)
            what = f"operator {op.name}: its operand {name!r} of shape {shape} has no elements"
            raise BadInput(what, hint="convert the model again, with sizes of at least 1")


def _translated(at: SubgraphContext, op: TfliteOperator) -> None:
    translation = TRANSLATIONS.get(op.name)
    if translation is None or op.custom:
        inputs = [at.name(number) for number in op.inputs if number >= 0]
        at.node(op.name, inputs, at.outputs(op), None, TFLITE)
        return
    try:
        translation(at, op)
    except (LookupError, ValueError, ArithmeticError) as error:
        what = f"operator {op.name}: its operands or options do not fit ({error!r})"
        raise BadInput(what, hint="convert the model again") from None


def _folded(at: SubgraphContext, op: TfliteOperator) -> bool:
    """Whether all that an operator makes is known before the run; it is then a constant."""
    if op.name in NEVER_FOLDED or op.custom or not op.inputs:
        return False
    names = [at.name(number) for number in op.inputs if number >= 0]
    facts = at.state.facts
    if op.name in SHAPES and op.outputs:
        _fold_shape(at, op)
        return True
    if not names or not all(name in facts and facts[name].constant for name in names):
        return False
    if any(number >= 0 and _is_empty_activation(at, number) for number in op.inputs):
        return False
    source = facts[names[0]]
    for number in op.outputs:
        made = facts[at.name(number)]
        if op.name in STORED_ELSEWHERE:
            known = replace(source, name=made.name, shape=made.shape, element=made.element)
        else:
            known = Fact(made.name, made.shape, made.element, True, None, made.name, made.element)
        facts[made.name] = known
    return True


def _is_empty_activation(at: SubgraphContext, number: int) -> bool:
    return not at.tensor(number).constant and not at.state.facts[at.name(number)].elements


def _fold_shape(at: SubgraphContext, op: TfliteOperator) -> None:
    import numpy as np

    shape = at.shape(op.input(0))
    value = np.array(shape if op.name == "SHAPE" else len(shape))
    made = at.state.facts[at.name(op.outputs[0])]
    at.state.facts[made.name] = Fact(
        made.name, made.shape, made.element, True, value, made.name, made.element
    )
