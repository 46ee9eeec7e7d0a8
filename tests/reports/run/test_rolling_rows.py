"""Rows in rolling buffers and lifetimes of buffers, as a page draws them."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem, Solved
from chipmodel.model.trace import Cause, Event, Trace
from reports.run.lifetimes import alive_bytes, lifetimes, passes
from reports.run.rolling_rows import cascade_runs, places, row_words, rows_boxes
from tests.reports.cascade_sample import NAME, cascaded, in_bands
from tests.reports.sample import large, sample


def test_the_first_rows_of_a_rolling_buffer() -> None:
    # By hand: second's first step reads rows 0 to 4 of first, its second one 3 to 8, its third 7 to 12.
    found = [box for box in rows_boxes(cascaded(), 100) if box.tensor == "first"][:4]
    assert [(b.rows, b.at) for b in found] == [
        (Interval(0, 3), Interval(0, 3 * 512)),
        (Interval(3, 4), Interval(3 * 512, 4 * 512)),
        (Interval(4, 7), Interval(4 * 512, 7 * 512)),
        (Interval(7, 8), Interval(7 * 512, 8 * 512)),
    ]


@pytest.mark.parametrize("rolls", [True, False])
@pytest.mark.parametrize("iterations", [0, 3])
def test_no_two_rows_are_at_one_address_at_one_time(rolls: bool, iterations: int) -> None:
    result = cascaded(iterations, rolls)
    boxes = rows_boxes(result, 10_000)
    assert {box.buffer for box in boxes} == {"first rows", "second rows"}
    for box in boxes:
        assert box.at.stop <= result.schedule.buffers[box.buffer].bytes
        assert box.rows.stop <= box.of_rows
    for index, a in enumerate(boxes):
        for b in boxes[index + 1 :]:
            if rolls and a.buffer == b.buffer and a.span.overlaps(b.span):
                assert not a.at.overlaps(b.at), (a, b)


def test_all_rows_of_every_run_are_shown() -> None:
    for iterations, runs in ((0, 1), (3, 3)):
        boxes = rows_boxes(cascaded(iterations), 10_000)
        rows = [
            row for box in boxes for row in range(box.rows.start, box.rows.stop) if box.tensor == "second"
        ]
        assert len(rows) >= runs * 32
        assert set(rows) == set(range(32))
    assert len(rows_boxes(cascaded(3), 7)) == 7


def test_a_cascade_has_a_band_for_each_run() -> None:
    runs = cascade_runs(cascaded(3))
    assert [run.plan.name for run in runs] == [NAME] * 3
    assert all(a.span.stop <= b.span.start for a, b in itertools.pairwise(runs))
    assert cascade_runs(sample()) == ()


@given(st.integers(0, 500), st.integers(1, 60), st.integers(1, 100))
def test_bytes_lie_at_their_number_modulo_the_buffer(start: int, length: int, turn: int) -> None:
    moved = Interval(start, start + min(length, turn))
    taken = [byte for piece in places(moved, turn) for byte in range(piece.start, piece.stop)]
    assert taken == [byte % turn for byte in range(moved.start, moved.stop)]


def test_rows_in_words() -> None:
    assert (row_words(Interval(4, 5)), row_words(Interval(4, 8))) == ("4", "4 to 7")


@pytest.mark.parametrize("rolls", [True, False])
def test_rows_of_a_band_have_its_columns(rolls: bool) -> None:
    boxes = rows_boxes(in_bands(rolls), 10_000)
    assert list(dict.fromkeys(box.columns for box in boxes)) == [
        ", columns 0 to 64 of 128",
        ", columns 63 to 127 of 128",
    ]
    assert {len(box.at) // len(box.rows) for box in boxes} == {4 * 65}
    for columns in {box.columns for box in boxes}:
        rows = {row for b in boxes if b.columns == columns for row in range(b.rows.start, b.rows.stop)}
        assert rows == set(range(24))
    for a, b in itertools.combinations(boxes, 2):
        if rolls and a.span.overlaps(b.span):
            assert not a.at.overlaps(b.at)


def wait(start: int, stop: int, cause: Cause) -> Event:
    return Event("npu", start, stop, cause, "t", "op", "wait")


def compute(start: int, stop: int, position: int) -> Event:
    return Event("npu", start, stop, "", "s", "op", "compute", 0, position)


def run(*events: Event, buffers: tuple[Buffer, ...]) -> Result:
    offsets = {b.name: 0 for b in buffers}
    return replace(
        sample(),
        trace=Trace(events, events[-1].stop, {}),
        problem=Problem(buffers, None),
        solved=Solved(Plan(offsets), "feasible", 0, 0, 0.0, "none"),
    )


def test_a_step_includes_its_waits() -> None:
    # Loads are waited for before a step's compute, stores after it.
    events = (
        wait(0, 10, "weights"),
        compute(10, 20, 0),
        wait(20, 25, "output"),
        wait(25, 27, "input"),
        compute(27, 30, 1),
        wait(30, 40, "finished"),
    )
    result = run(*events, buffers=(Buffer("a", 8, (Interval(0, 1),)), Buffer("b", 4, (Interval(1, 2),))))
    assert lifetimes(result) == {"a": (Interval(0, 25),), "b": (Interval(25, 30),)}
    assert alive_bytes(result, lifetimes(result)) == [(0, 8), (25, 4), (30, 0)]


def test_a_buffer_inside_of_a_loop_has_one_span_per_iteration() -> None:
    iterations = [compute(10 * t + 5 * p, 10 * t + 5 * p + 5, p) for t in range(3) for p in (0, 1)]
    buffers = (Buffer("inside", 1, (Interval(1, 2),)), Buffer("through", 1, (Interval(0, 2),)))
    result = run(*iterations, buffers=buffers)
    assert len(passes(result.trace)) == 3
    assert lifetimes(result)["inside"] == (Interval(5, 10), Interval(15, 20), Interval(25, 30))
    assert lifetimes(result)["through"] == (Interval(0, 30),)


def test_an_arm_that_was_not_taken_leaves_no_mark_and_no_gap() -> None:
    # Positions 1 and 2 are the arms; only 2 runs.
    events = (compute(0, 5, 0), compute(5, 9, 2), compute(9, 12, 3))
    holed = Buffer("x", 1, (Interval(0, 1), Interval(2, 4)))
    result = run(*events, buffers=(holed, Buffer("other", 1, (Interval(1, 2),))))
    assert lifetimes(result) == {"x": (Interval(0, 12),), "other": ()}


def test_no_two_buffers_share_a_byte_at_the_same_cycle() -> None:
    for result in (sample(), sample(path="quiet"), large(30)):
        spans = lifetimes(result)
        offsets = result.solved.plan.offsets
        for a in result.problem.buffers:
            for b in result.problem.buffers:
                if a.name < b.name and any(s.overlaps(t) for s in spans[a.name] for t in spans[b.name]):
                    low, high = sorted(((offsets[a.name], a.bytes), (offsets[b.name], b.bytes)))
                    assert low[0] + low[1] <= high[0], (a.name, b.name)


def test_the_profile_peaks_at_the_contention_bound() -> None:
    result = sample()
    profile = alive_bytes(result, lifetimes(result))
    assert max(total for _, total in profile) == result.solved.lower_bound
    assert profile[-1] == (result.trace.cycles, 0)
