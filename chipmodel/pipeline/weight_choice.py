"""Which ops read their weights in place, where the chip leaves that to the planner: by simulated cycles.

The plan that loads all weights is compared with those in which all ops read theirs in place, and in which
those do that compute for longer than they read.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Npu
from chipmodel.model.program import Op
from chipmodel.npu.cycles import op_cycles
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.weights_in_place import in_place_ops, with_weights_in_place

CHOICE_SHARE = 0.5
"""The share of the time until a deadline that the choice may take; the rest is for the plan."""


def with_chosen_weights(request: PlanRequest, rank: Callable[[PlanRequest], tuple[bool, int]]) -> PlanRequest:
    """Return ``request`` with the ops in place of which the plan has the least ``rank``.

    Where the chip leaves no choice, or some ops of the program are in place already, nothing is tried.
    Raises DoesNotFit where no choice has a plan.
    """
    program, chip = request.program, request.chip
    if chip.in_place.wish != "allowed" or in_place_ops(program):
        return replace(request, program=with_weights_in_place(program, chip))
    tried = replace(request, deadline=request.deadline.share(CHOICE_SHARE), smallest_peak=False)
    found: list[tuple[tuple[bool, int], int, PlanRequest]] = []
    refusals: list[DoesNotFit] = []
    for number, group in enumerate(dict.fromkeys(_groups(request))):
        if found and tried.deadline.ends("further choices of weights in place"):
            break
        chosen = with_weights_in_place(program, chip, group)
        try:
            found.append((rank(replace(tried, program=chosen)), number, replace(request, program=chosen)))
        except DoesNotFit as refusal:
            refusals.append(refusal)
    if not found:
        raise refusals[0]
    return min(found, key=lambda each: each[:2])[-1]


def _groups(request: PlanRequest) -> Iterator[frozenset[str]]:
    """Groups of ops that may read weights in place: none, all, and those that take no longer for it."""
    program, chip = request.program, request.chip
    names = frozenset(op.name for op in program.ops() if program.block_bytes(op))
    yield frozenset()
    yield names
    every = with_weights_in_place(program, chip, names)
    yield frozenset(op.name for op in every.ops() if _is_hidden(chip.npu, op))


def _is_hidden(npu: Npu, op: Op) -> bool:
    """Whether an op that reads its weights in place takes no longer than the latency for that."""
    if op.weights_in_place is None:
        return False
    alone = replace(op, weights_in_place=None)
    size = op.work.rows, op.work.channels
    return op_cycles(npu, op, *size) <= op_cycles(npu, alone, *size) + op.weights_in_place.latency
