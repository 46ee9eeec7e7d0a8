"""Ops that cannot be cut so that they fit, as several ops that can: copies in another order of memory, passes
over pieces, sums of partial products, bands of columns.

Each function gives the ops that take the place of one, in order, with the tensors and weights that they need;
None where the op is not of its kind. The costs are those of the new ops: what is moved or computed more
counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd, prod

from chipmodel.geometry.axis_cut import AxisCut, OperandAxes, OperandAxis
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import IMAGE_AXES, Layout, Storage
from chipmodel.model.attributes import AxisOrder
from chipmodel.model.program import DTYPE_BITS, Body, Node, Op, Program, Tensor, Weight
from chipmodel.model.tree import with_bodies
from chipmodel.model.work import Conv, Matmul, Pool, Recurrent, SummedPiece, Vector, Work
from chipmodel.records import dataclass
from chipmodel.rewrites.op_shapes import SeenTensor, seen_inputs, seen_outputs
from chipmodel.rewrites.true_parts import true_op

MOST_PIECES = 4096
"""Pieces that an op is streamed in, at most: each is a step with transfers of its own."""
PIECE_SHARE = 8
"""Pieces take at most the capacity by this, so that several of each operand are in flight."""
SUM_SHARE = 4
"""A row and a kernel of a piece that is summed over take at most the capacity by this."""
STATISTICS_BYTES = 16
"""Bytes that a pass over a piece leaves for each operand: four sums of 32 bits (assumed)."""
SUM_TYPES = {False: "int32", True: "float32"}
"""The element type of partial sums, of integers and of floats: what accumulators have."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The ops in place of one, and what they need."""

    ops: tuple[Op, ...]
    tensors: tuple[Tensor, ...] = ()
    weights: tuple[Weight, ...] = ()
    note: str = ""
    """What is assumed."""


def in_memory_order(program: Program, op: Op) -> Rewritten | None:
    """Copies of operands that lie in another order than a window or product reads, and the op on them."""
    layout: Layout = "image" if isinstance(op.work, Conv | Pool) else "matrix"
    if isinstance(op.work, Vector) or not isinstance(op.work, Conv | Pool | Matmul | Recurrent):
        return None
    one_row = isinstance(op.work, Matmul) and op.work.rows == len(op.inputs) == 1
    if op.sliced is not None or one_row:
        return None
    tensors = dict(program.tensors)
    copies: list[Op] = []
    names, views = list(op.inputs), list(op.views)
    lying = seen_inputs(op, program.tensors)
    for index, seen in enumerate(lying):
        wanted = Storage(seen.shape, layout)
        if seen.stored.same_order(wanted):
            continue
        new = Tensor(f"{op.name}.{layout}.{seen.name}", seen.bytes, seen.shape, seen.dtype, wanted)
        names[index] = new.name
        if new.name not in tensors:
            tensors[new.name] = new
            copies.append(_copy(seen, new))
    if not copies:
        return None
    own = tuple(i for i in op.whole if lying[i].stored.same_order(Storage(lying[i].shape, layout)))
    moved = replace(
        op,
        inputs=tuple(names),
        views=tuple(views),
        whole=own,
        overwrites=None,
        absorbs=(),
        work=replace(op.work, solid=False),
    )
    new_tensors = tuple(tensors[copy.outputs[0]] for copy in copies)
    return Rewritten((*copies, true_op(moved, tensors)), new_tensors)


def _copy(seen: SeenTensor, new: Tensor) -> Op:
    """An op that copies a tensor into another order of memory."""
    order = AxisOrder(tuple(range(len(seen.shape))))
    work = Vector(seen.elements, seen.bytes, seen.bytes, attributes=order)
    views = (seen.shape, seen.shape)
    return Op(new.name, "transpose", work, (seen.name,), (new.name,), dtype=seen.dtype, views=views)


