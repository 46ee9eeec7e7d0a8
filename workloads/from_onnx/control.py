"""If, Loop and Scan in the importer's second pass: bodies to arms and loops of the program's tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chipmodel.model.program import If, Loop, Op, ops
from chipmodel.model.program import Node as TreeNode
from chipmodel.model.work import Vector
from chipmodel.passes.in_place import ELEMENTWISE
from workloads.build.builder import ProgramBuilder
from workloads.build.loop_tensors import MOST_CHANCES, allocate, collect, evenly, hand_over, pick
from workloads.build.shapes import Value
from workloads.from_onnx.bodies import Body, Control, Slice
from workloads.from_onnx.graph import Node, fault
from workloads.from_onnx.lower import Lowering, lowering, operator


@operator("If")
def branch(low: Lowering, node: Node) -> None:
    """Each branch is an arm; what it gives becomes the node's output, by a copy only where it must."""
    control = _control(node)
    arms: list[tuple[str, Sequence[TreeNode]]] = []
    for body in control.bodies:
        with low.builder.block() as nodes:
            child = _child(low, body, body.results)
            child.run(body.nodes)
            _give(child, node, body, nodes)
        arms.append((body.name, nodes))
    condition = None if low.is_constant(node.input(0)) else low.value(node)
    low.builder.add_if(node.name, arms, condition)
    for name in node.writes:
        if low.is_used(name):
            low.values[name] = Value(name, low.shape(name), low.dtype(name))


@operator("Loop", "Scan")
def loop(low: Lowering, node: Node) -> None:
    """Scanned tensors give a slice to each iteration, stacked ones take one; the rest is carried."""
    control = _control(node)
    (body,) = control.bodies
    builder = low.builder
    results = [*body.results, *(s.result for s in control.states), *(each.piece for each in control.stacked)]
    child = _child(low, body, results)
    carried = {state.inside: _first(low, node, control, index) for index, state in enumerate(control.states)}
    child.values.update(carried)
    with builder.block() as nodes:
        if control.counter:
            _count(child, node, control.counter)
        for each in control.scanned:
            child.values[each.piece] = _scanned(low, node, each, control.most)
        child.run(body.nodes)
        stacks = [_stacked(low, child, node, each, control.most) for each in control.stacked]
        following = {
            carried[state.inside].name: _made(child, state.result, f"{node.name}.{state.inside}.constant")
            for state in control.states
        }
        for name, value in _hand_on(builder, nodes, following).items():
            # What may have another size in the file has its first size here.
            whole = next(v for v in carried.values() if v.name == name)
            if value.bytes != whole.bytes:
                following[name] = _copied(builder, f"{node.name}.{name}.resized", value, whole, None)
        changed = {name: value for name, value in following.items() if value.name != name}
        hand_over(builder, node.name, changed)
    kept = [whole for whole in stacks if whole is not None]
    for whole in kept:
        allocate(builder, f"{node.name}.{whole.name}.room", whole.name, whole.shape, whole.dtype)
    written = {name for op in ops(tuple(nodes)) for name in op.outputs}
    names = [value.name for value in carried.values() if value.name in written]
    chances = evenly(control.least, control.most) if control.most - control.least < MOST_CHANCES else ()
    builder.add_loop(node.name, control.most, nodes, [*names, *(w.name for w in kept)], chances)
    for state in control.states:
        if state.last:
            value = carried[state.inside]
            low.values[state.last] = Value(value.name, low.shape(state.last), value.dtype)


def _control(node: Node) -> Control:
    if node.control is None:
        raise fault(node, "its sub-graphs are not known")
    return node.control


def _child(low: Lowering, body: Body, results: Sequence[str]) -> Lowering:
    """What handlers work with inside a body: the tensors around it can be read."""
    kept = frozenset(filter(None, results))
    child = lowering(low.builder, body.nodes, low.facts, kept, low.strict, low.opset)
    child.values.update(low.values)
    child.declared = low.declared
    return child


# -- If --------------------------------------------------------------------------------------------


def _give(child: Lowering, node: Node, body: Body, nodes: list[TreeNode]) -> None:
    renamed: dict[str, str] = {}
    for name, result in zip(node.outputs, body.results, strict=True):
        if not result:
            continue
        whole = Value(name, child.shape(name), child.dtype(name))
        value = _made(child, result, f"{node.name}.{body.name}.{name}.constant")
        value = Value(renamed.get(value.name, value.name), value.shape, value.dtype)
        free = value.name not in renamed.values() and value.bytes == whole.bytes
        if free and child.builder.defines(nodes, value.name):
            renamed[value.name] = name
            child.builder.rename(nodes, value.name, name)
        else:
            _copied(child.builder, f"{node.name}.{body.name}.{name}", value, whole, [name])


