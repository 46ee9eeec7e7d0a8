"""A plan on another chip than it was made for: a plan for less is a plan for more."""

from __future__ import annotations

from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.fit import plan_fit
from chipmodel.passes.lower import lower


def on_chip(known: Result, chip: Chip) -> Result | None:
    """Return the simulation of a known plan on another ``chip``; None where it does not run or fit there.

    The cycles of its steps are in the plan, so the NPU has to be the same and no weights are read in place,
    and its offsets need the same alignment. The bound stays that of the chip for which the plan was made.
    """
    made_for = known.chip
    alike = chip.npu == made_for.npu and chip.shared_memory.alignment == made_for.shared_memory.alignment
    in_place = any(op.weights_in_place for op in known.program.ops())
    if not alike or in_place or known.cores or chip.cores > 1:
        return None
    if not plan_fit(known.program, chip, known.schedule, known.solved.peak).fits:
        return None
    problem = replace(known.problem, capacity=chip.shared_memory.bytes)
    trace = simulate(lower(known.schedule, known.solved.plan), chip, known.trace.path)
    return replace(known, chip=chip, problem=problem, trace=trace)
