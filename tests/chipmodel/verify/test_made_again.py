"""The verifier and the machine on rows that are computed again: right plans pass, wrong ones are found."""

from dataclasses import replace

import pytest

from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Compute
from chipmodel.pipeline.request import Planned
from chipmodel.verify.commands import verify
from tests.chipmodel.cascades.test_recomputed import chain
from tests.support.broken_plans import cascaded, faults, file_faults, file_of
from tests.support.chips import LUNA_LIKE
from tests.support.narrowed import of_kind

PROGRAM = chain(1, 3, 1, 3, skips=True)
OPS = tuple(op.name for op in PROGRAM.ops())
AGAIN = ("op1", "op2")


def planned(again: tuple[str, ...] = AGAIN) -> Planned:
    return cascaded(PROGRAM, CascadeChoice(OPS, (1,) * len(OPS), again=again))


def test_rows_that_are_computed_again_pass_and_make_the_network() -> None:
    plan = planned()
    assert faults(PROGRAM, plan, plan.commands) == ("", False)


def test_their_buffers_are_alive_in_each_round_alone() -> None:
    buffers = {b.name: b for b in file_of(planned()).buffers}
    assert len(buffers["op1 rows"].live) > 1
    kept = next(b for b in file_of(planned(())).buffers if b.name == "op1 rows")
    assert len(kept.live) == 1


@pytest.mark.parametrize(
    ("again", "fault"),
    [
        ((), "do not cover its work exactly once"),
        (("op1",), "the steps of op 'op2' do not cover its work exactly once"),
        (("op0", *AGAIN), "makes 'op0' again, which only one op reads where that can be"),
        (("add", *AGAIN), "makes 'add' again"),
        (("nothing", *AGAIN), "makes 'nothing' again"),
    ],
)
def test_a_plan_has_to_say_what_it_makes_again(again: tuple[str, ...], fault: str) -> None:
    plan = file_of(planned())
    cascades = tuple(replace(each, again=again) for each in plan.cascades)
    assert fault in file_faults(PROGRAM, replace(plan, cascades=cascades))


def test_rows_are_not_there_after_the_step_that_reads_them() -> None:
    """A step is left out whose rows are in the buffer from the round before."""
    plan = planned()
    commands = list(plan.commands)
    parts = [n for n, c in enumerate(commands) if isinstance(c, Compute) and c.op == "op2"]
    read = next(n for n, c in enumerate(commands) if isinstance(c, Compute) and c.op == "op3")
    second = next(n for n in parts if n > read)
    again = of_kind(Compute, commands[second])
    assert again.rows == Interval(0, 1)
    left = [*commands[:second], *commands[second + 1 :]]
    members = [cascade.members for cascade in plan.schedule.cascades]
    assert "'op2' at" in "\n".join(verify(PROGRAM, tuple(left), LUNA_LIKE, members))


def test_buffers_that_are_alive_all_the_time_are_not_those_of_the_commands() -> None:
    plan = file_of(planned())
    kept = {b.name: b.live for b in file_of(planned(())).buffers}
    buffers = tuple(replace(b, live=kept[b.name]) if b.name == "op1 rows" else b for b in plan.buffers)
    assert "its commands need" in file_faults(PROGRAM, replace(plan, buffers=buffers))
