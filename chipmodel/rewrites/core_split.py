"""Ops split over the cores of a chip: each core computes a band of rows, or a slice of output channels.

The rewritten program has an op for each core, with its ``core``, on tensors of its own: no stage from the
partition to the simulators has to know of splits. What a core needs of another's rows is cut out there, and
joined here; both are ops that cost what they move, and what crosses goes through Psram as any tensor does.

* *Bands of rows* need all weights on every core, and of another core only the rows that a window reaches
  beyond the band (halo). Halo rows are handed over, or each core computes them for itself: the tensors
  ``again``, whose bands overlap.
* *Slices of channels* have weights that no other core needs, but read all channels of their input.

The bands of an op make the same bytes as the whole op (``tests/chipmodel/rewrites/test_core_split.py`` runs
both). Source: the layer splits of Stream (A. Symons, L. Mei, S. Colleman, P. Houshmand, S. Karl, M. Verhelst,
"Stream: design space exploration of layer-fused DNNs on heterogeneous dataflow accelerators", 2025), and
bands that overlap (M. Alwani, H. Chen, M. Ferdman, P. Milder, "Fused-layer CNN accelerators", 2016).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from chipmodel.geometry.interval import Interval, hull
from chipmodel.geometry.layout import Storage
from chipmodel.geometry.window import Window
from chipmodel.model.attributes import AlongAxis, SliceRanges
from chipmodel.model.core_parts import WHOLE_OPS, CoreSplit, OpSplit
from chipmodel.model.program import DTYPE_BITS, Node, Op, Program, Tensor, Weight, ops, reads
from chipmodel.model.work import Conv, Matmul, Pool, SingleWork, Vector
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.splittable import (
    bands,
    channel_axis,
    channelwise,
    may_overlap,
    may_split_channels,
    may_split_rows,
    row_axis,
)
from chipmodel.rewrites.true_parts import true_op

MARK = "@core"
"""What the names of parts have and no name of a program that is split."""


def whole_name(part: str) -> str:
    """Return the name of the op that a part is of: its own name for an op that is not split."""
    return part.split(MARK)[0]


def has_parts(program: Program) -> bool:
    """Return whether names of ``program`` look like those of parts."""
    names = (*program.tensors, *program.weights, *(node.name for node in program.nodes()))
    return any(MARK in name for name in names)


def split_over_cores(program: Program, split: CoreSplit) -> Program:
    """Return ``program`` with the ops of ``split`` as an op for each core.

    Raises ValueError for an op that cannot be split so.
    """
    if split == WHOLE_OPS:
        return program
    unknown = {each.op for each in split.ops} - {node.name for node in program.body}
    if unknown or len(split.by_op()) < len(split.ops):
        raise ValueError(f"an op is split once, of those outside of branches and loops: {sorted(unknown)}")
    if any(each.cores < 2 for each in split.ops):
        raise ValueError("an op is split over two cores or more")
    if has_parts(program):
        raise ValueError(f"a name of {program.name} has {MARK!r}, as parts of ops have")
    made = _Splitter(program, split, _band_rows(program, split))
    for node in program.body:
        made.node(node)
    made.outputs()
    new = made.program()
    return reuse(new, "all") if reuse(program, "all") == program else new


def _band_rows(program: Program, split: CoreSplit) -> dict[str, tuple[Interval, ...]]:
    """For each op in bands, the rows that each core computes."""
    found: dict[str, tuple[Interval, ...]] = {}
    wanted: dict[str, dict[int, list[Interval]]] = {}
    again, by_op = {*split.again}, split.by_op()
    if not again <= {*may_overlap(program, split)}:
        raise ValueError("rows can be computed again only of what is made and read in bands")
    for op in reversed([node for node in program.body if isinstance(node, Op) and node.name in by_op]):
        if by_op[op.name].by != "rows":
            continue
        cores = by_op[op.name].cores
        if not may_split_rows(program, op, cores):
            raise ValueError(f"op {op.name!r} has no bands of rows for {cores} cores")
        name = op.outputs[0]
        rows = bands(op.work.rows, cores)
        if name in again:
            rows = tuple(hull(wanted[name][core]) for core in range(cores))
        found[op.name] = rows
        for index, operand in enumerate(op.inputs):
            for core, band in enumerate(rows):
                needs = rows_read(program, op, index, band)
                wanted.setdefault(operand, {}).setdefault(core, []).append(needs)
    return found


def rows_read(program: Program, op: Op, index: int, band: Interval) -> Interval:
    """Return the rows that a band of ``op`` reads of input number ``index``."""
    share = op.reads(index, band, Interval(0, op.work.channels))
    tensor = program.tensors[op.inputs[index]]
    axis = row_axis(tensor)
    if share.whole:
        return Interval(0, 1 if axis is None else tensor.shape[axis])
    work = op.work
    return window_rows(work.window, band) if isinstance(work, Conv | Pool) and index == 0 else share.rows


@dataclass(frozen=True, slots=True)
class _Piece:
    """A tensor that one core makes of another tensor: a range of its rows or channels."""

    name: str
    core: int
    range: Interval


@dataclass
class _Splitter:
    """The program as it grows. ``pieces`` are those of each tensor that is split, with their axis."""

    whole: Program
    split: CoreSplit
    band_rows: Mapping[str, tuple[Interval, ...]]
    tensors: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    weights: dict[str, Weight] = field(default_factory=dict[str, Weight])
    body: list[Node] = field(default_factory=list[Node])
    pieces: dict[str, tuple[int, tuple[_Piece, ...]]] = field(
        default_factory=dict[str, tuple[int, tuple[_Piece, ...]]]
    )
    by_op: dict[str, OpSplit] = field(default_factory=dict[str, OpSplit])
    cut_out: list[Op] = field(default_factory=list[Op])
    """Ops that cut out what other cores need: these come first, so that nobody waits for a join."""
    joins: list[Op] = field(default_factory=list[Op])

    def __post_init__(self) -> None:
        self._rows_of, self._joined = cache(self._new_rows), cache(self._new_whole)
        self.by_op |= self.split.by_op()
        self.tensors |= self.whole.tensors
        self.weights |= self.whole.weights

    def program(self) -> Program:
        """The new program, with the tensors and weights that it uses."""
        named = {name for op in ops(tuple(self.body)) for name in (*op.inputs, *op.outputs)}
        named |= {*self.whole.inputs, *self.whole.outputs, *self.whole.conditions.values()}
        used = {name for op in ops(tuple(self.body)) for name in op.constants}
        before = {name for op in self.whole.ops() for name in op.constants}
        return replace(
            self.whole,
            body=tuple(self.body),
            tensors={name: each for name, each in self.tensors.items() if name in named},
            weights={n: each for n, each in self.weights.items() if n in used or n not in before},
        )

    def node(self, node: Node) -> None:
        """Add a node, split or not."""
        if isinstance(node, Op) and node.name in self.band_rows:
            self._in_bands(node)
        elif isinstance(node, Op) and node.name in self.by_op:
            self._in_slices(node, self.by_op[node.name].cores)
        else:
            inside = {name for op in ops((node,)) for name in op.inputs}
            for name in sorted(inside | {*reads(node)}):
                self._all_of(name, 0)
            self._flush()
            self.body.append(_unmarked(node))

    def outputs(self) -> None:
        """Join what the network puts out."""
        for name in self.whole.outputs:
            self._all_of(name, 0)
        self._flush()

    def _flush(self) -> None:
        self.body += [*self.cut_out, *self.joins]
        self.cut_out.clear()
        self.joins.clear()

    # -- parts of ops --------------------------------------------------------------------------

    def _in_bands(self, op: Op) -> None:
        rows = self.band_rows[op.name]
        given = [
            tuple(self._operand(op, index, core, band) for index in range(len(op.inputs)))
            for core, band in enumerate(rows)
        ]
        self._flush()
        out = self.whole.tensors[op.outputs[0]]
        axis = row_axis(out)
        assert axis is not None
        made: list[_Piece] = []
        for core, band in enumerate(rows):
            name = self._part_of(out, axis, band, core)
            work = band_work(op.work, band)  # type: ignore[arg-type]
            self._add_part(op, work, given[core], name, core, op.weights)
            made.append(_Piece(name, core, band))
        self.pieces[out.name] = axis, tuple(made)

    def _operand(self, op: Op, index: int, core: int, band: Interval) -> str:
        name = op.inputs[index]
        share = op.reads(index, band, Interval(0, op.work.channels))
        if not share.whole:
            return self._rows_of(name, core, rows_read(self.whole, op, index, band))
        if name not in self.split.again:
            return self._all_of(name, core)
        axis = self.pieces[name][0]
        return self._rows_of(name, core, Interval(0, self.whole.tensors[name].shape[axis]))

    def _in_slices(self, op: Op, cores: int) -> None:
        if not may_split_channels(self.whole, op, cores):
            raise ValueError(f"op {op.name!r} has no slices of channels for {cores} cores")
        out = self.whole.tensors[op.outputs[0]]
        axis = channel_axis(out)
        assert axis is not None
        alike = channelwise(self.whole, op)
        slices = bands(out.shape[axis], cores)
        if alike:
            given = [tuple(self._slice_of(op, n, core, cores) for n in op.inputs) for core in range(cores)]
        else:
            given = [tuple(self._all_of(n, core) for n in op.inputs) for core in range(cores)]
        self._flush()
        made: list[_Piece] = []
        for core, channels in enumerate(slices):
            name = self._part_of(out, axis, channels, core)
            weights = tuple(self._weight_slice(w, channels, out.shape[axis], core) for w in op.weights)
            work = slice_work(op.work, channels, out.shape[axis])  # type: ignore[arg-type]
            self._add_part(op, work, given[core], name, core, weights)
            made.append(_Piece(name, core, channels))
        self.pieces[out.name] = axis, tuple(made)

    def _slice_of(self, op: Op, name: str, core: int, cores: int) -> str:
        axis, pieces = self.pieces.get(name, (None, ()))
        if axis != channel_axis(self.whole.tensors[name]) or len(pieces) != cores:
            raise ValueError(f"op {op.name!r} reads {name!r}, which is not in slices of channels")
        return pieces[core].name

    def _add_part(
        self, op: Op, work: SingleWork, given: tuple[str, ...], made: str, core: int, weights: tuple[str, ...]
    ) -> None:
        part = replace(
            _unmarked_op(op),
            name=f"{op.name}{MARK}{core}",
            work=work,
            inputs=given,
            outputs=(made,),
            weights=weights,
            views=tuple(self.tensors[name].shape for name in (*given, made)) if op.views else (),
            core=core,
        )
        self.body.append(true_op(part, self.tensors))

    def _weight_slice(self, name: str, channels: Interval, of: int, core: int) -> str:
        weight, new = self.weights[name], f"{name}{MARK}{core}"
        share = len(channels)
        self.weights[new] = Weight(new, weight.bytes * share // of, weight.elements * share // of)
        return new

    # -- parts of tensors ----------------------------------------------------------------------

    def _part_of(self, whole: Tensor, axis: int, part: Interval, core: int, more: str = "") -> str:
        """Declare a tensor for a range of an axis of another one."""
        name = f"{whole.name}{MARK}{core}{more}"
        self.tensors[name] = part_tensor(whole, name, axis, len(part))
        return name

    def _all_of(self, name: str, core: int) -> str:
        """All of a tensor on a core, its pieces joined; on core 0 the joined one has the whole's name."""
        return self._joined(name, core) if name in self.pieces else name

    def _new_whole(self, name: str, core: int) -> str:
        axis, pieces = self.pieces[name]
        new = name if core == 0 else f"{name}{MARK}{core}.whole"
        self.tensors[new] = replace(self.whole.tensors[name], name=new)
        self._join([each.name for each in pieces], new, axis, core)
        return new

    def _new_rows(self, name: str, core: int, rows: Interval) -> str:
        """A tensor with exactly these rows of another one on a core."""
        axis = row_axis(self.whole.tensors[name])
        assert axis is not None
        split_axis, pieces = self.pieces.get(name, (None, ()))
        if split_axis != axis:
            return self._cut_out(self._all_of(name, core), Interval(0, 0), name, core, rows, self.joins)
        own = pieces[core] if core < len(pieces) else None
        if own and own.range.start <= rows.start and rows.stop <= own.range.stop:
            return self._cut_out(own.name, own.range, name, core, rows, self.joins)
        parts: list[str] = []
        for piece in pieces:
            common = Interval(max(piece.range.start, rows.start), min(piece.range.stop, rows.stop))
            if common.start < common.stop:
                to = self.joins if piece.core == core else self.cut_out
                parts.append(self._cut_out(piece.name, piece.range, name, piece.core, common, to))
        if len(parts) == 1:
            return parts[0]
        new = self._part_of(self.whole.tensors[name], axis, rows, core, f".rows{rows.start}-{rows.stop}")
        self._join(parts, new, axis, core)
        return new

    def _cut_out(
        self, source: str, holds: Interval, name: str, core: int, rows: Interval, to: list[Op]
    ) -> str:
        """Rows of tensor ``name`` as one made on ``core``; ``source`` ``holds`` some of them (none: all)."""
        whole = self.whole.tensors[name]
        axis = row_axis(whole)
        assert axis is not None
        held = holds if len(holds) else Interval(0, whole.shape[axis])
        if held == rows:
            return source
        new = f"{name}{MARK}{core}.rows{rows.start}-{rows.stop}"
        if new in self.tensors:
            return new
        self._part_of(whole, axis, rows, core, f".rows{rows.start}-{rows.stop}")
        starts = [0] * len(whole.shape)
        starts[axis] = rows.start - held.start
        ranges = SliceRanges(tuple(starts), (1,) * len(starts))
        to.append(self._mover(f"{new}.cut", "slice", (source,), new, core, ranges))
        return new

    def _join(self, parts: Sequence[str], new: str, axis: int, core: int) -> None:
        along = AlongAxis(axis, self.tensors[new].shape[axis])
        self.joins.append(self._mover(f"{new}{MARK}{core}.join", "concat", tuple(parts), new, core, along))

    def _mover(
        self,
        name: str,
        kind: str,
        inputs: tuple[str, ...],
        output: str,
        core: int,
        attributes: AlongAxis | SliceRanges,
    ) -> Op:
        out = self.tensors[output]
        elements = out.bytes * 8 // DTYPE_BITS[out.dtype]
        rows = out.stored.grid[0]
        work = Vector(elements, out.bytes, out.bytes, rows, attributes=attributes)
        op = Op(name, kind, work, inputs, (output,), dtype=out.dtype, core=core)
        return true_op(op, self.tensors)


