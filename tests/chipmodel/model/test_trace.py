"""Sums over events, and the check that every cycle of every unit is in exactly one of them."""

import pytest

from chipmodel.model.trace import Cause, Event, Kind, Trace, Unit


def event(unit: Unit, start: int, stop: int, cause: Cause = "") -> Event:
    kind: Kind = "wait" if cause else "compute" if unit == "npu" else "load weights"
    return Event(unit, start, stop, cause, f"{unit}{start}", "op", kind)


EVENTS = (
    event("dma", 0, 30),
    event("npu", 0, 20, "weights"),
    event("npu", 20, 25),
    event("npu", 25, 30, "weights"),
    event("dma", 30, 32, "nothing issued"),
    event("npu", 30, 32),
    event("dma", 32, 36),
    event("npu", 32, 36, "output"),
)
TRACE = Trace(EVENTS, 36, {})


def test_sums_by_hand() -> None:
    assert TRACE.busy("npu") == 5 + 2
    assert TRACE.busy("dma") == 30 + 4
    assert TRACE.stalls("npu") == {"weights": 20 + 5, "output": 4}
    assert TRACE.stalls("dma") == {"nothing issued": 2}
    assert [e.start for e in TRACE.of("dma")] == [0, 30, 32]
    assert EVENTS[0].cycles == 30


def test_a_correct_trace_has_no_faults() -> None:
    assert TRACE.unaccounted() == ()
    assert Trace((), 0, {}).unaccounted() == ()


def without(index: int) -> tuple[Event, ...]:
    return EVENTS[:index] + EVENTS[index + 1 :]


@pytest.mark.parametrize(
    ("events", "cycles", "fault"),
    [
        (without(2), 36, "npu: wait 'npu25' covers [25, 30) at 20"),
        (without(0), 36, "dma: wait 'dma30' covers [30, 32) at 0"),
        ((event("npu", 0, 4), *EVENTS), 36, "npu: wait 'npu0' covers [0, 20) at 4"),
        ((*EVENTS, event("npu", 36, 36)), 36, "npu: compute 'npu36' covers [36, 36) at 36"),
        ((*EVENTS, event("npu", 36, 35)), 35, "npu: compute 'npu36' covers [36, 35) at 36"),
        (EVENTS, 37, "npu: events end at 36, the run at 37"),
        (without(7), 36, "npu: events end at 32, the run at 36"),
        ((), 1, "dma: events end at 0, the run at 1"),
    ],
)
def test_every_gap_and_overlap_is_named(events: tuple[Event, ...], cycles: int, fault: str) -> None:
    assert fault in Trace(events, cycles, {}).unaccounted()
