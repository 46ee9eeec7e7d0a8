"""The verifier and the machine on recurrent layers in a cascade: right plans pass, wrong ones are found."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from chipmodel.cascades.accumulation import in_cascades
from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Compute, Located
from chipmodel.model.schedule import CascadeOps
from chipmodel.pipeline.request import Planned
from chipmodel.verify.cascade_table import CascadeTable
from chipmodel.verify.sequence import are_in_time
from tests.support.broken_plans import Change, cascaded, changed, faults, steps_of
from tests.support.recurrent_stacks import HIDDEN, STEPS, stack

PROGRAM = stack(3, "lstm")
LAYERS = ("l0", "l1", "l2")


def planned(heights: tuple[int, ...] = (2, 2, 2), rolls: bool = True) -> Planned:
    return cascaded(PROGRAM, CascadeChoice(LAYERS, heights, rolls))


def faults_of(labels: Collection[str], change: Change) -> tuple[str, bool]:
    """What is said of the plan with the steps of these labels changed."""
    plan = planned()
    return faults(PROGRAM, plan, changed(plan.commands, labels, change))


@pytest.mark.parametrize("heights", [(1, 1, 1), (2, 4, 1), (1, 3, 2), (STEPS, 2, 1), (STEPS,) * 3])
@pytest.mark.parametrize("rolls", [True, False])
def test_layers_in_turn_pass_and_compute_the_network(heights: tuple[int, ...], rolls: bool) -> None:
    plan = planned(heights, rolls)
    assert faults(PROGRAM, plan, plan.commands) == ("", False)


def test_the_first_steps_read_no_state_and_the_last_ones_leave_none() -> None:
    steps = steps_of(planned().commands, "l1")
    reads = [[place.part.name for place in each.reads if not place.part.weights] for each in steps]
    assert reads == [["l0"], *[["l0", "l1.state"]] * 3]
    writes = [[place.part.name for place in each.writes] for each in steps]
    assert writes == [*[["l1", "l1.state"]] * 3, ["l1"]]


def of_state(place: Located) -> bool:
    return place.part.name.endswith(".state")


def test_a_state_that_is_not_read_is_found() -> None:
    def change(step: Compute) -> Compute:
        return replace(step, reads=tuple(place for place in step.reads if not of_state(place)))

    said, wrong = faults_of(["l1 [2/4]"], change)
    assert "step 'l1 [2/4]' does not read 'l1.state'" in said
    assert wrong


def test_a_state_that_is_not_written_is_found() -> None:
    def change(step: Compute) -> Compute:
        return replace(step, writes=tuple(place for place in step.writes if not of_state(place)))

    said, wrong = faults_of(["l1 [2/4]"], change)
    assert "step 'l1 [2/4]' does not write 'l1.state'" in said
    assert wrong


def test_a_state_that_another_layer_destroys_is_found() -> None:
    plan = planned()
    (other,) = (place for place in steps_of(plan.commands, "l0")[0].writes if of_state(place))

    def change(step: Compute) -> Compute:
        writes = (replace(each, offset=other.offset) if of_state(each) else each for each in step.writes)
        reads = (replace(each, offset=other.offset) if of_state(each) else each for each in step.reads)
        return replace(step, reads=tuple(reads), writes=tuple(writes))

    labels = [each.label for each in steps_of(plan.commands, "l1")]
    said, wrong = faults_of(labels, change)
    assert "step 'l0 [2/4]': 'l0.state' is not at" in said
    assert wrong


def test_time_steps_in_another_order_are_found() -> None:
    def change(step: Compute) -> Compute:
        return replace(step, rows=Interval(2, 4) if step.rows.start == 0 else Interval(0, 2))

    said, wrong = faults_of(["l1 [1/4]", "l1 [2/4]"], change)
    assert "the steps of op 'l1' do not go through its rows one after another" in said
    assert wrong


def test_units_of_a_time_step_are_needed_by_the_next_one() -> None:
    """Slices of units take turns within a time step; those of several steps lack what they need."""
    (op,), step = stack(1, "lstm", steps=2).ops(), steps_of(planned().commands, "l1")[0]

    def in_time(*tiles: tuple[int, int, int, int]) -> bool:
        parts = ((Interval(start, stop), Interval(first, last)) for start, stop, first, last in tiles)
        return are_in_time([replace(step, rows=rows, channels=units) for rows, units in parts], op)

    assert in_time((0, 2, 0, HIDDEN))
    assert in_time((0, 1, 2, HIDDEN), (0, 1, 0, 2), (1, 2, 0, HIDDEN))
    assert not in_time((0, 2, 0, 2), (0, 2, 2, HIDDEN))
    assert not in_time((0, 1, 0, 2), (1, 2, 0, 2), (0, 1, 2, HIDDEN), (1, 2, 2, HIDDEN))
    assert not in_time((1, 2, 0, HIDDEN), (0, 1, 0, HIDDEN))


def test_a_cascade_that_makes_time_steps_again_is_none() -> None:
    cascade = CascadeOps("l0..l2", LAYERS, True, again=("l1",))
    said = list(CascadeTable(in_cascades(PROGRAM, [cascade]), [cascade]).faults())
    assert said == ["cascade 'l0..l2' makes 'l1' again, which only one op reads where that can be"]


def test_a_cascade_with_a_layer_that_runs_backwards_is_none() -> None:
    cascade = CascadeOps("l0..l2", LAYERS, True)
    said = list(CascadeTable(stack(3, "lstm", backward=1), [cascade]).faults())
    assert said == ["cascade 'l0..l2' has 'l1', which cannot take turns with others"]
