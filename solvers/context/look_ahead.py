"""Choose a place for each item in turn, with look-ahead over the items after it (a beam search).

The items after one are its *context*. Combinations of places for an item and its context grow item by item;
once they reach the end of the context, the best one decides the item's place, and combinations with another
place are dropped. The others continue with the next item, so a longer context costs no more time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import itemgetter
from typing import Generic, TypeVar

from solvers.core.deadline import NO_DEADLINE, Deadline

ItemT = TypeVar("ItemT")
StateT = TypeVar("StateT", bound=Hashable)
PlaceT = TypeVar("PlaceT")
WeighedPlace = tuple[int, int, PlaceT]
"""The need of the combination with a place (least is best), what the place adds to the sum that decides
between equal needs, and the place."""


class _Combination(Generic[StateT, PlaceT]):
    """A state, the places that led to it, newest first, and the sum of what they added."""

    __slots__ = ("before", "place", "state", "sum")

    def __init__(
        self, state: StateT, sum_: int, before: _Combination[StateT, PlaceT] | None, place: PlaceT | None
    ) -> None:
        self.state, self.sum, self.before, self.place = state, sum_, before, place


def look_ahead(
    items: Sequence[ItemT],
    first: StateT,
    options: Callable[[StateT, ItemT], Iterable[WeighedPlace[PlaceT]]],
    after: Callable[[StateT, ItemT, PlaceT], StateT],
    context: int,
    width: int | None,
    deadline: Deadline = NO_DEADLINE,
) -> list[PlaceT]:
    """Return a place for every item, chosen by the best combination with the ``context`` items after it.

    ``options`` lists the places of an item in a state, at least one; ``after`` is the state that a place
    leads to. Of combinations in the same state only the best is kept, and at most the ``width`` best of all
    (all if None). With None and a context of all items the result is optimal.
    Raises TimeIsOver at the ``deadline``.
    """
    kept: list[_Combination[StateT, PlaceT]] = [_Combination(first, 0, None, None)]
    places: list[PlaceT] = []
    for number, item in enumerate(items):
        deadline.require("every buffer had its place")
        kept = _grown(kept, item, options, after, width)
        if number >= context:
            kept = _decide(kept, context, places)
    best, rest = kept[0], list[PlaceT]()
    while len(places) + len(rest) < len(items):
        assert best.before is not None
        assert best.place is not None
        rest.append(best.place)
        best = best.before
    return places + rest[::-1]


def _grown(
    kept: list[_Combination[StateT, PlaceT]],
    item: ItemT,
    options: Callable[[StateT, ItemT], Iterable[WeighedPlace[PlaceT]]],
    after: Callable[[StateT, ItemT, PlaceT], StateT],
    width: int | None,
) -> list[_Combination[StateT, PlaceT]]:
    """The best combinations with one more item, the best first, no two in the same state."""
    found = [
        (need, one.sum + added, one, place) for one in kept for need, added, place in options(one.state, item)
    ]
    found.sort(key=itemgetter(0, 1))
    states: dict[StateT, _Combination[StateT, PlaceT]] = {}
    for _, added, one, place in found:
        state = after(one.state, item, place)
        if state not in states:
            states[state] = _Combination(state, added, one, place)
            if len(states) == width:
                break
    return list(states.values())


def _decide(
    kept: list[_Combination[StateT, PlaceT]], back: int, places: list[PlaceT]
) -> list[_Combination[StateT, PlaceT]]:
    """Fix the place of ``back`` items ago as in the best combination; the combinations that agree."""
    chosen = _ancestor(kept[0], back)
    assert chosen.place is not None
    places.append(chosen.place)
    return [one for one in kept if _ancestor(one, back) is chosen]


def _ancestor(one: _Combination[StateT, PlaceT], back: int) -> _Combination[StateT, PlaceT]:
    for _ in range(back):
        assert one.before is not None
        one = one.before
    return one
