"""``--order``: programs in several orders planned one after another, and the one that is to run.

An order decides what fits, what spills and how far ahead weights load; so which is quickest is known only
when each is planned.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar, get_args

from chipmodel.errors import DoesNotFit
from chipmodel.model.program import Program
from chipmodel.model.result import Ordering, OrderTried
from chipmodel.passes.in_place import InPlace, reuse
from chipmodel.pipeline.order_search import ORDERS, OrderedProgram, OrderName, ordered

OrderWish = Literal["given", "least-peak", "best"]
WISHES: tuple[OrderWish, ...] = get_args(OrderWish)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Cost:
    """Whether a plan takes more than SharedMemory; its cycles; its peak in bytes. Compared in this order."""

    overflows: bool
    cycles: int
    peak: int


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    """The program in the order that runs, marked by ``reuse``; its plan; and what each order came to. Both
    are None where the order given was asked for: nothing was planned."""

    program: Program
    planned: T | None = None
    ordering: Ordering | None = None


def chosen_order(
    program: Program,
    in_place: InPlace,
    wish: OrderWish,
    plan: Callable[[Program], T],
    cost: Callable[[T], Cost],
) -> Chosen[T]:
    """``program`` in the order that ``wish`` names; with ``best`` of all ``ORDERS`` the one whose plan fits
    and takes the fewest cycles, then the fewest bytes, then the first. The given order is planned as well, to
    say what was saved.

    Raises DoesNotFit as ``plan`` does, for the order asked for, or where no order has a plan.
    """
    if wish == "given":
        return Chosen(reuse(program, in_place))
    names: tuple[OrderName, ...] = ORDERS if wish == "best" else ("given", wish)
    attempts: list[_Attempt[T]] = []
    for name in names:
        attempts.append(_attempt(ordered(program, in_place, name), attempts, in_place, plan, cost))
    runs = min(attempts, key=_key) if wish == "best" else attempts[-1]
    if runs.refusal or runs.planned is None:
        raise runs.refusal or AssertionError("a plan or a refusal")
    tried = tuple(map(_tried, attempts))
    return Chosen(runs.marked, runs.planned, Ordering(wish, runs.order.name, tried))


@dataclass(frozen=True, slots=True)
class _Attempt(Generic[T]):
    order: OrderedProgram
    marked: Program
    planned: T | None = None
    cost: Cost | None = None
    refusal: DoesNotFit | None = None


def _attempt(
    order: OrderedProgram,
    earlier: list[_Attempt[T]],
    in_place: InPlace,
    plan: Callable[[Program], T],
    cost: Callable[[T], Cost],
) -> _Attempt[T]:
    """The plan of ``order``, which may be known: two names for one order are planned once."""
    for known in earlier:
        if known.order.program == order.program:
            return replace(known, order=order)
    marked = reuse(order.program, in_place)
    try:
        planned = plan(marked)
    except DoesNotFit as refusal:
        return _Attempt(order, marked, refusal=refusal)
    return _Attempt(order, marked, planned, cost(planned))


def _key(attempt: _Attempt[T]) -> tuple[bool, bool, int, int]:
    cost = attempt.cost
    if cost is None:
        return True, True, 0, 0
    return False, cost.overflows, cost.cycles, cost.peak


def _tried(attempt: _Attempt[T]) -> OrderTried:
    order, cost = attempt.order, attempt.cost
    cycles, peak = (None, None) if cost is None else (cost.cycles, cost.peak)
    return OrderTried(order.name, order.live_bytes, order.proven, cycles, peak)
