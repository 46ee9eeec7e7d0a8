"""``--order``: a program planned in several orders of its ops, and the order that is to run.

An order decides what fits, what spills and how far ahead weights load; so which is quickest is known only
when each is planned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from chipmodel.answers.result import Ordering, OrderTried, Result
from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.choices import OrderWish
from chipmodel.pipeline.request import Planned
from chipmodel.plan_file.contents import PlanFile
from chipmodel.rewrites.in_place import InPlace, reuse
from chipmodel.rewrites.op_order import in_order

if TYPE_CHECKING:
    from chipmodel.pipeline.order_search import OrderedProgram, OrderName

T = TypeVar("T")
Run = Callable[[Program, Mapping[str, str]], Result]
"""Plan and simulate a program along a path."""


@dataclass(frozen=True, slots=True)
class OrderRequest:
    """A program, nothing of it marked as in place yet but what the workload declares; which ops may reuse
    their inputs' memory (``passes.in_place``); and the order that is asked for."""

    program: Program
    in_place: InPlace
    wish: OrderWish


@dataclass(frozen=True, slots=True)
class PlanCost:
    """Whether a plan takes more than SharedMemory; its cycles; its peak in bytes. Compared in this order."""

    overflows: bool
    cycles: int
    peak: int


@dataclass(frozen=True, slots=True)
class ChosenOrder(Generic[T]):
    """The program in the order that runs, its in-place reuse marked; its plan; and what each order came to.
    The last two are None where the given order was asked for: nothing was planned."""

    program: Program
    planned: T | None = None
    ordering: Ordering | None = None


def chosen_order(
    request: OrderRequest, plan: Callable[[Program], T], cost: Callable[[T], PlanCost]
) -> ChosenOrder[T]:
    """The program in the order asked for; with ``best``, of all ``ORDERS`` the one whose plan fits and takes
    the fewest cycles, then the fewest bytes, then the first. The given order is planned as well, to say what
    was saved.

    Raises DoesNotFit as ``plan`` does, for the order asked for, or where no order has a plan.
    """
    if request.wish == "given":
        return ChosenOrder(reuse(request.program, request.in_place))
    from chipmodel.pipeline.order_search import ORDERS, ordered

    names: tuple[OrderName, ...] = ORDERS if request.wish == "best" else ("given", request.wish)
    attempts: list[_OrderAttempt[T]] = []
    for name in names:
        order = ordered(request.program, request.in_place, name)
        attempts.append(_known(order, attempts) or _planned(order, request.in_place, plan, cost))
    runs = min(attempts, key=_key) if request.wish == "best" else attempts[-1]
    if runs.refusal or runs.planned is None:
        raise runs.refusal or AssertionError("a plan or a refusal")
    tried = tuple(map(_tried, attempts))
    return ChosenOrder(runs.marked, runs.planned, Ordering(request.wish, runs.order.name, tried))


def order_of_run(request: OrderRequest, run: Run, path: Mapping[str, str]) -> ChosenOrder[Result]:
    """The order chosen by whole runs along ``path``."""

    def cost(result: Result) -> PlanCost:
        return PlanCost(not result.fits, result.trace.cycles, result.solved.peak)

    return chosen_order(request, lambda program: run(program, path), cost)


def run_in_order(
    request: OrderRequest, run: Run, path: Mapping[str, str]
) -> Callable[[Mapping[str, str]], Result]:
    """``run`` of the order chosen along ``path``, as a function of the path; nothing is planned twice."""
    chosen = order_of_run(request, run, path)

    def along(choices: Mapping[str, str]) -> Result:
        known = chosen.planned if choices == path else None
        return replace(known or run(chosen.program, choices), ordering=chosen.ordering)

    return along


def order_of_plan(
    request: OrderRequest, chip: Chip, plan: Callable[[Program], Planned]
) -> ChosenOrder[Planned]:
    """The order chosen by plans, each simulated along the first arms and all iterations."""

    def cost(planned: Planned) -> PlanCost:
        overflows = not planned.fit(chip).fits
        return PlanCost(overflows, simulate(planned.commands, chip).cycles, planned.solved.peak)

    return chosen_order(request, plan, cost)


def order_faults(program: Program, plan: PlanFile) -> tuple[Program, tuple[str, ...]]:
    """``program`` in the plan's order, or what is wrong with that order, in words."""
    try:
        return (in_order(program, plan.order) if plan.order else program), ()
    except BadInput as error:
        return program, (error.what,)


@dataclass(frozen=True, slots=True)
class _OrderAttempt(Generic[T]):
    order: OrderedProgram
    marked: Program
    planned: T | None = None
    cost: PlanCost | None = None
    refusal: DoesNotFit | None = None


def _known(order: OrderedProgram, earlier: list[_OrderAttempt[T]]) -> _OrderAttempt[T] | None:
    """An earlier attempt with the same order under another name."""
    same = (attempt for attempt in earlier if attempt.order.program == order.program)
    found = next(same, None)
    return None if found is None else replace(found, order=order)


def _planned(
    order: OrderedProgram, in_place: InPlace, plan: Callable[[Program], T], cost: Callable[[T], PlanCost]
) -> _OrderAttempt[T]:
    marked = reuse(order.program, in_place)
    try:
        planned = plan(marked)
    except DoesNotFit as refusal:
        return _OrderAttempt(order, marked, refusal=refusal)
    return _OrderAttempt(order, marked, planned, cost(planned))


def _key(attempt: _OrderAttempt[T]) -> tuple[bool, bool, int, int]:
    cost = attempt.cost
    if cost is None:
        return True, True, 0, 0
    return False, cost.overflows, cost.cycles, cost.peak


def _tried(attempt: _OrderAttempt[T]) -> OrderTried:
    order, cost = attempt.order, attempt.cost
    cycles, peak = (None, None) if cost is None else (cost.cycles, cost.peak)
    return OrderTried(order.name, order.live_bytes, order.proven, cycles, peak)
