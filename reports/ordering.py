"""The chosen order of ops and what it saves against the order given: words and JSON values."""

from __future__ import annotations

from chipmodel.answers.result import Ordering
from reports.words import count, percent, ratio

FOR_THIS_ORDER = ", for this order"
"""Added to a bound on the time where the order of ops was chosen."""


def order_words(ordering: Ordering) -> str:
    """The order, its cycles and peak against those of the order given, and its live bytes."""
    named = [each.name for each in ordering.tried]
    best = f" (best of {', '.join(named)})" if ordering.asked != ordering.runs else ""
    return (
        f"{ordering.runs}{best}; {_saved(ordering)}; {_live(ordering)}. Both lower bounds are for this order."
    )


def _saved(ordering: Ordering) -> str:
    """Cycles and peak of the plan against those of the given order."""
    given, run = ordering.given, ordering.run
    if run is given:
        return "no other order is faster"
    if given.cycles is None or given.peak is None:
        return "the order given has no plan"
    if run.cycles is None or run.peak is None:
        return "no plan"
    saved = given.cycles - run.cycles
    pace = f"{percent(ratio(abs(saved), given.cycles))} {'faster' if saved > 0 else 'slower'} than"
    words = f"{pace if saved else 'as fast as'} the order given"
    return f"{words} ({count(given.cycles)} cycles), peak {_change(given.peak - run.peak)}"


def _change(saved: int) -> str:
    return f"{count(abs(saved))} B {'lower' if saved > 0 else 'higher'}" if saved else "unchanged"


def _live(ordering: Ordering) -> str:
    given, run = ordering.given, ordering.run
    words = f"{count(run.live_bytes)} B of tensors alive at most"
    if run.live_bytes != given.live_bytes:
        words += f", {count(given.live_bytes)} B in the order given"
    proven = any(each.proven and each.live_bytes == run.live_bytes for each in ordering.tried)
    return f"{words} (proven minimum)" if proven else words
