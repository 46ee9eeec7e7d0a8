from collections import Counter

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.answers.result import UNITS, Result
from reports.run.bars import Bar, bars, category
from tests.reports.sample import large, sample

CHAIN = large(300)


def sums(shown: tuple[Bar, ...]) -> Counter[tuple[str, str, str]]:
    totals: Counter[tuple[str, str, str]] = Counter()
    for bar in shown:
        kind = bar.event.unit, category(bar.event)
        totals[*kind, "cycles"] += len(bar.span)
        totals[*kind, "bytes"] += bar.bytes
        totals[*kind, "events"] += bar.events
    return totals


def assert_tiles_the_run(result: Result, shown: tuple[Bar, ...]) -> None:
    for unit in UNITS:
        clock = 0
        for bar in (b for b in shown if b.event.unit == unit):
            assert bar.span.start == clock
            clock = bar.span.stop
        assert clock == result.trace.cycles


def test_few_events_are_drawn_one_by_one() -> None:
    result = sample()
    shown = bars(result)
    assert len(shown) == len(result.trace.events)
    assert {b.event for b in shown} == set(result.trace.events)
    assert all((b.span.start, b.span.stop) == (b.event.start, b.event.stop) for b in shown)


@settings(max_examples=25, deadline=None)
@given(most=st.integers(12, 1000))
def test_merged_bars_keep_every_sum_and_never_overlap(most: int) -> None:
    merged = bars(CHAIN, most)
    assert len(merged) <= most
    assert sums(merged) == sums(bars(CHAIN, len(CHAIN.trace.events)))
    assert_tiles_the_run(CHAIN, merged)


@pytest.mark.parametrize("most", [1, 2])
def test_an_impossible_limit_leaves_one_bar_per_unit_and_category(most: int) -> None:
    merged = bars(CHAIN, most)
    assert len(merged) == len({(b.event.unit, category(b.event)) for b in merged})
