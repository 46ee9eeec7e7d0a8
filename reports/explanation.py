"""What lies between a predicted and a measured time, in sentences, as a table and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.answers.explanation import TimeExplanation, TriedCause
from reports.page_parts import PageTable, TablePage
from reports.words import percent

LISTED = 12
"""Causes in the terminal's table."""
HEADS = ("if only this changes", ">time", ">of measured", ">of the gap")


def headline(answer: TimeExplanation) -> str:
    """The cause that comes nearest, in a sentence or two."""
    return " ".join(sentences(answer))


def sentences(answer: TimeExplanation) -> Iterator[str]:
    """What was predicted and measured, and the cause that comes nearest."""
    yield _both(answer)
    if answer.expected:
        yield "That is within the range expected of such a board, so no cause is needed."
        return
    if answer.measured == answer.predicted:
        yield "So there is nothing to explain."
        return
    if answer.inside:
        yield "Some measured network of its class was as far off, for an unknown cause."
    explaining = answer.explaining
    if explaining:
        yield f"One cause alone comes near: {_led(answer, explaining[0])}."
        if explaining[1:]:
            others = "; ".join(each.cause.words for each in explaining[1:3])
            yield f"So {'does' if len(explaining) == 2 else 'do'} {others}."
        return
    nearer = [tried for tried in answer.causes if 0 < (answer.covers(tried) or 0) < 2]
    if nearer:
        yield f"No single cause that the model knows explains it. The nearest: {_led(answer, nearer[0])}."
    elif answer.other:
        yield "No single change leads nearer to that; several work together."
    else:
        yield "No cause that the model knows leads to this time. It may be software around the network, or"
        yield "another network."


def _both(answer: TimeExplanation) -> str:
    predicted, measured = _time(answer.predicted), _time(answer.measured)
    ratio = answer.measured / answer.predicted
    much = f"{ratio:.3g} times as long" if ratio >= 1 else f"{percent(ratio)} of that"
    within = f" ({_time(answer.interval[0])} to {_time(answer.interval[1])})" if answer.interval else ""
    if answer.other:
        return f"{answer.chip} takes {predicted} by its own tool, {answer.other} takes {measured}, {much}."
    own = f"The board's own tool is predicted to take {predicted}{within}."
    return f"{own} The measurement is {measured}, {much}."


def _led(answer: TimeExplanation, tried: TriedCause) -> str:
    assert tried.milliseconds is not None
    share = percent(tried.milliseconds / answer.measured)
    aim = f"what {answer.other} takes" if answer.other else "the measurement"
    return f"{tried.cause.words}. That leads to {_time(tried.milliseconds)}, {share} of {aim}"


def _time(milliseconds: float) -> str:
    """Three digits, in seconds from 1 s on."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:,.3g} s"
    return f"{milliseconds:.3g} ms" if milliseconds >= 1 else f"{1000 * milliseconds:.3g} µs"


def cause_rows(answer: TimeExplanation) -> list[tuple[str, ...]]:
    """The causes that change something, under ``HEADS``, the nearest first."""
    return [
        (
            tried.cause.words,
            _time(tried.milliseconds),
            percent(tried.milliseconds / answer.measured),
            percent(answer.covers(tried) or 0.0),
        )
        for tried in answer.causes
        if tried.milliseconds is not None and tried.milliseconds != answer.predicted
    ]


def page(answer: TimeExplanation) -> TablePage:
    """The sentences, and every cause that was tried: those that change something, and the others with why."""
    rest = [
        (tried.cause.words, tried.reason if tried.milliseconds is None else "nothing changes")
        for tried in answer.causes
        if tried.milliseconds is None or tried.milliseconds == answer.predicted
    ]
    heads = tuple(head.replace("measured", answer.other or "measured") for head in HEADS)
    tables = (
        PageTable("causes", "One change at a time", heads, cause_rows(answer), most=LISTED),
        PageTable("others", "Changes without tried or without a run", ("change", "why"), rest),
    )
    return TablePage("explain", answer.workload, f"on {answer.chip}", tuple(sentences(answer)), tables)
