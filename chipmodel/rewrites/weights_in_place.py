"""Ops that read their weights where they lie: in flash, MRAM or Psram, through a cache or the NPU's own port.

Such an op has no weights to load. It takes no SharedMemory for them and no time of the DMA engine; its own
cycles are at least those in which its weights are read (``chipmodel.npu.cycles.op_cycles``). Reading in place
does not slow down transfers from the same memory: a chip's rate is what is left beside them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction

from chipmodel.hardware.chip import Chip
from chipmodel.model.program import InPlaceWeights, Op, Program, with_ops


def with_weights_in_place(program: Program, chip: Chip, chosen: Collection[str] = ()) -> Program:
    """Return ``program`` with the ops that read their weights in place on ``chip``: none, all of them, or,
    where the planner chooses, those with the names ``chosen``.

    Examples
    --------
    >>> import chipmodel
    >>> chip = chipmodel.chip("alif-e7", weights__in_place="allowed")
    >>> program = with_weights_in_place(chipmodel.load("zoo:ds_cnn"), chip, ["conv1"])
    >>> in_place_ops(program)
    ('conv1',)
    """
    wish, rate = chip.in_place.wish, chip.in_place_rate

    def change(op: Op) -> Op:
        size = program.block_bytes(op)
        if not size or (wish == "allowed" and op.name not in chosen):
            return op
        read = InPlaceWeights(op.weights, Fraction(size) / rate, chip.in_place.latency_cycles)
        return replace(op, weights=(), weights_in_place=read)

    if wish == "no" or (wish == "allowed" and not chosen):
        return program
    return replace(program, body=with_ops(program.body, change))


def in_place_ops(program: Program) -> tuple[str, ...]:
    """Return the names of the ops that read their weights in place, in linear order."""
    return tuple(op.name for op in program.ops() if op.weights_in_place)


def bounded_program(program: Program, chip: Chip) -> Program:
    """Return the program of which a bound on cycles holds for every choice of what ``chip`` reads in place:
    where it has a choice, weights cost nothing, as each op has to read them or to load them, and not both."""
    if chip.in_place.wish != "allowed":
        return program
    return replace(program, body=with_ops(program.body, _without_weights))


def _without_weights(op: Op) -> Op:
    return replace(op, weights=(), weights_in_place=None)
