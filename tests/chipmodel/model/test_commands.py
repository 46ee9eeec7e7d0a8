"""Walking command streams and their paths; sums over events, in which every cycle of every unit is once."""

import pytest

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import (
    Branch,
    BranchArm,
    Command,
    DmaStart,
    DmaWait,
    Located,
    Repeat,
    clash,
    resolve_path,
)
from chipmodel.model.program import MAX_ITERATIONS
from chipmodel.model.schedule import Direction, Part
from chipmodel.model.trace import Cause, Event, Kind, Trace, Unit
from chipmodel.model.tree import walk


def wait(name: str) -> DmaWait:
    return DmaWait(name, "op")


INNER = Repeat("inner", 3, (wait("c"),))
GATE = Branch(
    "gate", (BranchArm("face", (wait("b"),)), BranchArm("empty", ()), BranchArm("nothing", (INNER,)))
)
COMMANDS: tuple[Command, ...] = (wait("a"), GATE, Repeat("outer", 2, (wait("d"),)), wait("e"))


def moved(direction: Direction, shared: int, home: tuple[int, int], size: int = 8) -> DmaStart:
    """A transfer of ``size`` bytes at ``shared`` in SharedMemory, of what lies at ``home`` in Psram."""
    at = Located(Part("t"), shared, size)
    return DmaStart("t", direction, size, at, "op", home[0], Interval(*home))


@pytest.mark.parametrize(
    ("one", "other", "clashes"),
    [
        # A load of what is being stored would bring the old bytes; a store, the bytes of a load in flight.
        (moved("load", 0, (100, 108)), moved("store", 64, (100, 108)), True),
        (moved("store", 0, (100, 108)), moved("store", 64, (100, 108)), True),
        (moved("load", 0, (100, 108)), moved("load", 64, (100, 108)), False),
        # The whole home counts: a stripe of a tensor against another stripe, by one byte or none.
        (moved("load", 0, (100, 108)), moved("store", 64, (107, 200)), True),
        (moved("load", 0, (100, 108)), moved("store", 64, (108, 200)), False),
        (moved("load", 0, (100, 108)), moved("store", 64, (92, 100)), False),
        # The same bytes of SharedMemory, whatever the direction: addresses 0 to 7 and 7 to 14.
        (moved("load", 0, (0, 8)), moved("load", 7, (8, 16)), True),
        (moved("load", 0, (0, 8)), moved("load", 8, (8, 16)), False),
    ],
)
def test_transfers_of_the_same_bytes_must_follow_one_another(
    one: DmaStart, other: DmaStart, clashes: bool
) -> None:
    assert clash(one, other) == clash(other, one) == clashes


def test_cores_share_psram_and_no_sharedmemory() -> None:
    here, there = moved("load", 0, (0, 8)), moved("store", 0, (8, 16))
    assert clash(here, there)
    assert not clash(here, there, same_core=False)
    assert clash(here, moved("store", 0, (7, 16)), same_core=False)


def test_walk_lists_every_command_in_linear_order_arms_one_after_another() -> None:
    names = [c.name for c in walk(COMMANDS) if isinstance(c, DmaWait | Branch | Repeat)]
    assert names == ["a", "gate", "b", "inner", "c", "outer", "d", "e"]


def test_without_choices_the_first_arm_and_the_loops_own_iterations() -> None:
    assert resolve_path(COMMANDS, {}) == {"gate": "face", "inner": "3", "outer": "2"}
    assert resolve_path((wait("a"),), {}) == {}


def test_choices_are_taken_also_below_an_arm_that_is_not_taken() -> None:
    choices = {"gate": "nothing", "inner": "0", "outer": str(MAX_ITERATIONS)}
    assert resolve_path(COMMANDS, choices) == choices


def test_iterations_are_normalised() -> None:
    assert resolve_path(COMMANDS, {"outer": "007", "inner": "000"}) == {
        "gate": "face",
        "inner": "0",
        "outer": "7",
    }


@pytest.mark.parametrize(
    "iterations", ["", "-1", "+1", "1.5", "x", "\u00b2", "\u0661", str(MAX_ITERATIONS + 1), "9" * 5000]
)
def test_wrong_numbers_of_iterations_are_refused(iterations: str) -> None:
    with pytest.raises(BadInput) as refusal:
        resolve_path(COMMANDS, {"outer": iterations})
    assert str(refusal.value).startswith(
        f"--path outer={iterations[:60]}: a loop takes a number of iterations"
    )
    assert "0 to 1,000,000" in refusal.value.hint
    assert len(str(refusal.value)) < 300


def test_an_unknown_arm_is_refused_with_the_arms_there_are() -> None:
    with pytest.raises(BadInput) as refusal:
        resolve_path(COMMANDS, {"gate": "fac"})
    assert refusal.value.what == "--path gate=fac: the if has no such arm"
    assert refusal.value.hint == "one of face, empty, nothing"


def test_an_unknown_name_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(BadInput) as refusal:
        resolve_path(COMMANDS, {"gat": "face"})
    assert refusal.value.what == "--path names 'gat', which is not an if or loop"
    assert refusal.value.hint == "there are: gate, inner, outer"
    with pytest.raises(BadInput) as refusal:
        resolve_path((wait("a"),), {"gate": "face"})
    assert refusal.value.hint == "the workload has no if and no loop"


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
