"""Parts of a tensor can be loaded while others are still being stored."""

from dataclasses import replace

from chipmodel.geometry.share import Share
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import DmaStart, Located
from chipmodel.model.program import Program
from chipmodel.model.schedule import Direction, Part, Schedule, Transfer
from chipmodel.passes.lower import lower
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.verify.commands import verify
from chipmodel.verify.memory_state import MemoryState
from tests.chipmodel.verify.test_memory_state import fresh, share
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network


def store(state: MemoryState, part: Part, name: str = "store") -> None:
    state.start(DmaStart(name, "store", 8, Located(part, 0, 8), "op"))
    assert state.wait(name) == []


def test_a_part_can_be_loaded_once_all_its_rows_have_been_stored() -> None:
    state = fresh()
    wanted = Part("t", share((1, 4)))
    assert not state.can_load(wanted)
    store(state, Part("t", share((0, 2))))
    assert not state.can_load(wanted)
    state.start(DmaStart("late", "store", 8, Located(Part("t", share((2, 4))), 0, 8), "op"))
    assert not state.can_load(wanted)
    state.wait("late")
    assert state.can_load(wanted)
    assert state.can_load(Part("t", share((0, 4))))
    assert not state.can_load(Part("t"))
    assert not state.can_load(Part("u", share((1, 4))))


def test_parts_of_an_older_definition_do_not_count() -> None:
    state = fresh()
    store(state, Part("t", share((0, 4))))
    for _ in range(2):  # the second time it is another tensor
        state.write(Located(Part("t", share((0, 4))), 0, 8), "step")
    assert not state.can_load(Part("t", share((0, 2))))


def striped() -> tuple[Program, Chip, Planned]:
    """Two convolutions of 12 rows of 96 bytes in 1,700 bytes: the tensor between passes through Psram."""
    program, chip = small_network("striped"), with_memory(LUNA_LIKE, 1700)
    return program, chip, plan(PlanRequest(program, chip, "large-first", "exact:100"))


def test_a_stripe_may_be_loaded_after_the_stores_that_it_needs_and_not_before() -> None:
    program, chip, planned = striped()
    schedule = planned.schedule
    assert {"a", "b"} <= set(schedule.striped)
    assert verify(program, planned.commands, chip) == ()
    stores, loads = moves(schedule, "store"), moves(schedule, "load")
    assert len(stores) > 1
    assert loads
    first = min(loads, key=lambda t: t.issue)
    last = max(s.due for s in stores if _rows_overlap(s.part.share, first.part.share))
    assert first.issue > last
    for issue in range(last + 1):
        early = replace(first, issue=issue)
        transfers = tuple(early if t == first else t for t in schedule.transfers)
        commands = lower(replace(schedule, transfers=transfers), planned.solved.plan)
        faults = verify(program, commands, chip)
        assert any("Psram" in fault and "'a'" in fault for fault in faults), (issue, faults)


def moves(schedule: Schedule, direction: Direction) -> list[Transfer]:
    """The transfers of the tensor between the convolutions."""
    own = (t for t in schedule.transfers if t.part.name == "a" and not t.part.weights)
    return [t for t in own if t.direction == direction]


def _rows_overlap(a: Share, b: Share) -> bool:
    return max(a.rows.start, b.rows.start) < min(a.rows.stop, b.rows.stop)
