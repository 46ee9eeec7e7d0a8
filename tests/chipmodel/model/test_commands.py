"""Walking command streams, and the path through their branches and loops."""

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
    walk,
)
from chipmodel.model.program import MAX_ITERATIONS
from chipmodel.model.schedule import Direction, Part


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
