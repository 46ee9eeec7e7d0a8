"""Which outputs take an input's memory, where that has a price: by simulated cycles.

An output in the memory of a program's input cannot lie in a concat's output as well, and its op cannot begin
with the first rows of that input: such a program is also planned with its inputs' memory left alone. Where
memory is short, what shares memory decides what leaves it, and outputs that are in place move those that lie
in a concat's output: small programs are then also planned without each kind of sharing. All others are
planned once. The plan that fits, takes the fewest cycles and then the fewest bytes is kept. A streamer
that searches begins with the default's choice.

Source: chipmodel.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Op, Program, with_ops
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.twice_choice import Judge, Make, begins_with_choices, planned_or_refused

MOST_OPS = 32
"""Ops up to which a program is planned without each kind where memory is short, which bounds the time."""


def plan_with_chosen_places(request: PlanRequest, make: Make, judge: Judge) -> Planned:
    """Return the best of the plans that ``make`` gives for ``request`` and for the same with fewer tensors
    that share memory, where that may be better. Raises DoesNotFit where none has a plan."""
    if begins_with_choices(request) or not any(op.overwrites or op.absorbs for op in request.program.ops()):
        return make(request)
    first, refusal = planned_or_refused(request, make)
    made = [first] if first else []
    for program in _with_fewer(request, first):
        if made and request.deadline.ends("plans with fewer tensors in place"):
            break
        planned, _ = planned_or_refused(replace(request, program=program), make)
        made += [planned] if planned else []
    if not made:
        raise refusal or AssertionError("a plan or a refusal")
    if len(made) == 1:
        return made[0]
    return min(made, key=lambda each: (judge(request, each).rank, each.solved.peak))


def _with_fewer(request: PlanRequest, first: Planned | None) -> list[Program]:
    """``request.program`` with fewer tensors that share memory, where the ``first`` plan may be worse."""
    program, every = request.program, list(request.program.ops())
    taken = {op.overwrites for op in every if op.overwrites}
    kinds = [(taken.intersection(program.inputs), False)]
    both = taken and any(op.absorbs for op in every)
    if len(every) <= MOST_OPS and (both or first is None or _is_short(first, request.chip)):
        kinds += [(taken, False), (set(), True), (taken, True)]
    found = [program]
    for names, pieces in kinds:
        fewer = _apart(program, names, pieces)
        found += [] if fewer in found else [fewer]
    return found[1:]


def _apart(program: Program, names: Collection[str], pieces: bool) -> Program:
    """``program`` with the memory of tensors ``names`` left to them, and perhaps of a concat's pieces."""

    def change(op: Op) -> Op:
        old, absorbs = op.overwrites, () if pieces else op.absorbs
        return replace(op, overwrites=None if old in names else old, absorbs=absorbs)

    return replace(program, body=with_ops(program.body, change))


def _is_short(planned: Planned, chip: Chip) -> bool:
    """Whether a plan does not fit, or only with tensors that never lie whole in SharedMemory, or leave it."""
    schedule = planned.schedule
    cut = schedule.moves_tensors or schedule.cascades or schedule.in_rows
    return bool(cut) or not planned.fit(chip).fits


def with_marks_of(program: Program, planned: Planned) -> Planned:
    """Return ``planned`` for the same ops, allowed to share memory as those of ``program`` are. A bound on
    cycles for fewer of them may be higher than that."""
    own = {op.name: op for op in program.ops()}

    def marked(op: Op) -> Op:
        like = own.get(op.name, op)
        same = (like.overwrites, like.absorbs) == (op.overwrites, op.absorbs)
        if same or like.inputs != op.inputs:
            return op
        return replace(op, overwrites=like.overwrites, absorbs=like.absorbs)

    body = with_ops(planned.program.body, marked)
    if body == planned.program.body:
        return planned
    return replace(planned, program=replace(planned.program, body=body), bound=None)
