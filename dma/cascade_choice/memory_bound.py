"""The fewest bytes of SharedMemory that a program can run in without moving tensors, whatever its cascades.

The bound holds for plans in which each op runs on its own, its operands whole, or in a cascade of at most
``MAX_OPS`` neighbours of one straight chain, in stripes of any heights and in bands of columns, as many as
``BANDS`` has, or any number if rows may be computed again. Inputs of the program may be loaded for each op
that reads them, and come in stripes into a cascade. Each straight chain is cut into ops
and cascades so that the largest part needs the fewest bytes, where of each part less is counted than it
needs:

* At an op on its own all tensors that live there are whole. While an op of a cascade runs, those that it
  reads and makes are, unless they are inside, and those that live before and after the cascade; other ops of
  it may have ended or not yet begun. When the last of several bands begins, all that the cascade reads and
  makes is there; when an op begins in the first one, so is all that it reads, with what ops before it hold.
  No op but the last one of a cascade in bands makes what others need. In one band, what an op reads is there
  with what a later one makes, or with rows of all tensors between (``dma.cascade_choice.both_ends``); if
  rows may be computed again, what the first op reads also with the buffers of a later one.
* Tensors that may lie in each other's memory count as much as the largest of them, and pieces of a concat as
  much as all pieces.
* An op on its own has at least one output channel of its weights; a cascade has the largest weights of one of
  its ops, as though all others were loaded again. Rows of the program's inputs, and rows that may be computed
  again, are only there with the weights of the op whose step has them.
* In a plan without cascades each output may also lie in place of an input, row by row: the two then take the
  bytes of the larger one, and those that must lie between them.
* Of a tensor inside a cascade there are at least those rows between the one that is made and the oldest one
  that an op still needs which has come as far as it can without that row. Such tensors are there together
  where no op between their readers waits for all rows of one: what is read before it may have gone. In one
  band an op may end before a later one begins also where none waits, and a plan use less than is counted of
  the cascade. The two that it may be cut into there are taken to need no more, which is tested, not proven.
* If rows may be computed again, tensors with one reader are only there with the op that makes them, and with
  that reader: always in a buffer of as many rows as that needs for any of its own.
* If they may be computed again up to a limit, the bound is the fewest bytes with which a cut computes no more
  (``dma.cascade_choice.limited_bound``).
* A recurrent layer has its state, or in a single step all rows of what it makes (the last op of a cascade: of
  what it reads).
* An op that adds up its operand's rows has accumulators, or all of these rows, and makes nothing before the
  rows of other tensors have gone.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import inf

from chipmodel.cascades.recomputed import computed
from chipmodel.model.program import Program
from chipmodel.rewrites.rows_in_place import rows_to_take
from dma.cascade_choice.least_parts import AliveTensors, ChainParts
from dma.cascade_choice.limited_bound import limited_bound
from dma.cascade_choice.straight_chains import straight_chains
from dma.residency.rings import distance
from dma.residency.tiling import least_weights


def memory_bound(program: Program, recompute: float | Fraction | None = None) -> int:
    """Return bytes of SharedMemory below which no plan of ``program`` exists that moves no tensor but inputs
    and outputs to Psram and back (see the module); with ``recompute`` also of plans that compute rows again
    for the op that reads them, up to so many times the multiply-accumulates of the program."""
    alive = AliveTensors(program, {})
    again = recompute is not None
    chains = [ChainParts(alive, chain, again) for chain in straight_chains(program.body)]
    least = max((chain.least() for chain in chains), default=0)
    if recompute is not None and recompute < inf:
        least = limited_bound(chains, least, float((recompute - 1) * computed(program)) + 1)
    takes = rows_to_take(program)
    return min(least, _least_in_rows(AliveTensors(program, takes), takes)) if takes else least


def _least_in_rows(alive: AliveTensors, takes: Mapping[str, str]) -> int:
    """The bytes of the op that needs the most where each runs on its own, its output in place of the input
    that it ``takes``, one row at a time, if that is less than both."""
    program, most = alive.program, 0
    for op, names in zip(alive.around.table.ops, alive.at, strict=True):
        needed = alive.bytes(names) + least_weights(program, op, 0)
        if op.name in takes and alive.group[takes[op.name]] not in alive.crossed:
            old, made = (alive.around.size(name) for name in (takes[op.name], op.outputs[0]))
            apart = max(old + distance(program, op, takes[op.name], 1), made)
            needed += min(apart, old + made) - max(old, made)
        most = max(most, needed)
    return most
