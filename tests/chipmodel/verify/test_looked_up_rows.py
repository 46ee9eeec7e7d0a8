"""Rows of a table are loaded after the tensor that names them is made, on one core or on several."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from chipmodel.model.commands import Command, Compute, DmaStart, Repeat
from chipmodel.model.program import Program
from chipmodel.pipeline.multicore import plan_cores
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from chipmodel.verify.cores import verify_cores
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.folders import data
from workloads.from_yaml.program import parse_yaml_program

LOAD = "load weights of rows"
CHIP = with_memory(LUNA_LIKE, 8192)
LOOKED_UP = data("small/looked_up.yaml")
IN_A_LOOP = data("small/looked_up_in_a_loop.yaml")


def program(text: str) -> Program:
    return parse_yaml_program(text, "here.yaml")


def taken_out(commands: Sequence[Command]) -> tuple[DmaStart, list[Command]]:
    """The load of the rows, and the other commands."""
    (load,) = (c for c in commands if isinstance(c, DmaStart) and c.name == LOAD)
    return load, [c for c in commands if c != load]


def moved_up(commands: Sequence[Command], before: str) -> tuple[Command, ...]:
    """``commands`` with the load of the rows issued before the first step of an op."""
    load, left = taken_out(commands)
    at = next(n for n, c in enumerate(left) if isinstance(c, Compute) and c.op == before)
    return (*left[:at], load, *left[at:])


@pytest.mark.parametrize(("before", "wrong"), [("which", True), ("c", False)])
def test_rows_that_are_loaded_before_they_are_named(before: str, wrong: bool) -> None:
    made = program(LOOKED_UP)
    commands = plan(PlanRequest(made, CHIP, streamer="sync")).commands
    assert verify(made, commands, CHIP) == ()
    expected = f"step 'which' decides which rows {LOAD!r} loads, which is in flight"
    assert (expected in verify(made, moved_up(commands, before), CHIP)) == wrong


def test_rows_of_an_iteration_before_are_not_those_of_this_one() -> None:
    """The load is issued before the loop, to bytes that nothing else uses."""
    made = program(IN_A_LOOP)
    *before, loop = plan(PlanRequest(made, CHIP, streamer="sync")).commands
    assert verify(made, (*before, loop), CHIP) == ()
    assert isinstance(loop, Repeat)
    load, (wait, first, *body) = taken_out(loop.body)
    assert isinstance(first, Compute)
    token, rows = first.reads
    rows, early = replace(rows, offset=4096), replace(load, at=replace(load.at, offset=4096))
    again = replace(loop, body=(wait, replace(first, reads=(token, rows)), *body))
    assert "step 'rows': 'rows' is not at 4096" in verify(made, (*before, early, again), CHIP)


@pytest.mark.parametrize("streamer", ["sync", "weight-pipeline", "prefetch-greedy"])
def test_rows_that_another_core_names(streamer: str) -> None:
    made, chip = program(LOOKED_UP), replace(CHIP, cores=2)
    plans = plan_cores(PlanRequest(made, chip, streamer=streamer), {"which": 0, "c": 1, "rows": 1})
    maker, reader = (each.commands for each in plans)
    assert verify_cores(made, (maker, reader), chip) == ()
    early = f"core 1: transfer {LOAD!r} loads rows that 'which' names, which is not completely in Psram"
    assert early in verify_cores(made, (maker, moved_up(reader, "c")), chip)
