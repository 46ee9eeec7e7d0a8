"""What explains a measurement, in sentences, as a table and as JSON values."""

import re
from dataclasses import replace

import pytest

from chipmodel.answers.explanation import Cause, TimeExplanation, TriedCause
from reports.explanation import cause_rows, page as page_of, sentences
from tests.reports.console import printed

CLOCK = TriedCause(Cause("the clock is half", ("core_mhz=150",)), 19.0)
SYNC = TriedCause(Cause("no overlap", (), "sync"), 12.0)
STILL = TriedCause(Cause("the Psram is slow", ("psram.clock_mhz=9",)), 10.0)
NONE = TriedCause(Cause("weights in Psram", ("weights.memory=psram",)), None, "does not fit")
ANSWER = TimeExplanation("net", "board", 10.0, 20.0, (CLOCK, SYNC, STILL, NONE), interval=(9.0, 12.0))


def said(answer: TimeExplanation) -> str:
    return " ".join(sentences(answer))


def test_a_cause_that_comes_near_is_named_first() -> None:
    assert said(ANSWER) == (
        "The board's own tool is predicted to take 10 ms (9 ms to 12 ms). "
        "The measurement is 20 ms, 2 times as long. "
        "One cause alone comes near: the clock is half. That leads to 19 ms, 95.0% of the measurement."
    )


def test_where_none_comes_near_the_nearest_is_named() -> None:
    far = replace(ANSWER, measured=3600.0)
    assert (
        "The measurement is 3.6 s, 360 times as long. No single cause that the model knows explains it."
        in said(far)
    )
    assert "The nearest: the clock is half. That leads to 19 ms, 0.5% of the measurement." in said(far)
    wrong = replace(ANSWER, measured=2.0)
    assert "20.0% of that. No cause that the model knows leads to this time." in said(wrong)
    beyond = replace(ANSWER, measured=12.0, causes=(CLOCK,), interval=None)
    assert "1.2 times as long. No cause that the model knows leads to this time." in said(beyond)
    assert said(replace(beyond, other="twin")).endswith("leads nearer to that; several work together.")


def test_an_expected_measurement_needs_no_cause() -> None:
    near = replace(ANSWER, measured=11.0)
    assert near.expected
    assert said(near).endswith("expected of such a board, so no cause is needed.")


def test_equal_times_leave_nothing_to_explain() -> None:
    assert said(replace(ANSWER, measured=10.0, interval=None)).endswith("So there is nothing to explain.")


def test_a_cause_that_changes_little_explains_nothing_though_it_is_near() -> None:
    near = replace(ANSWER, measured=13.0, causes=(STILL, replace(SYNC, milliseconds=11.0)))
    assert not near.explaining
    assert [each.milliseconds for each in replace(near, causes=(SYNC,)).explaining] == [12.0]


def test_the_share_of_the_way_is_in_factors() -> None:
    assert replace(ANSWER, measured=40.0).covers(replace(CLOCK, milliseconds=20.0)) == pytest.approx(0.5)
    assert ANSWER.covers(STILL) == 0
    assert ANSWER.covers(NONE) is None


def test_the_table_has_what_changes_something_and_the_rest_is_named_below() -> None:
    assert cause_rows(ANSWER) == [
        ("the clock is half", "19 ms", "95.0%", "92.6%"),
        ("no overlap", "12 ms", "60.0%", "26.3%"),
    ]
    shown = printed(page_of(ANSWER), 200)
    assert re.search("the Psram is slow +nothing changes", shown)
    assert re.search("weights in Psram +does not fit", shown)
