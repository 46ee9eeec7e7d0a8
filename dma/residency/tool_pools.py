"""What a chip's own tool adds to an op's cycles: tensors that it leaves in Psram, and the start of a run.

The NPU reads and writes tensors in Psram where they lie, each by a stream engine of its own and all those of
an op at once, so the largest one decides how long that takes.

The tool has two pools in SharedMemory, and fills them with the largest tensors first; what has room in
neither stays off chip. No op works in place for it. What only a pooling reads never lies whole: the tool
pools it as it is made. A dense kernel with more rows than the NPU has is computed in parts, whose sums of 16
bits lie in what room the tensors leave; all are written at once, and then read at once to be added up.

Source: chipmodel; chosen by the published use of external RAM on STM32N6 (docs/decisions, 0121).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil

from chipmodel.cascades.shape import may_cascade
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.rounding import ceil_div
from chipmodel.hardware.chip import Chip
from chipmodel.model.attributes import AlongAxis, AxisOrder, Interleaving
from chipmodel.model.plan import Buffer, Problem
from chipmodel.model.program import Body, Op, Program, with_ops
from chipmodel.model.tree import bodies
from chipmodel.model.work import Conv, Pool, Vector
from chipmodel.npu.array import elements_written
from chipmodel.rewrites.op_shapes import seen_inputs, seen_outputs
from dma.residency.greedy import ResidencyTable
from solvers.core.first_fit import PlacedByTime

SUMS = 3
"""The most sums of a kernel's parts that lie in memory at once: two, and what they are added up to."""
SUM_BYTES = 2


def as_tool_keeps(program: Program, chip: Chip) -> Program:
    """Return ``program`` with the cycles that its ops take for tensors in Psram, by the tool of ``chip``, and
    its first op with those that the tool's driver takes to start a run."""
    left, start = tensors_left(program, chip), chip.vendor.run_cycles
    copied = _copied(program, chip)
    first = next((op.name for op in program.ops()), None)

    def slower(op: Op) -> Op:
        sums = [name for name, _ in _sums(program, op, chip)]
        passes = ((*op.inputs, *sums), (*sums, *op.outputs)) if sums else ((*op.inputs, *op.outputs),)
        moved = sum(max((left.get(name, 0) for name in names), default=0) for names in passes)
        further = ceil(moved * chip.vendor.psram_byte_cycles) + (start if op.name == first else 0)
        further += ceil(copied.get(op.name, 0) * chip.vendor.copy_cycles)
        return replace(op, further_cycles=further, absorbs=() if op.name in copied else op.absorbs)

    return replace(program, body=with_ops(program.body, slower)) if left or start or copied else program


def _copied(program: Program, chip: Chip) -> Mapping[str, int]:
    """The accesses of each op that a CPU copies: of shuffled channels, of a concat with an input that
    another concat reads too, so that it cannot be made in place, and of numbers that are no image any more
    and that are cut or joined between words, as after the heads of a detector. An access moves as many bytes
    as SharedMemory is aligned to, or one if the pieces are not."""
    if not chip.vendor.copy_cycles:
        return {}
    word = chip.shared_memory.alignment
    makers = {name: op for op in program.ops() for name in op.outputs}
    concats = Counter(name for op in program.ops() if op.kind == "concat" for name in {*op.inputs})
    found: dict[str, int] = {}
    for op in program.ops():
        pieces, image = _pieces(program, op)
        odd = any(size % word for size in pieces)
        shared = op.kind == "concat" and any(concats[name] > 1 for name in op.inputs)
        turned = all(name in makers and makers[name].kind == "transpose" for name in op.inputs)
        if pieces and (op.kind not in ("concat", "split") or shared or (odd and not image and not turned)):
            found[op.name] = ceil_div(sum(program.tensors[n].bytes for n in op.outputs), 1 if odd else word)
    return found


