"""Wide tensors in slices of channels: what makes a wide tensor and what reads it run slice by slice.

A *chain* is a convolution or dense layer, ops that treat each channel alike, and a convolution or dense layer
again. Slice ``k`` of the first makes some output channels, the ops between treat these, and slice ``k`` of
the last multiplies them by its weights for these input channels. Sums of 32 bits add up in place, and the
last addition makes the output. So no tensor inside the chain is ever there as a whole, nothing is computed
twice, and each weight is loaded once; the sums and two more bytes moved for each byte of them are the price.

Source: R. Stahl, D. Mueller-Gritschneder, U. Schlichtmann, "Fused Depthwise Tiling for Memory Optimization in
TinyML Deep Neural Network Inference", 2023 (arXiv:2303.17878): its fan-out, its partitioned ops, and its
fan-in by sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import IMAGE_AXES
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import DTYPE_BITS, Body, InPlaceWeights, Op, Program, Tensor, Weight, reads
from chipmodel.model.tree import bodies
from chipmodel.model.work import Conv, Matmul, SingleWork, Vector
from chipmodel.records import dataclass
from chipmodel.rewrites.channel_parts import (
    SLICE_MARK,
    bands,
    channel_axis,
    channelwise,
    may_split_channels,
    part_tensor,
    slice_work,
)
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.true_parts import true_op
from dma.residency.greedy import ResidencyTable
from dma.residency.rewritten_ops import SUM_TYPES, Rewritten, rewritten, summed_over

SUM = ".sum"
"""The end of the names of sums of several slices."""
MOST_SLICES = 64
"""Slices of a chain at most: each is a step of every op, with a transfer of its weights."""

Chain = tuple[Op, ...]
Slices = Mapping[str, int]
"""In how many slices a chain runs, by the name of its first op."""


def whole_name(part: str) -> str:
    """Return the name of the op that a slice is of: its own name for an op that is not cut into slices."""
    return part.split(SLICE_MARK)[0]


def slices_of(names: Iterable[str]) -> Slices:
    """Return in how many slices each op runs of which slices are among ``names``."""
    return Counter(
        whole_name(name) for name in dict.fromkeys(names) if SLICE_MARK in name and not name.endswith(SUM)
    )


def chains(program: Program) -> tuple[Chain, ...]:
    """Return the chains of neighbours in a body that can run in slices, in order; two may share an op."""
    readers = Counter(name for node in program.nodes() for name in reads(node))
    readers.update((*program.outputs, *program.inputs))
    makers = Counter(name for op in program.ops() for name in op.outputs)

    def follows(before: Op, op: Op) -> bool:
        """Whether an op alone reads what the one before makes, and nothing else."""
        inside = op.inputs == before.outputs and len(op.inputs) == 1
        return inside and readers[op.inputs[0]] == makers[op.inputs[0]] == 1

    def found(body: Body) -> Iterator[Chain]:
        for first, node in enumerate(body):
            yield from (chain for inner in bodies(node) for chain in found(inner))
            if not isinstance(node, Op) or not _is_first(program, node):
                continue
            chain: list[Op] = [node]
            for op in body[first + 1 :]:
                if not isinstance(op, Op) or not follows(chain[-1], op):
                    break
                chain.append(op)
                if _is_last(program, op):
                    yield tuple(chain)
                if not _is_between(program, op):
                    break

    return tuple(found(program.body))


def _loaded(op: Op) -> Op:
    return replace(op, weights=op.constants, weights_in_place=None)


def _is_first(program: Program, op: Op, channels: int = 2) -> bool:
    """Whether an op is a convolution or dense layer with at least so many output channels."""
    plain = isinstance(op.work, Conv | Matmul) and SLICE_MARK not in op.name
    return plain and may_split_channels(program, _loaded(op), channels) and not channelwise(program, op)


def _is_between(program: Program, op: Op) -> bool:
    if isinstance(op.work, Vector):  # its rows may have all channels, and then a slice's have fewer
        axis = channel_axis(program.tensors[op.outputs[0]])
        op = replace(op, work=replace(op.work, rows=program.tensors[op.outputs[0]].shape[axis or 0]))
    alike = len(op.inputs) == 1 and channelwise(program, op)
    return alike and may_split_channels(program, _loaded(op), 2)


def _is_last(program: Program, op: Op) -> bool:
    """Whether an op sums over its input channels, and its largest weight has as many bytes for each."""
    if not _is_first(program, op, 1):
        return False
    total, kernel = summed_over(op.work), _kernel(program, op)
    axis = channel_axis(program.tensors[op.inputs[0]])
    alike = axis is not None and program.tensors[op.inputs[0]].shape[axis] == total
    return alike and not kernel.elements % total and not kernel.bytes % (total * op.work.channels)


def _kernel(program: Program, op: Op) -> Weight:
    return max((program.weights[name] for name in op.constants), key=lambda weight: weight.elements)


def _sums(program: Program, op: Op, number: int = 0) -> Tensor:
    """The sums that slice ``number`` of the last op of a chain makes."""
    out = program.tensors[op.outputs[0]]
    wide = SUM_TYPES[out.dtype.startswith(("float", "bfloat"))]
    size = out.bytes * 8 // DTYPE_BITS[out.dtype] * DTYPE_BITS[wide] // 8
    return Tensor(f"{out.name}{SLICE_MARK}{number}", size, out.shape, wide, out.storage)


def with_slices(program: Program, budget: int, large: Collection[str] = ()) -> Program | None:
    """Return ``program`` with each chain of which an op needs more than ``budget`` bytes in as few slices as
    are enough, or else in those with which it needs the fewest; None where there is none. Only chains that
    have one of the ops ``large``, where some are named.

    Only chains are cut of which no row of a wide tensor is smaller than the sums: where one is, a cascade in
    stripes of rows needs less.
    """
    counts: dict[str, int] = {}
    taken: set[str] = set()
    for chain in chains(program):
        names = {op.name for op in chain}
        if not names & taken and (names & {*large} or not large) and _is_wide(program, chain):
            count = _slices_needed(program, chain, budget)
            counts |= {chain[0].name: count} if count > 1 else {}
            taken |= names if count > 1 else set()
    return in_slices(program, counts) if counts else None


def _is_wide(program: Program, chain: Chain) -> bool:
    """Whether the sums take less than a row of a tensor inside: those so far, and those of a slice."""
    rows = (program.tensors[op.outputs[0]] for op in chain[:-1])
    widest = max(each.bytes // max(1, each.stored.grid[0]) for each in rows)
    return 2 * _sums(program, chain[-1]).bytes < widest


def _slices_needed(program: Program, chain: Chain, budget: int) -> int:
    """The fewest slices with which no op of a chain needs more than ``budget``, or the fewest bytes."""
    names = {op.name for op in chain}
    best, count = (ResidencyTable(program).most_needed(names), 1), 1
    while best[0] > budget and 2 * count <= min(chain[0].work.channels, MOST_SLICES):
        count *= 2
        tried = ResidencyTable(in_slices(program, {chain[0].name: count}))
        best = min(best, (tried.most_needed(names), count))
    return best[1]


def in_slices(program: Program, counts: Slices) -> Program:
    """Return ``program`` with the chains that begin with the ops ``counts`` in as many slices. Raises
    ValueError for ops that begin none, for chains with an op in common, and for more slices than channels."""
    known = {chain[0].name: chain for chain in chains(program)}
    changes: dict[str, Rewritten] = {}
    for name, count in counts.items():
        chain = known.get(name, ())
        if not chain or any(op.name in changes for op in chain):
            raise ValueError(f"{name!r} begins no chain of its own that can run in slices")
        if not 2 <= count <= chain[0].work.channels:
            raise ValueError(f"{name!r} has {chain[0].work.channels} channels for {count} slices")
        note = f"with {chain[-1].name!r} in {count} slices of channels"
        changes |= {op.name: Rewritten(()) for op in chain}
        changes[name] = replace(_slices(program, chain, count), note=note)
    made = rewritten(program, changes)
    return reuse(made, "all") if changes and reuse(program, "all") == program else made


def _slices(program: Program, chain: Chain, count: int) -> Rewritten:
    """The ops, tensors and weights of ``count`` slices of a chain."""
    making = _Making(program, {}, {}, [])
    before = ""
    for number, channels in enumerate(bands(chain[0].work.channels, count)):
        given = chain[0].inputs
        for op in chain[:-1]:
            given = (making.slice(op, given, channels, number),)
        before = making.add_up(chain[-1], given, channels, before, (number, count))
    return Rewritten(tuple(making.ops), tuple(making.tensors.values()), tuple(making.weights.values()))


@dataclass(frozen=True, slots=True)
class _Making:
    """The slices of a chain as they are made."""

    program: Program
    tensors: dict[str, Tensor]
    weights: dict[str, Weight]
    ops: list[Op]

    def slice(self, op: Op, given: tuple[str, ...], channels: Interval, number: int) -> str:
        """Slice ``number`` of an op before the last one; returns its output."""
        whole = self.program.tensors[op.outputs[0]]
        axis = channel_axis(whole)
        assert axis is not None
        assert not isinstance(op.work, CascadeWork)
        of = whole.shape[axis]
        out = part_tensor(whole, f"{whole.name}{SLICE_MARK}{number}", axis, len(channels))
        made = {name: (len(channels), of) for name in op.constants}
        if isinstance(op.work, Vector):  # as many rows, if they divide the slice
            rows = replace(op.work, rows=of)
            work: SingleWork = slice_work(rows, channels, of)
            assert isinstance(work, Vector)
            work = replace(work, rows=op.work.rows)
        else:
            work = slice_work(op.work, channels, of)
        self.add(op, number, work, (given, out), made)
        return out.name

    def add_up(
        self, op: Op, given: tuple[str, ...], channels: Interval, before: str, place: tuple[int, int]
    ) -> str:
        """Slice ``place[0]`` of ``place[1]`` of the last op, added to ``before``; returns all sums so far."""
        number, count = place
        out, kernel = self.program.tensors[op.outputs[0]], _kernel(self.program, op)
        sums = _sums(self.program, op, number)
        elements, size, wide = out.bytes * 8 // DTYPE_BITS[out.dtype], sums.bytes, sums.dtype
        made = {kernel.name: (len(channels), summed_over(op.work))}
        if not number:
            made |= {name: (1, 1) for name in op.constants if name != kernel.name}
        assert isinstance(op.work, Conv | Matmul)
        part = len(channels)
        work = replace(op.work, in_c=part) if isinstance(op.work, Conv) else replace(op.work, inner=part)
        self.add(op, number, work, (given, sums), made)
        if not number:
            return sums.name
        last = number == count - 1
        total = out if last else replace(sums, name=f"{sums.name}{SUM}")
        rows = out.shape[0] * out.shape[2] if len(out.shape) == IMAGE_AXES else prod(out.shape[:-1])
        adding = Op(
            op.name if last else total.name,
            "add",
            Vector(elements, 2 * size, total.bytes, max(1, rows)),
            (before, sums.name),
            (total.name,),
            dtype=wide,
            overwrites=None if last else before,
            core=op.core,
            place=op.place,
            views=(out.shape,) * 3,
        )
        self.tensors[total.name] = total
        self.ops.append(true_op(adding, {**self.program.tensors, **self.tensors}))
        return total.name

    def add(
        self,
        op: Op,
        number: int,
        work: SingleWork,
        operands: tuple[tuple[str, ...], Tensor],
        made: Mapping[str, tuple[int, int]],
    ) -> None:
        """Add a slice of ``op`` with the shares ``made`` of its weights."""
        given, out = operands
        self.tensors[out.name] = out
        every = {**self.program.tensors, **self.tensors}
        names: list[str] = []
        for name, (part, of) in made.items():
            whole = self.program.weights[name]
            names.append(name if part == of else f"{name}{SLICE_MARK}{number}")
            self.weights[names[-1]] = Weight(names[-1], whole.bytes * part // of, whole.elements * part // of)
        own = replace(
            op,
            name=f"{op.name}{SLICE_MARK}{number}",
            work=work,
            inputs=given,
            outputs=(out.name,),
            weights=tuple(names),
            weights_in_place=None,
            overwrites=None,
            by_rows=None,
            whole=(),
            views=(*(every[name].shape for name in given), out.shape) if op.views else (),
        )
        read = op.weights_in_place
        if read is not None:
            size = sum(self.weights[name].bytes for name in names)
            all_bytes = sum(self.program.weights[name].bytes for name in read.names)
            cycles = read.cycles * size / all_bytes
            own = replace(
                own, weights=(), weights_in_place=InPlaceWeights(tuple(names), cycles, read.latency)
            )
        self.ops.append(true_op(own, every))