def _made(low: Lowering, name: str, op: str) -> Value:
    """The tensor ``name``; a constant is brought from Psram, or made on the spot."""
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


# -- loops -----------------------------------------------------------------------------------------


def _first(low: Lowering, node: Node, control: Control, index: int) -> Value:
    """The carried tensor before the first iteration: the first value itself where nothing else needs it."""
    state = control.states[index]
    name = state.last or state.inside
    shape = low.shape(state.inside)
    whole = Value(name, shape, low.dtype(state.inside))
    op = f"{node.name}.{state.inside}.first"
    if low.is_constant(state.first):
        constant = _made(low, state.first, op)
        return Value(constant.name, shape, constant.dtype)
    value = low.existing(state.first)
    if state.last not in low.kept and value.bytes == whole.bytes and _dies(low, node, state.first):
        return Value(value.name, shape, value.dtype)
    return _copied(low.builder, op, value, whole, [name])


def _dies(low: Lowering, node: Node, name: str) -> bool:
    """Whether a tensor is made in this block, and this node alone needs it from here on, once."""
    tensor = low.values[name].name
    if not low.builder.makes(tensor):
        return False
    control = _control(node)
    uses = [*node.inputs, *(s.first for s in control.states), *(each.whole for each in control.scanned)]
    inner = {read for body in control.bodies for read in _read_within(body)}
    for view in [view for view, value in low.values.items() if value.name == tensor]:
        later = any(low.order[user.name] > low.order[node.name] for user in low.users.get(view, ()))
        if later or view in low.kept or view in inner or (view != name and view in uses):
            return False
    return sum(use == name for use in uses[len(node.inputs) :]) == 1


def _read_within(body: Body) -> Iterator[str]:
    for node in body.nodes:
        yield from node.reads
    yield from body.results


def _count(child: Lowering, node: Node, counter: str) -> None:
    """The number of the iteration, where the body reads it."""
    value = Value(counter, (), child.dtype(counter))
    work = Vector(1, 0, value.bytes)
    name = f"{node.name}.counter"
    child.values[counter] = child.builder.emit(
        "counter", name, work, [], [()], outputs=[counter], out_dtype=value.dtype
    )[0]


def _scanned(low: Lowering, node: Node, each: Slice, iterations: int) -> Value:
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


def _stacked(low: Lowering, child: Lowering, node: Node, each: Slice, iterations: int) -> Value | None:
    """The tensor that the iterations fill, to be allocated before the loop; None where one iteration makes it
    all."""
    shape, dtype = low.shape(each.whole), low.dtype(each.whole)
    whole = Value(each.whole, shape, dtype)
    if low.is_constant(each.whole):
        return None  # empty
    piece = _made(child, each.piece, f"{node.name}.{each.whole}.constant")
    name = f"{node.name}.{each.whole}.slice"
    low.values[each.whole] = whole
    if iterations == 1:
        _copied(low.builder, name, piece, whole, [each.whole])
        return None
    if whole.bytes != iterations * piece.bytes:
        raise fault(node, f"a slice of {each.whole!r} is no whole number of bytes", "take --dtype int8")
    collect(low.builder, name, piece, whole, iterations)
    return whole


def _hand_on(builder: ProgramBuilder, nodes: list[TreeNode], following: dict[str, Value]) -> dict[str, Value]:
    """Let ops write the carried tensors themselves where the old value is not needed any more."""
    for name, value in list(following.items()):
        alone = [v.name for v in following.values()].count(value.name) == 1
        old = any(v.name == name for v in following.values())
        if alone and not old and _may_write(builder, nodes, name, value):
            builder.rename(nodes, value.name, name)
            following[name] = Value(name, value.shape, value.dtype)
    return following


def _may_write(builder: ProgramBuilder, nodes: Sequence[TreeNode], name: str, value: Value) -> bool:
    places = [
        i for i, node in enumerate(nodes) if value.name in {n for op in ops((node,)) for n in op.outputs}
    ]
    if len(places) != 1 or builder.size(name) != builder.size(value.name):
        return False
    op = nodes[places[0]]
    if not isinstance(op, Op) or op.collects or (name in op.inputs and not _pointwise(op, name)):
        return False
    return not any(name in _reads(node) for node in nodes[places[0] + 1 :])


def _pointwise(op: Op, name: str) -> bool:
    whole = [index for index, each in enumerate(op.inputs) if each == name]
    return op.kind in ELEMENTWISE and isinstance(op.work, Vector) and not set(whole) & set(op.work.broadcast)


def _reads(node: TreeNode) -> Iterator[str]:
    match node:
        case Op():
            yield from node.inputs
        case If():
            if node.condition:
                yield node.condition
            for arm in node.arms:
                for inner in arm.body:
                    yield from _reads(inner)
        case Loop():
            yield from node.carried
            for inner in node.body:
                yield from _reads(inner)
