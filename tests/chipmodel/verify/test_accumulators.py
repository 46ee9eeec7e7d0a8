"""The verifier and the machine on pooling by rows in a cascade: right plans pass, wrong ones are found."""

from dataclasses import replace

import pytest

from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Compute
from chipmodel.model.program import Program
from chipmodel.pipeline.request import Planned
from tests.support.broken_plans import Change, cascaded, changed, faults, file_faults, file_of, steps_of
from tests.support.small_networks import small_network

OPS = ("conv", "pool", "dense")
ROWS = 6


def pooled() -> Program:
    return small_network("pooled")


PROGRAM = pooled()


def planned(heights: tuple[int, ...] = (1, 2, 1), rolls: bool = True, ops: tuple[str, ...] = OPS) -> Planned:
    return cascaded(PROGRAM, CascadeChoice(ops, heights, rolls))


def faults_of(label: str, change: Change) -> tuple[str, bool]:
    """What is said of the plan with one step changed."""
    plan = planned()
    return faults(PROGRAM, plan, changed(plan.commands, {label}, change))


@pytest.mark.parametrize(
    "heights", [(1, 1, 1), (1, 2, 1), (2, 4, 1), (1, 5, 1), (ROWS, ROWS, 1), (1, 100, 1)]
)
@pytest.mark.parametrize(("rolls", "ops"), [(True, OPS), (False, OPS), (True, OPS[:2]), (False, OPS[:2])])
def test_pooling_by_rows_passes_and_computes_the_network(
    heights: tuple[int, ...], rolls: bool, ops: tuple[str, ...]
) -> None:
    plan = planned(heights[: len(ops)], rolls, ops)
    assert faults(PROGRAM, plan, plan.commands) == ("", False)


def test_the_first_part_reads_no_sums_and_the_last_one_writes_none() -> None:
    parts = steps_of(planned().commands, "pool")
    reads = [[place.part.name for place in part.reads] for part in parts]
    assert reads == [["conv"], ["conv", "pool.sums"], ["conv", "pool.sums"]]
    writes = [[place.part.name for place in part.writes] for part in parts]
    assert writes == [["pool.sums"], ["pool.sums"], ["pool"]]


def test_rows_in_another_order_are_found() -> None:
    plan = planned()
    rows = {"pool [1/3]": Interval(2, 4), "pool [2/3]": Interval(0, 2)}
    other = changed(plan.commands, rows, lambda step: replace(step, rows=rows[step.label]))
    assert "do not go through its rows one after another" in faults(PROGRAM, plan, other)[0]


def test_sums_that_are_not_read_are_found() -> None:
    def change(step: Compute) -> Compute:
        return replace(step, reads=tuple(place for place in step.reads if place.part.name != "pool.sums"))

    said, wrong = faults_of("pool [2/3]", change)
    assert "step 'pool [2/3]' does not read 'pool.sums'" in said
    assert wrong


def test_sums_that_another_step_destroys_are_found() -> None:
    plan = planned()
    sums = steps_of(plan.commands, "pool")[0].writes[0]
    labels = [step.label for step in steps_of(plan.commands, "conv")]

    def change(step: Compute) -> Compute:
        return replace(step, writes=(replace(step.writes[0], offset=sums.offset),))

    over = changed(plan.commands, labels, change)
    said, wrong = faults(PROGRAM, plan, over)
    assert "'pool.sums' is not at" in said
    assert wrong


def test_pooling_outside_of_a_cascade_has_no_rows_of_its_own() -> None:
    """The same commands in a plan that does not say that the op is in a cascade."""
    file = replace(file_of(planned(ops=OPS[:2], heights=(1, 2))), cascades=())
    assert "'pool'" in file_faults(PROGRAM, file)


def test_what_is_added_up_is_not_made_again() -> None:
    plan = file_of(planned())
    again = replace(plan, cascades=tuple(replace(each, again=("pool",)) for each in plan.cascades))
    assert "makes 'pool' again, which only one op reads where that can be" in file_faults(PROGRAM, again)
