"""``--order`` on the command line: the plans by which an order is chosen, and the order of a plan file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from chipmodel.errors import BadInput

if TYPE_CHECKING:
    from chipmodel.chip.chip import Chip
    from chipmodel.model.program import Program
    from chipmodel.model.result import Result
    from chipmodel.passes.in_place import InPlace
    from chipmodel.pipeline.order_choice import Chosen, OrderWish
    from chipmodel.pipeline.single_core import Planned
    from chipmodel.plan_file.contents import PlanFile

Run = Callable[["Program", Mapping[str, str]], "Result"]


def order_of_run(
    program: Program, in_place: InPlace, wish: OrderWish, run: Run, path: Mapping[str, str]
) -> Chosen[Result]:
    """The order chosen by whole runs along ``path``."""
    from chipmodel.pipeline.order_choice import Cost, chosen_order

    def cost(result: Result) -> Cost:
        return Cost(not result.fits, result.trace.cycles, result.solved.peak)

    return chosen_order(program, in_place, wish, lambda each: run(each, path), cost)


def run_in_order(
    program: Program, in_place: InPlace, wish: OrderWish, run: Run, path: Mapping[str, str]
) -> Callable[[Mapping[str, str]], Result]:
    """``run`` of the order chosen, as a function of the path; nothing is planned twice."""
    chosen = order_of_run(program, in_place, wish, run, path)

    def along(choices: Mapping[str, str]) -> Result:
        known = chosen.planned if choices == path else None
        return replace(known or run(chosen.program, choices), ordering=chosen.ordering)

    return along


def order_of_plan(
    program: Program, chip: Chip, in_place: InPlace, wish: OrderWish, plan: Callable[[Program], Planned]
) -> Chosen[Planned]:
    """The order chosen by plans, each simulated along the first arms and all iterations."""
    from chipmodel.machine.simulate import simulate
    from chipmodel.pipeline.order_choice import Cost, chosen_order

    def cost(planned: Planned) -> Cost:
        peak = planned.solved.peak
        return Cost(peak > chip.shared_memory.bytes, simulate(planned.commands, chip).cycles, peak)

    return chosen_order(program, in_place, wish, plan, cost)


def order_faults(program: Program, plan: PlanFile) -> tuple[Program, tuple[str, ...]]:
    """``program`` in the plan's order, or what is wrong with that, in words."""
    from chipmodel.passes.op_order import in_order

    try:
        return (in_order(program, plan.order) if plan.order else program), ()
    except BadInput as error:
        return program, (error.what,)