def streamed(program: Program, op: Op, capacity: int) -> Rewritten | None:
    """Piece after piece of an op whose parts are not known to be independent: piece ``i`` of its outputs is
    made of piece ``i`` of each operand."""
    work = op.work
    if not isinstance(work, Vector) or op.sliced is not None or op.gathers:
        return None
    named = (*dict.fromkeys(op.inputs), *op.outputs)
    sizes = {name: program.tensors[name].bytes for name in named}
    room = capacity // PIECE_SHARE
    small = {n for n in dict.fromkeys(op.inputs) if sizes[n] <= room // (2 * len(sizes))}
    cut = {name: size for name, size in sizes.items() if name not in small}
    if not set(op.outputs) <= set(cut):
        return None
    block = _weights_cut(program, op, capacity)
    rows = _pieces(sum(cut.values()) + sum(block), room, gcd(*cut.values(), *block))
    if rows is None:
        return None
    whole = tuple(i for i, name in enumerate(op.inputs) if name in small)
    fine = _in_pieces(work, rows, len(op.inputs), whole, bool(block))
    note = f"piece by piece, {rows:,} of them, as if each needed nothing but its piece of the operands"
    return Rewritten((replace(op, work=fine),), note=note)


def in_passes(program: Program, op: Op, capacity: int) -> Rewritten | None:
    """Return a pass over pieces of the operands that leaves statistics of each, which are then joined, and,
    where there are outputs that are too large for that, a second pass that makes them."""
    if not isinstance(op.work, Vector | Pool) or op.sliced is not None or op.gathers or not op.inputs:
        return None
    room = capacity // PIECE_SHARE
    names = tuple(dict.fromkeys(op.inputs))
    sizes = {name: program.tensors[name].bytes for name in (*names, *op.outputs)}
    read = tuple(n for n in names if sizes[n] > room // 4)
    made = tuple(n for n in op.outputs if sizes[n] > room // 4)
    if not read or f"{op.name}.statistics" in program.tensors:  # statistics of statistics would not shrink
        return None
    rows = _pieces(sum(sizes[n] for n in read), room, gcd(*(sizes[n] for n in read)))
    block = _weights_cut(program, op, capacity)
    moved = [*(sizes[n] for n in (*read, *made)), *block]
    again = _pieces(sum(moved), room, gcd(*moved))
    if rows is None or (block and not made):
        return None
    if made and (again is None or isinstance(op.work, Pool)):
        return None
    few = tuple(n for n in op.outputs if n not in made)
    rest = tuple(n for n in names if n not in read)
    each = STATISTICS_BYTES + sum(sizes[n] for n in few)
    partial = Tensor(f"{op.name}.statistics", rows * each, (rows * each,), "uint8")
    joined = Tensor(f"{op.name}.joined", each, (each,), "uint8")
    first = _pass(program, op, "statistics", read, (partial,), rows)
    tensors = [partial]
    outputs = [program.tensors[n] for n in few]
    if made:
        tensors.append(joined)
        outputs.append(joined)
    ops = [first, _pass(program, op, "joined", (partial.name, *rest), tuple(outputs), 1, partial)]
    if made and again:
        given = (*read, *rest, joined.name)
        last = _pass(program, op, "", given, tuple(program.tensors[n] for n in made), again, joined)
        whole = tuple(range(len(read), len(given)))
        assert isinstance(last.work, Vector)
        fine = _in_pieces(last.work, again, len(given), whole, bool(block))
        ops.append(replace(last, work=fine))
    else:
        ops[-1] = replace(ops[-1], name=op.name)
    ops[-1] = replace(ops[-1], weights=op.weights, weights_in_place=op.weights_in_place)
    passes = "two passes" if made else "one pass"
    note = f"in {passes} over {rows:,} pieces of its operands, with {each} B of statistics of each"
    return Rewritten(tuple(ops), tuple(tensors), note=note)


def _pass(
    program: Program, op: Op, part: str, given: Sequence[str], made: Sequence[Tensor], rows: int, *new: Tensor
) -> Op:
    """Vector work in ``rows`` pieces; without ``part`` under the op's own name."""
    tensors = [program.tensors.get(n) or next(each for each in new if each.name == n) for n in given]
    sizes = sum(each.bytes for each in tensors), sum(each.bytes for each in made)
    elements = max(each.bytes * 8 // DTYPE_BITS[each.dtype] for each in (*tensors, *made))
    work = Vector(elements, *sizes, rows)
    name, kind = (f"{op.name}.{part}", f"{op.kind}_{part}") if part else (op.name, op.kind)
    outputs = tuple(each.name for each in made)
    return Op(name, kind, work, tuple(given), outputs, dtype=op.dtype, core=op.core, place=op.place)


def _weights_cut(program: Program, op: Op, capacity: int) -> list[int]:
    """Bytes of weights that are too many to stay for all pieces, and so pass in pieces as well."""
    sizes = [program.weights[name].bytes for name in op.weights]
    return sizes if sum(sizes) > capacity // PIECE_SHARE else []


def _in_pieces(work: Vector, count: int, operands: int, whole: tuple[int, ...], weighted: bool) -> Vector:
    """``work`` in ``count`` rows, or channels if weights are cut, all with the operands ``whole``."""
    if not weighted:
        return replace(work, rows=count, reach=None, cut=None, broadcast=whole)
    piece = OperandAxes((OperandAxis(count, 0),))
    cut = AxisCut((count,), 0, 1, tuple(None if i in whole else piece for i in range(operands)))
    return replace(work, rows=1, reach=None, cut=cut, broadcast=whole)


def _pieces(total: int, room: int, divisor: int) -> int | None:
    """The least divisor of ``divisor`` so that equal pieces of ``total`` fit ``room``; None: none does."""
    least = -(-total // max(1, room))
    return next((n for n in range(least, min(divisor, MOST_PIECES) + 1) if divisor % n == 0), None)


def in_partial_sums(program: Program, op: Op, capacity: int) -> Rewritten | None:
    """Products of pieces of the rows, or convolutions of some of the input channels, each with sums of 32
    bits, and the sum of these."""
    if op.sliced is not None or not op.inputs or not op.weights or len(op.outputs) != 1 or 0 in op.whole:
        return None
    inputs, out = seen_inputs(op, program.tensors), seen_outputs(op, program.tensors)[0]
    kernel = max((program.weights[name] for name in op.weights), key=lambda weight: weight.elements)
    total = summed_over(op.work)
    if (
        total < 2
        or kernel.elements % total
        or DTYPE_BITS[inputs[0].dtype] % 8
        or any(each.elements != out.elements for each in inputs[1:])
    ):
        return None
    count = _piece(op.work, total, inputs[0], kernel, capacity // SUM_SHARE)
    if count is None or kernel.bytes * count % (total * op.work.channels):
        return None
    wide = SUM_TYPES[out.dtype.startswith(("float", "bfloat"))]
    ops: list[Op] = []
    tensors: list[Tensor] = []
    weights: list[Weight] = []
    cuts = [Interval(first, min(total, first + count)) for first in range(0, total, count)]
    for number, cut in enumerate(cuts):
        name = f"{op.name}.sum{number}"
        size = out.elements * DTYPE_BITS[wide] // 8
        tensors.append(Tensor(name, size, out.shape, wide, out.stored))
        share = kernel.bytes * len(cut) // total, kernel.elements * len(cut) // total
        weights.append(Weight(f"{kernel.name}.{number}", *share))
        work = _piece_work(op.work, SummedPiece(cut.start, len(cut), total))
        views = (inputs[0].shape, out.shape)
        own = (f"{kernel.name}.{number}",)
        made = replace(op, name=name, work=work, inputs=op.inputs[:1], outputs=(name,), weights=own)
        ops.append(replace(made, views=views, whole=(), overwrites=None, cycles=None))
    names = (*(each.name for each in tensors), *op.inputs[1:])
    rest = tuple(name for name in op.weights if name != kernel.name)
    every = {**program.tensors, **{each.name: each for each in tensors}}
    read = sum(every[name].bytes for name in names)
    rows = out.shape[0] * out.shape[2] if len(out.shape) == IMAGE_AXES else prod(out.shape[:-1])
    total_work = Vector(out.elements * len(names), read, out.bytes, max(1, rows))
    shapes = (*(out.shape for _ in names), out.shape)
    last = replace(op, kind="add", work=total_work, inputs=names, weights=rest, dtype=wide, views=shapes)
    last = replace(last, whole=(), overwrites=None, cycles=None)
    return Rewritten((*ops, true_op(last, every)), tuple(tensors), tuple(weights))


def summed_over(work: Work) -> int:
    """The elements of a row, or the input channels, that a product or convolution sums over; 0 for other
    work, and where that is a piece already."""
    match work:
        case Matmul() if not work.solid and not work.summed and work.shared_right:
            return work.inner
        case Conv() if not work.solid and not work.summed and work.groups == 1:
            return work.in_c
        case _:
            return 0


def _piece(work: Work, total: int, x: SeenTensor, kernel: Weight, room: int) -> int | None:
    """The most elements or channels of a piece of which one row, with one output channel of the kernel, takes
    at most ``room`` bytes; None where not even one does."""
    window = work.window if isinstance(work, Conv) else None
    height = min(window.in_h, window.dilation_h * (window.kernel_h - 1) + 1) if window else 1
    lines = work.batch * window.in_h if isinstance(work, Conv) and window else work.rows
    each = x.bytes * height // (lines * total) + -(-kernel.bytes // (work.channels * total))
    most = room // max(1, each)
    return min(total, next((n for n in range(most, 0, -1) if total % n == 0), most)) if most else None


def _piece_work(work: Work, piece: SummedPiece) -> Conv | Matmul:
    if isinstance(work, Conv):
        return replace(work, in_c=piece.count, summed=piece)
    assert isinstance(work, Matmul)
    return replace(work, inner=piece.count, summed=piece)


def by_columns(op: Op) -> Rewritten | None:
    """Products of activations of which each has its own right matrix, cut by columns too."""
    work = op.work
    fits = isinstance(work, Matmul) and len(op.inputs) > 1 and not op.weights and 1 not in op.whole
    if not fits or not isinstance(work, Matmul) or work.solid or work.channels > 1 or work.cols < 2:
        return None
    return Rewritten((replace(op, work=replace(work, by_columns=True)),))


def rewritten(program: Program, changes: Mapping[str, Rewritten]) -> Program:
    """``program`` with ops replaced by others, and with the tensors, weights and notes that these bring."""

    def body(nodes: Body) -> Body:
        found: list[Node] = []
        for node in nodes:
            change = changes.get(node.name) if isinstance(node, Op) else None
            found += change.ops if change else (with_bodies(node, body),)
        return tuple(found)

    tensors, weights, notes = dict(program.tensors), dict(program.weights), list(program.notes)
    for name, change in changes.items():
        tensors |= {each.name: each for each in change.tensors}
        weights |= {each.name: each for each in change.weights}
        notes += [f"{name!r} does not fit and runs {change.note}"] if change.note else []
    new = replace(program, body=body(program.body), notes=tuple(notes))
    gone = _named(program) - _named(new)
    return replace(
        new,
        tensors={name: each for name, each in tensors.items() if name not in gone},
        weights={name: each for name, each in weights.items() if name not in gone},
    )


def _named(program: Program) -> set[str]:
    """The tensors and weights that an op uses."""
    return {name for op in program.ops() for name in (*op.inputs, *op.outputs, *op.constants)}
