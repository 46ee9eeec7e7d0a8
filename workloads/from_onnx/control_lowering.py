"""If, Loop and Scan in the importer's second pass: their sub-graphs become arms and loops of the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chipmodel.errors import Unshaped
from chipmodel.model.program import Node, ops
from chipmodel.model.work import Vector
from workloads.build.builder import ProgramBuilder
from workloads.build.loop_tensors import (
    MAX_ITERATION_COUNTS,
    allocate,
    collect,
    equally_likely,
    hand_over,
    pick,
)
from workloads.build.shapes import Value
from workloads.from_onnx.graph import (
    ArmRefused,
    CarriedTensor,
    ControlFlow,
    OnnxNode,
    SlicedTensor,
    Subgraph,
    fault,
)
from workloads.from_onnx.graph_view import view_of
from workloads.from_onnx.lowering import OnnxLowering, operator


@operator("If")
def branch(low: OnnxLowering, node: OnnxNode) -> None:
    """Each branch is an arm; its results become the node's outputs, copied only where they must be.

    Raises ArmRefused for one that cannot run, after which the importer begins again without it: tensors that
    only this arm reads, and the shapes of its results, are in all of the program by now.
    """
    arms: list[tuple[str, Sequence[Node]]] = []
    refused: list[ArmRefused] = []
    for body in _control(node).bodies:
        try:
            arms.append((body.name, _arm(low, node, body)))
        except Unshaped as error:
            refused.append(ArmRefused((node.name, body.name), error))
    if refused:
        raise refused[0] if arms and not low.strict else refused[0].reason
    condition = None if low.is_constant(node.input(0)) else low.value(node)
    low.builder.add_if(node.name, arms, condition)
    for name in node.writes:
        if low.is_used(name):
            low.values[name] = Value(name, low.shape(name), low.dtype(name))


def _arm(low: OnnxLowering, node: OnnxNode, body: Subgraph) -> Sequence[Node]:
    with low.builder.block() as nodes:
        child = _child(low, body, body.results)
        child.run(body.nodes)
        _define_outputs(child, node, body, nodes)
    return nodes


@operator("Loop", "Scan")
def loop(low: OnnxLowering, node: OnnxNode) -> None:
    """Each iteration reads slices of scanned tensors, makes slices of stacked ones, and carries the rest."""
    control = _control(node)
    carried = {tensor.inside: _first_value(low, node, tensor) for tensor in control.carried}
    with low.builder.block() as nodes:
        child = _run_body(low, node, control, carried)
        stacks = [_stacked(low, child, node, each) for each in control.stacked]
        _update_carried(child, node, carried)
    _append_loop(low, node, nodes, carried, [stack for stack in stacks if stack is not None])
    for tensor in control.carried:
        if tensor.last:
            value = carried[tensor.inside]
            low.values[tensor.last] = Value(value.name, low.shape(tensor.last), value.dtype)


def _control(node: OnnxNode) -> ControlFlow:
    if node.control is None:
        raise fault(node, "its sub-graphs are not known")
    return node.control


def _child(low: OnnxLowering, body: Subgraph, results: Sequence[str]) -> OnnxLowering:
    """The lowering of a sub-graph, which can read the tensors around it."""
    kept = frozenset(filter(None, results))
    view = view_of(body.nodes, low.view.facts, kept)
    child = OnnxLowering(low.builder, view, low.opset, low.strict, declared=low.declared)
    child.values.update(low.values)
    return child


# -- If --------------------------------------------------------------------------------------------


def _define_outputs(child: OnnxLowering, node: OnnxNode, body: Subgraph, nodes: list[Node]) -> None:
    """Let the branch that was just lowered to ``nodes`` define the outputs of its If."""
    renamed: dict[str, str] = {}
    for name, result in zip(node.outputs, body.results, strict=True):
        if not result:
            continue
        whole = Value(name, child.shape(name), child.dtype(name))
        value = _materialised(child, result, f"{node.name}.{body.name}.{name}.constant")
        value = Value(renamed.get(value.name, value.name), value.shape, value.dtype)
        free = value.name not in renamed.values() and value.bytes == whole.bytes
        if free and child.builder.defines(nodes, value.name):
            renamed[value.name] = name
            child.builder.rename(nodes, value.name, name)
        else:
            _copied(child.builder, f"{node.name}.{body.name}.{name}", value, whole, [name])


def _materialised(low: OnnxLowering, name: str, op: str) -> Value:
    """The tensor ``name``; a constant is copied from Psram, or set if it is a scalar, by the op ``op``."""
    if not low.is_constant(name):
        return low.existing(name)
    fact = low.fact(name)
    value = Value(op, fact.shape, low.dtype(name))
    weights = [low.weight(name)] if fact.elements > 1 else []
    work = Vector(fact.elements, 0, value.bytes, max(1, fact.elements))
    return low.builder.emit("copy", op, work, [], [fact.shape], weights=weights, out_dtype=value.dtype)[0]


def _copied(
    builder: ProgramBuilder, op: str, value: Value, whole: Value, outputs: Sequence[str] | None
) -> Value:
    """``value`` in a tensor of the shape of ``whole``, which may be larger or smaller."""
    work = Vector(whole.elements, min(value.bytes, whole.bytes), whole.bytes, max(1, whole.elements))
    return builder.emit("copy", op, work, [value], [whole.shape], outputs=outputs, out_dtype=whole.dtype)[0]


# -- loops: before the first iteration -------------------------------------------------------------


def _first_value(low: OnnxLowering, node: OnnxNode, tensor: CarriedTensor) -> Value:
    """The carried tensor before the loop: a copy of its first value."""
    name = tensor.last or tensor.inside
    shape = low.shape(tensor.inside)
    whole = Value(name, shape, low.dtype(tensor.inside))
    op = f"{node.name}.{tensor.inside}.first"
    if low.is_constant(tensor.first):
        constant = _materialised(low, tensor.first, op)
        return Value(constant.name, shape, constant.dtype)
    return _copied(low.builder, op, low.existing(tensor.first), whole, [name])


# -- loops: an iteration ---------------------------------------------------------------------------


def _run_body(
    low: OnnxLowering, node: OnnxNode, control: ControlFlow, carried: Mapping[str, Value]
) -> OnnxLowering:
    """Lower the body into the open block: counter and slices that it reads, then its nodes."""
    (body,) = control.bodies
    child = _child(low, body, control.loop_results)
    child.values.update(carried)
    if control.counter:
        child.values[control.counter] = _counter(child, node, control.counter)
    for each in control.scanned:
        child.values[each.piece] = _scanned(low, each, control.max_iterations)
    child.run(body.nodes)
    return child


def _counter(child: OnnxLowering, node: OnnxNode, counter: str) -> Value:
    """The number of the iteration, made by an op of its own."""
    value = Value(counter, (), child.dtype(counter))
    work = Vector(1, 0, value.bytes)
    name = f"{node.name}.counter"
    return child.builder.emit("counter", name, work, [], [()], outputs=[counter], out_dtype=value.dtype)[0]


def _scanned(low: OnnxLowering, each: SlicedTensor, iterations: int) -> Value:
    """The iteration's slice of a tensor, or of a constant in Psram."""
    shape = low.shape(each.piece)
    name = each.piece
    if not low.is_constant(each.whole):
        whole = low.existing(each.whole)
        return Value(pick(low.builder, name, whole, iterations, shape).name, shape, whole.dtype)
    value = Value(name, shape, low.dtype(each.whole))
    work = Vector(value.elements, value.bytes, value.bytes, max(1, value.elements))
    weights = [low.weight(each.whole)]
    return low.builder.emit(
        "slice", name, work, [], [shape], weights=weights, out_dtype=value.dtype, gathers=True
    )[0]


