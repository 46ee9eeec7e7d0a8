from dataclasses import replace

from chipmodel.answers.result import Result
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem, Solved
from chipmodel.model.trace import Cause, Event, Trace
from reports.run.lifetimes import alive_bytes, lifetimes, passes
from tests.reports.sample import large, sample


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
