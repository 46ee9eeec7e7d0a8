"""Updates of states in place: the next value of a state is written where the one before lies."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from chipmodel.geometry.layout import IMAGE_AXES, Storage
from chipmodel.model.attributes import AlongAxis, Margins, SliceRanges
from chipmodel.model.program import Node, Op, Program, Tensor, ops, reads, renamed, rewritten, with_ops
from chipmodel.model.work import Matmul, Vector
from chipmodel.rewrites.in_place import AT_START, may_overwrite, places_in_concat
from chipmodel.rewrites.op_shapes import seen_inputs, seen_outputs
from chipmodel.rewrites.vector_rows import cut_truly

UPDATES = frozenset({"scatternd", "scatterelements", "scatter", "dynamic_update_slice"})
"""Kinds whose output is their first input but for what another one, of the same type, puts there."""
REPEATING = frozenset({"expand", "tile", "transpose"})
"""Kinds that may stand between a cache and the product that reads it."""


def written_in_place(program: Program, first: str, last: str) -> Program | None:
    """Return ``program`` whose tensor ``last`` is written where the state ``first`` lies; None where it would
    have to be copied there, as something reads the value before afterwards, or it is made in another way.

    A cache to which rows are added is a ring if their order does not count. In another one each row moves. Of
    an update only what is new is written, and an op that does not read ``first``, or for each place the same
    place of it, writes all.
    """
    ways = (_as_ring, _shifted, _updated, _written_last)
    return next(filter(None, (way(program, first, last) for way in ways)), None)


def _maker(program: Program, first: str, last: str) -> Op | None:
    """The op that makes ``last``, the next value of this state alone, if nothing reads ``first`` after it."""
    shared = list(program.states.values()).count(last) > 1 or first in handed_on(program)
    if shared or last in program.inputs:
        return None
    maker = _made(program, last)
    later = program.body[program.body.index(maker) + 1 :] if maker else ()
    return None if any(first in touched(node) for node in later) else maker


def _made(program: Program, name: str) -> Op | None:
    """The only op that makes a tensor, if it runs once."""
    makers = [op for op in program.ops() if name in op.outputs]
    return makers[0] if len(makers) == 1 and makers[0] in program.body else None


def _written_last(program: Program, first: str, last: str) -> Program | None:
    """``program`` whose maker of ``last`` writes it over ``first``, of which it reads the same places."""
    maker = _maker(program, first, last)
    if maker is None or program.tensors[first].bytes != program.tensors[last].bytes:
        return None
    if first in maker.inputs and not may_overwrite(program, maker, first):
        return None
    return _written_there(program, first, last)


def _updated(program: Program, first: str, last: str) -> Program | None:
    """``program`` with a scatter of new rows into ``first`` that writes them alone."""
    maker = _maker(program, first, last)
    if maker is None or maker.kind not in UPDATES or maker.inputs[:1] != (first,):
        return None
    dtype = program.tensors[first].dtype
    new = {name for name in maker.inputs[1:] if program.tensors[name].dtype == dtype}
    if len(new) != 1 or first in new or not all(program.tensors[name].bytes for name in new):
        return None
    return _in_a_ring(program, first, last, maker, new.pop())


def _written_there(program: Program, first: str, last: str) -> Program:
    tensors = {name: tensor for name, tensor in program.tensors.items() if name != last}
    names = {last: first}
    outputs = tuple(name for name in program.outputs if name != last)
    body = rewritten(program.body, lambda node: renamed(node, names))
    return replace(program, tensors=tensors, outputs=outputs, body=body)


def _as_ring(program: Program, first: str, last: str) -> Program | None:
    """``program`` with room for ``last`` where ``first`` was, into which what is new is written; None where
    ``last`` is no concat of ``first`` and of what follows, or where its order counts.

    Attention takes keys and values in any order, as it turns both alike; a convolution would not.
    """
    touching = [op for op in program.ops() if first in op.inputs or last in op.outputs]
    if len(touching) != 1 or touching[0] not in program.body or {first, last} & handed_on(program):
        return None
    (joins,) = touching
    readers = [op for op in program.ops() if last in op.inputs]
    if not all(isinstance(op.work, Matmul) or op.kind in REPEATING for op in readers):
        return None
    if len(joins.inputs) != 2 or last in program.inputs:
        return None
    whole, new = program.tensors[last].bytes, program.tensors[joins.inputs[1]].bytes
    if not new or whole % new:
        return None
    tried = (program, _token_by_token(program, first, last))
    joined = (each for each in tried if places_in_concat(each, joins).get(first) == AT_START)
    stored = next(joined, None)
    return stored and _in_a_ring(stored, first, last, joins, joins.inputs[1])


def _token_by_token(program: Program, first: str, last: str) -> Program:
    """``program`` with a cache of ``[1, heads, tokens, size]`` in the order of tokens, so that what is new
    lies in one piece. Products, which want the heads apart, read all of it for each part."""
    both = {name: program.tensors[name] for name in (first, last)}
    stored = {name: replace(each, storage=Storage(each.shape, "image")) for name, each in both.items()}

    def reading(op: Op) -> Op:
        own = {index for index, name in enumerate(op.inputs) if name == last}
        return replace(op, whole=tuple(sorted({*op.whole, *own}))) if isinstance(op.work, Matmul) else op

    if any(len(each.shape) != IMAGE_AXES for each in both.values()):
        return program
    body = with_ops(program.body, lambda op: reading(op) if last in op.inputs else op)
    return replace(program, tensors={**program.tensors, **stored}, body=body)


def _in_a_ring(program: Program, first: str, last: str, maker: Op, added: str) -> Program:
    """``program`` with an op in place of ``maker`` that writes what is new, ``added``, and keeps the rest."""
    whole, new = program.tensors[last], program.tensors[added]
    most = max(1, whole.bytes // new.bytes)
    slices = next(count for count in range(most, 0, -1) if whole.bytes % count == 0)
    inputs = tuple(name for name in maker.inputs if name != first)
    read = sum(program.tensors[name].bytes for name in {*inputs})
    piece = new.shape if slices * new.bytes == whole.bytes else (elements(whole) // slices,)
    shapes = (*(program.tensors[name].shape for name in inputs), piece, piece)
    work = Vector(elements(new), read, new.bytes)
    written = replace(maker, kind="collect", work=work, inputs=(*inputs, first), views=shapes, whole=())
    written = replace(written, sliced=last, slices=slices)
    tensors = {**program.tensors, first: replace(whole, name=first)}
    body = tuple(written if node is maker else node for node in program.body)
    return _written_there(replace(program, tensors=tensors, body=body), first, last)


def _shifted(program: Program, first: str, last: str) -> Program | None:
    """``program`` in which all rows of a cache move up by as many as are new, and the oldest ones leave it;
    None where ``last`` is not the rest of ``first`` and then what is new.

    From the first row on, each is read before another one takes its place.
    """
    found = _rotation(program, first, last)
    if found is None:
        return None
    joins, dropped, size = found
    made, added, axis = size.name, joins.inputs[1], _joined_axis(joins)
    new = program.tensors[added].shape[axis]
    tensors = {**program.tensors, first: replace(size, name=first)}
    work = Vector(elements(size), size.bytes, size.bytes, attributes=Margins(_only(axis, -new, size)))
    op = replace(joins, kind="shift", inputs=(first, added), outputs=(made,), views=(), absorbs=(), whole=())
    work = cut_truly(op, work, seen_inputs(op, tensors), seen_outputs(op, tensors))
    if 0 in work.broadcast:
        return None
    where = next(node for node in program.body if isinstance(node, Op) and made in node.outputs)
    body = tuple(
        replace(op, work=work) if node is where else node
        for node in program.body
        if node is where or node not in dropped
    )
    return _written_there(replace(program, tensors=tensors, body=body), first, made)


def _rotation(program: Program, first: str, last: str) -> tuple[Op, tuple[Op, ...], Tensor] | None:
    """The concat that adds rows to ``first``, the ops that a shift of its rows replaces, and what it makes.

    The same rows are cut from the front before or after it, or later, where a cache grows.
    """
    maker = _maker(program, first, last)
    after = maker is not None and maker.kind == "slice"
    joins = _made(program, maker.inputs[0]) if maker and after else maker
    if maker is None or joins is None or not _joins_two(program, joins):
        return None
    cut = maker if after else _made(program, joins.inputs[0])
    between = maker.inputs[0] if after else joins.inputs[0]
    if between == first:
        return (joins, (joins,), program.tensors[last]) if _touching(program, first) == [joins] else None
    if cut is None or not _cuts_as_many(program, cut, joins) or first != (joins if after else cut).inputs[0]:
        return None
    if program.tensors[first].bytes != program.tensors[last].bytes or between in program.outputs:
        return None
    if len(_touching(program, between)) == 2:
        return joins, (cut, joins), program.tensors[last]
    later = after and _touching(program, first) == [joins] and _touching(program, last) == [cut]
    return (joins, (cut, joins), program.tensors[between]) if later else None


def _touching(program: Program, name: str) -> list[Node]:
    return [node for node in program.body if name in touched(node)]


def _joins_two(program: Program, op: Op) -> bool:
    """Whether ``op`` joins two tensors along an axis of theirs."""
    known = isinstance(op.work, Vector) and isinstance(op.work.attributes, AlongAxis)
    two = op.kind == "concat" and len({*op.inputs}) == 2 and not op.weights
    return known and two and _sees_all(program, op)


def _sees_all(program: Program, op: Op) -> bool:
    """Whether an op sees its tensors under their own shapes."""
    return op.views in ((), tuple(program.tensors[name].shape for name in (*op.inputs, *op.outputs)))


def _joined_axis(joins: Op) -> int:
    assert isinstance(joins.work, Vector)
    assert isinstance(joins.work.attributes, AlongAxis)
    return joins.work.attributes.axis


def _cuts_as_many(program: Program, cut: Op, joins: Op) -> bool:
    """Whether ``cut`` leaves out as many of the first rows as ``joins`` adds behind the last one."""
    axis, kept = _joined_axis(joins), program.tensors[cut.outputs[0]]
    added = program.tensors[joins.inputs[1]].shape[axis]
    ranges = SliceRanges(_only(axis, added, kept), (1,) * len(kept.shape))
    return isinstance(cut.work, Vector) and cut.work.attributes == ranges and _sees_all(program, cut)


def _only(axis: int, value: int, of: Tensor) -> tuple[int, ...]:
    """``value`` for one axis of a tensor and 0 for the others."""
    return tuple(value if number == axis else 0 for number in range(len(of.shape)))


def elements(tensor: Tensor) -> int:
    """Return the number of elements; of bytes where only those are known."""
    return prod(tensor.shape) if tensor.shape else tensor.bytes


def touched(node: Node) -> set[str]:
    """Return the tensors that a node, or one inside it, reads or makes."""
    inside = (name for op in ops((node,)) for name in (*op.inputs, *op.outputs))
    return {*inside, *reads(node)}


def handed_on(program: Program) -> set[str]:
    """Return the states that are the next value of another one."""
    return set(program.states) & set(program.states.values())