def part_tensor(whole: Tensor, name: str, axis: int, size: int) -> Tensor:
    """Return a tensor like ``whole`` with ``size`` indices along ``axis``."""
    shape = tuple(size if place == axis else each for place, each in enumerate(whole.shape))
    storage = None if whole.storage is None else Storage(shape, whole.storage.layout)
    return Tensor(name, whole.bytes // whole.shape[axis] * size, shape, whole.dtype, storage)


def band_work(work: SingleWork, rows: Interval) -> SingleWork:
    """Return the work of a band of rows on exactly the rows that it reads."""
    match work:
        case Conv() | Pool():
            return replace(work, window=_band_window(work.window, rows))
        case Matmul():
            return replace(work, rows_=len(rows), batch=1)
        case Vector():
            return _vector_share(replace(work, rows=len(rows)), work, len(rows), work.rows)
        case _:
            raise ValueError(f"no bands of {type(work).__name__}")


def window_rows(window: Window, rows: Interval) -> Interval:
    """Return the input rows that a band has: those that it reads, and as many that strides skip that bands
    together have at least the rows of the whole, all of which the whole op reads."""
    read = window.input_rows(rows)
    share = -(-len(rows) * window.in_h // window.out_h)
    return Interval(read.start, min(window.in_h, max(read.stop, read.start + share)))


def _band_window(window: Window, rows: Interval) -> Window:
    read = window_rows(window, rows)
    top = read.start + window.pad_top - rows.start * window.stride_h
    reach = (len(rows) - 1) * window.stride_h + window.dilation_h * (window.kernel_h - 1) + 1
    bottom = max(0, reach - top - len(read))
    return replace(window, in_h=len(read), out_h=len(rows), pad_top=top, pad_bottom=bottom)


def slice_work(work: SingleWork, channels: Interval, of: int) -> SingleWork:
    """Return the work of a slice of the output channels, of which there are ``of``."""
    match work:
        case Conv() if work.depthwise:
            return replace(work, in_c=len(channels), out_c=len(channels), groups=len(channels))
        case Conv():
            return replace(work, out_c=len(channels))
        case Pool():
            return replace(work, channels_=len(channels))
        case Matmul():
            return replace(work, cols=len(channels))
        case Vector():
            return _vector_share(replace(work, rows=work.rows * len(channels) // of), work, len(channels), of)
        case _:
            raise ValueError(f"no slices of {type(work).__name__}")


def _vector_share(work: Vector, whole: Vector, part: int, of: int) -> Vector:
    def share(total: int) -> int:
        return -(-total * part // of)

    return replace(
        work, elements=share(whole.elements), in_bytes=share(whole.in_bytes), out_bytes=share(whole.out_bytes)
    )


def _unmarked_op(op: Op) -> Op:
    return replace(op, overwrites=None, by_rows=None, absorbs=())


def _unmarked(node: Node) -> Node:
    """A node without marks of in-place reuse, which are set again: a tensor may now have other readers."""
    return _unmarked_op(node) if isinstance(node, Op) else node