def _stacked(low: OnnxLowering, child: OnnxLowering, node: OnnxNode, each: SlicedTensor) -> Value | None:
    """Store the iteration's slice; the tensor to be allocated before the loop, None where none has to be."""
    shape, dtype = low.shape(each.whole), low.dtype(each.whole)
    whole = Value(each.whole, shape, dtype)
    if low.is_constant(each.whole):
        return None  # empty
    iterations = _control(node).max_iterations
    piece = _materialised(child, each.piece, f"{node.name}.{each.whole}.constant")
    name = f"{node.name}.{each.whole}.slice"
    low.values[each.whole] = whole
    if iterations == 1:
        _copied(low.builder, name, piece, whole, [each.whole])
        return None
    if whole.bytes != iterations * piece.bytes:
        raise fault(node, f"a slice of {each.whole!r} is not a whole number of bytes", "take --dtype int8")
    collect(low.builder, name, piece, whole, iterations)
    return whole


def _update_carried(child: OnnxLowering, node: OnnxNode, carried: Mapping[str, Value]) -> None:
    """Copy the values for the next iteration to where it reads them."""
    following: dict[str, Value] = {}
    for tensor in _control(node).carried:
        old = carried[tensor.inside]
        made = _materialised(child, tensor.result, f"{node.name}.{tensor.inside}.constant")
        # A tensor that changes its size in the file has its first size here.
        if made.bytes != old.bytes:
            made = _copied(child.builder, f"{node.name}.{old.name}.resized", made, old, None)
        following[old.name] = made
    changed = {name: value for name, value in following.items() if value.name != name}
    hand_over(child.builder, node.name, changed)


# -- loops: the node -------------------------------------------------------------------------------


def _append_loop(
    low: OnnxLowering, node: OnnxNode, nodes: list[Node], carried: Mapping[str, Value], stacks: list[Value]
) -> None:
    """Append the loop with the body ``nodes``, after ops that allocate the tensors that it fills."""
    control = _control(node)
    for stack in stacks:
        allocate(low.builder, f"{node.name}.{stack.name}.room", stack.name, stack.shape, stack.dtype)
    written = {name for op in ops(tuple(nodes)) for name in op.outputs}
    names = [value.name for value in carried.values() if value.name in written]
    least, most = control.min_iterations, control.max_iterations
    chances = equally_likely(least, most) if most - least < MAX_ITERATION_COUNTS else ()
    low.builder.add_loop(node.name, most, nodes, [*names, *(stack.name for stack in stacks)], chances)
