"""Cut ops finer whose operands do not fit SharedMemory, so that every op that can run does.

An op of which not even one row by one channel fits as it is cut by ``chipmodel.rewrites.true_parts`` is cut
along other axes of its output (``chipmodel.rewrites.axis_cuts``). All other ops stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from chipmodel.geometry.axis_cut import AxisCut
from chipmodel.geometry.rounding import round_up
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Vector
from chipmodel.rewrites.axis_cuts import CutNeeds, axis_cut
from chipmodel.rewrites.axis_relations import relations
from chipmodel.rewrites.in_place import may_die
from chipmodel.rewrites.op_shapes import is_pointwise, seen_inputs, seen_outputs
from dma.residency.banded_ops import in_bands
from dma.residency.channel_slices import with_slices
from dma.residency.recurrent_ops import by_time_steps
from dma.residency.rewritten_ops import (
    Rewritten,
    by_columns,
    in_memory_order,
    in_partial_sums,
    in_passes,
    rewritten,
    streamed,
)
from dma.residency.tiling import least_parts, slice_bytes

WEIGHTS_SHARE = 4
"""Weights of at most the capacity by this may stay in SharedMemory for all parts of an op."""
MOST_PARTS = 1 << 48
"""Rows times channels of an op that may be cut: no memory holds more, so planning refuses it."""
ALL = Fraction(1)
"""All of SharedMemory."""
FINER_SHARES = (Fraction(1, 2), Fraction(1, 4))
"""Shares of SharedMemory that an op may need at once, if larger ones leave no room for something else."""
MOST_REWRITINGS = 4
"""How often what takes the place of an op is rewritten again, such as a product after its operand has been
copied: none needs more than three."""
_NORMS = ("instance_norm", "group_norm", "layer_norm", "batch_norm")


def fitted(program: Program, chip: Chip, share: Fraction = ALL) -> Program:
    """``program`` with the ops that do not fit the SharedMemory of ``chip`` cut finer, or as several ops,
    where that is known to be possible. What is assumed of them is in its notes. With a smaller
    ``share`` those too that need more than that of it at once and can be cut along other axes.
    """
    capacity, least = chip.shared_memory.bytes, partial(least_part, alignment=chip.shared_memory.alignment)
    limit = int(capacity * share)
    unfit = [op.name for op in program.ops() if least(program, op) > capacity]
    program = (with_slices(program, capacity, unfit) if unfit else None) or program
    dying: dict[str, set[str]] | None = None
    kept: set[str] = set()
    for _ in range(MOST_REWRITINGS):
        large = [op for op in program.ops() if op.name not in kept and least(program, op) > limit]
        if not large:
            break
        if dying is None:
            dying = {name: set(each.absorbs) for name, each in may_die(program, "all").items()}
        known = dying
        changes = {
            op.name: _change(program, op, least(program, op), (capacity, limit), known.get(op.name, set()))
            for op in large
        }
        kept |= {name for name, change in changes.items() if change is None}
        program = rewritten(program, {name: each for name, each in changes.items() if each is not None})
    return program


def _change(
    program: Program, op: Op, needed: int, room: tuple[int, int], dying: set[str]
) -> Rewritten | None:
    """What replaces ``op``, which needs so many bytes; None: nothing. ``room``: capacity, and its most."""
    capacity, limit = room
    if op.cascade or op.collects or op.allocates:
        return None
    if dying and _in_place(program, op, dying) <= limit:
        return None
    cut = _cut(program, op, capacity)
    if cut != op and least_part(program, cut) <= (limit if needed > capacity else needed - 1):
        return Rewritten((cut,))
    if op.scratch:
        return None  # how much of it each of several ops would need is not known
    if needed <= capacity:
        return in_memory_order(program, op) or by_columns(op) or in_bands(program, op, capacity)
    if isinstance(op.work, Vector):
        tried = (in_passes, streamed) if op.work.attributes is not None else (streamed, in_passes)
        return tried[0](program, op, capacity) or tried[1](program, op, capacity)
    return (
        in_memory_order(program, op)
        or by_columns(op)
        or by_time_steps(program, op)
        or _least_moved(program, (in_bands(program, op, capacity), in_partial_sums(program, op, capacity)))
        or in_passes(program, op, capacity)
        or in_bands(program, op, capacity, share=2)
        or in_bands(program, op, capacity, share=1)
    )


def _least_moved(program: Program, found: Iterable[Rewritten | None]) -> Rewritten | None:
    """The one whose ops read and write the fewest bytes in all."""
    made = [each for each in found if each is not None]
    return min(made, key=lambda each: _moved(program, each), default=None)


def _moved(program: Program, change: Rewritten) -> int:
    tensors = {**program.tensors, **{each.name: each for each in change.tensors}}
    return sum(tensors[name].bytes for op in change.ops for name in (*op.inputs, *op.outputs))


def least_part(program: Program, op: Op, alignment: int = 1) -> int:
    """Return the bytes from the first to the last of the smallest part of an op, with its weights, where
    each operand begins at a multiple of ``alignment``; 0 of one that has none or far too many parts."""
    if op.allocates or not 0 < op.work.rows * op.work.channels <= MOST_PARTS:
        return 0
    sizes = [*(size for _, size in least_parts(program, op)), slice_bytes(program, op, 1)]
    sizes += [op.scratch.bytes] if op.scratch else []
    padded = [round_up(size, alignment) for size in sizes]
    return sum(padded) - max(most - size for most, size in zip(padded, sizes, strict=True))


def _in_place(program: Program, op: Op, dying: set[str]) -> int:
    """Bytes of a concat whose inputs ``dying`` are made in its output."""
    moved = {each for each in op.inputs if each not in dying}
    return sum(program.tensors[each].bytes for each in (*moved, *op.outputs))


def _cut(program: Program, op: Op, capacity: int) -> Op:
    """``op`` cut finer; as it is where that is not known to be possible."""
    if not isinstance(op.work, Vector) or op.collects or op.allocates:
        return op
    cut = _axis_cut(program, op, op.work, capacity)
    if cut is None:
        return op
    fine = replace(op, work=replace(op.work, rows=cut.rows, reach=None, cut=cut))
    return fine if least_part(program, fine) < least_part(program, op) else op


def _axis_cut(program: Program, op: Op, work: Vector, capacity: int) -> AxisCut | None:
    inputs, outputs = seen_inputs(op, program.tensors), seen_outputs(op, program.tensors)
    if not all(each.bytes and each.elements for each in (*inputs, *outputs)):
        return None
    found = relations(op, work, inputs, outputs)
    if found is None:
        return None
    return axis_cut(inputs, outputs, found, capacity, _needs(program, op, capacity))


def _needs(program: Program, op: Op, capacity: int) -> CutNeeds:
    """What weights demand of a cut."""
    block = program.block_bytes(op)
    if op.gathers:
        return CutNeeds(weighted=True)
    if not block:
        return CutNeeds()
    inputs, outputs = seen_inputs(op, program.tensors), seen_outputs(op, program.tensors)
    weights = [program.weights[name] for name in op.weights]
    out = outputs[0]
    if op.kind in _NORMS and len(out.shape) > 1 and all(w.elements == out.shape[1] for w in weights):
        return CutNeeds(channels=out.shape[1])
    alike = len(weights) == 1 and weights[0].elements == out.elements
    if is_pointwise(op, inputs, outputs) and alike and block > capacity // WEIGHTS_SHARE:
        return CutNeeds(weighted=True)
    return CutNeeds(fixed=True)
