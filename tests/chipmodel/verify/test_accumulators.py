"""The verifier and the machine on pooling by rows in a cascade: right plans pass, wrong ones are found."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Command, Compute
from chipmodel.model.program import Program
from chipmodel.model.schedule import CascadeOps
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.verify.plan_file import verify_file
from tests.support.chips import LUNA_LIKE
from tests.support.narrowed import of_kind
from workloads.build.builder import ProgramBuilder

OPS = ("conv", "pool", "dense")
ROWS = 6
Change = Callable[[list[Command]], None]


def pooled() -> Program:
    builder = ProgramBuilder("pooled")
    x = builder.conv("conv", builder.input("x", (1, 4, ROWS, 3)), 8, 3, pad=1)
    x = builder.pool("pool", x, None, kind="average_pool")
    builder.output(builder.conv("dense", x, 5, 1))
    return builder.build()


PROGRAM = pooled()


def planned(heights: tuple[int, ...] = (1, 2, 1), rolls: bool = True, ops: tuple[str, ...] = OPS) -> Planned:
    request = PlanRequest(PROGRAM, LUNA_LIKE, "large-first", "sync")
    return plan_in_rounds(request, None, with_cascades(PROGRAM, [CascadeChoice(ops, heights, rolls)]))


def faults(plan: Planned, change: Change = lambda commands: None) -> tuple[str, bool]:
    """What the verifier says of the changed commands, and whether they compute something else."""
    commands = list(plan.commands)
    change(commands)
    members = tuple(cascade.members for cascade in plan.schedule.cascades)
    file = replace(plan_of_planned(plan, LUNA_LIKE, "tiny", ()), commands=tuple(commands))
    run = PlanRun(PROGRAM, [tuple(commands)], LUNA_LIKE.shared_memory.bytes, members)
    wrong = any(verdict.faults for verdict in check_paths(run, {}, 1))
    return "\n".join(verify_file(PROGRAM, file, LUNA_LIKE)), wrong


def place_of(commands: list[Command], label: str) -> int:
    return next(n for n, c in enumerate(commands) if isinstance(c, Compute) and c.label == label)


def step(commands: list[Command], label: str) -> Compute:
    return of_kind(Compute, commands[place_of(commands, label)])


@pytest.mark.parametrize(
    "heights", [(1, 1, 1), (1, 2, 1), (2, 4, 1), (1, 5, 1), (ROWS, ROWS, 1), (1, 100, 1)]
)
@pytest.mark.parametrize(("rolls", "ops"), [(True, OPS), (False, OPS), (True, OPS[:2]), (False, OPS[:2])])
def test_pooling_by_rows_passes_and_computes_the_network(
    heights: tuple[int, ...], rolls: bool, ops: tuple[str, ...]
) -> None:
    assert faults(planned(heights[: len(ops)], rolls, ops)) == ("", False)


def test_the_first_part_reads_no_sums_and_the_last_one_writes_none() -> None:
    commands = list(planned().commands)
    parts = [step(commands, f"pool [{number}/3]") for number in (1, 2, 3)]
    reads = [[place.part.name for place in part.reads] for part in parts]
    assert reads == [["conv"], ["conv", "pool.sums"], ["conv", "pool.sums"]]
    writes = [[place.part.name for place in part.writes] for part in parts]
    assert writes == [["pool.sums"], ["pool.sums"], ["pool"]]


def relabelled(commands: list[Command], rows: tuple[Interval, Interval]) -> None:
    """Let the first two parts have other rows."""
    for number, each in enumerate(rows, 1):
        at = place_of(commands, f"pool [{number}/3]")
        commands[at] = replace(step(commands, f"pool [{number}/3]"), rows=each)


def test_rows_in_another_order_are_found() -> None:
    def change(commands: list[Command]) -> None:
        relabelled(commands, (Interval(2, 4), Interval(0, 2)))

    said, _ = faults(planned(), change)
    assert "do not go through its rows one after another" in said


def test_sums_that_are_not_read_are_found() -> None:
    def change(commands: list[Command]) -> None:
        part = step(commands, "pool [2/3]")
        kept = tuple(place for place in part.reads if place.part.name != "pool.sums")
        commands[place_of(commands, "pool [2/3]")] = replace(part, reads=kept)

    said, wrong = faults(planned(), change)
    assert "step 'pool [2/3]' does not read 'pool.sums'" in said
    assert wrong


def test_sums_that_another_step_destroys_are_found() -> None:
    def change(commands: list[Command]) -> None:
        sums = step(commands, "pool [1/3]").writes[0]
        for number, each in enumerate(commands):
            if isinstance(each, Compute) and each.op == "conv":
                moved = replace(each.writes[0], offset=sums.offset)
                commands[number] = replace(each, writes=(moved,))

    said, wrong = faults(planned(), change)
    assert "'pool.sums' is not at" in said
    assert wrong


def test_pooling_outside_of_a_cascade_has_no_rows_of_its_own() -> None:
    """The same commands in a plan that does not say that the op is in a cascade."""
    plan = planned(ops=OPS[:2], heights=(1, 2))
    file = replace(plan_of_planned(plan, LUNA_LIKE, "tiny", ()), cascades=tuple[CascadeOps, ...]())
    assert any("'pool'" in fault for fault in verify_file(PROGRAM, file, LUNA_LIKE))


def test_what_is_added_up_is_not_made_again() -> None:
    plan = plan_of_planned(planned(), LUNA_LIKE, "tiny", ())
    cascades = tuple(replace(each, again=("pool",)) for each in plan.cascades)
    found = "\n".join(verify_file(PROGRAM, replace(plan, cascades=cascades), LUNA_LIKE))
    assert "makes 'pool' again, which only one op reads where that can be" in found