def _pieces(program: Program, op: Op) -> tuple[Sequence[int], bool]:
    """The channels of each piece of what ``op`` shuffles, joins or cuts, and whether it is an image; none of
    other ops. The last axis has positions, so that pieces along it lie one after another."""
    match op.work:
        case Vector(attributes=Interleaving(groups)):
            return (program.tensors[op.outputs[0]].shape[1] // groups,), True
        case Vector(attributes=AxisOrder((0, 2, 1, _, _))):
            return (op.views[0][2],), True
        case Vector(attributes=AlongAxis(axis)) if op.kind in ("concat", "split"):
            seen = seen_inputs if op.kind == "concat" else seen_outputs
            shapes = [each.shape for each in seen(op, program.tensors)]
            rank = len(shapes[0])
            return ([shape[axis] for shape in shapes] if axis + 1 < rank else ()), (rank, axis) == (4, 1)
        case _:
            return (), False


def tensors_left(program: Program, chip: Chip) -> Mapping[str, int]:
    """Return the bytes of each tensor, and of each sum of a kernel's parts, that has room in neither pool of
    the tool; none where no more is known of them."""
    if not chip.vendor.psram_byte_cycles:
        return {}
    pooled = _pooled(program)
    apart = replace(program, body=with_ops(program.body, lambda op: replace(op, overwrites=None, absorbs=())))
    table = ResidencyTable(apart)
    alive = table.residency(table.initial_decisions()).segments
    left = [
        Buffer(name, program.tensors[name].bytes, tuple(i for each in parts for i in table.live(each)))
        for name, parts in alive.items()
        if name not in pooled
    ]
    left.sort(key=lambda buffer: -buffer.bytes)
    for place, op in enumerate(program.ops()):
        left.extend(
            Buffer(name, size, (Interval(place, place + 1),)) for name, size in _sums(program, op, chip)
        )
    capacity, first = chip.shared_memory.bytes, chip.vendor.pool_bytes
    for size in (min(first, capacity), max(0, capacity - first)):
        left = _without_room(left, size)
    return {buffer.name: buffer.bytes for buffer in left}


def pooled_as_made(program: Program, chip: Chip) -> frozenset[str]:
    """Return the names of convolutions whose operands do not fit SharedMemory together, and of the poolings
    that the tool makes of them meanwhile; none where no more is known of its pools."""
    if not chip.vendor.psram_byte_cycles:
        return frozenset()
    pooled, capacity = _pooled(program), chip.shared_memory.bytes
    return frozenset(
        name
        for made, pooling in _neighbours(program.body)
        if may_cascade(made) and may_cascade(pooling)
        if isinstance(made.work, Conv) and pooling.inputs == made.outputs and made.outputs[0] in pooled
        if sum(program.tensors[name].bytes for name in (*made.inputs, *made.outputs)) > capacity
        for name in (made.name, pooling.name)
    )


def _neighbours(body: Body) -> Iterator[tuple[Op, Op]]:
    """Ops of one body without a branch or loop between them."""
    for node, after in pairwise(body):
        if isinstance(node, Op) and isinstance(after, Op):
            yield node, after
    for inner in (inner for node in body for inner in bodies(node)):
        yield from _neighbours(inner)


def _sums(program: Program, op: Op, chip: Chip) -> Iterator[tuple[str, int]]:
    """The sums that lie in memory while ``op`` runs, by names that no tensor has."""
    rows = chip.vendor.kernel_rows
    if rows and isinstance(op.work, Conv) and op.work.groups == 1 and op.work.window.kernel_h > rows:
        size = SUM_BYTES * elements_written(op.work)
        for number in range(min(SUMS, ceil_div(op.work.window.kernel_h, rows))):
            yield f"{op.name}: sum {number}", size


def _pooled(program: Program) -> frozenset[str]:
    """The tensors that only poolings read."""
    others = {name for op in program.ops() if not isinstance(op.work, Pool) for name in op.inputs}
    read = {name for op in program.ops() if isinstance(op.work, Pool) for name in op.inputs}
    return frozenset(read - others - {*program.inputs, *program.outputs})


def _without_room(buffers: Sequence[Buffer], size: int) -> list[Buffer]:
    """The buffers that have no room in a pool, placed one after another, each as low as it can be."""
    placed = PlacedByTime(Problem(tuple(buffers)))
    left: list[Buffer] = []
    for index, buffer in enumerate(buffers):
        offset = placed.lowest((index,), buffer)
        if offset + buffer.bytes <= size:
            placed.add(index, offset)
        else:
            left.append(buffer)
    return left
