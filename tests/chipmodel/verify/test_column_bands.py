"""The verifier on cascades in bands of columns: right ones pass, wrong ones are found."""

from dataclasses import replace

import pytest

from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Compute, DmaStart
from chipmodel.model.schedule import CascadeOps
from chipmodel.pipeline.request import Planned
from chipmodel.verify.commands import verify
from tests.support.broken_plans import Change, Commands, cascaded, changed, steps_of
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network

OPS = ("a", "b", "c")


PROGRAM = small_network("three")


def planned(rolls: bool = True, bands: int = 3, memory: int | None = None) -> Planned:
    choice = CascadeChoice(OPS, (1, 2, 1), rolls, bands=bands)
    chip = LUNA_LIKE if memory is None else with_memory(LUNA_LIKE, memory, alignment=1)
    return cascaded(PROGRAM, choice, chip=chip)


def members(rolls: bool = True, bands: int = 3) -> CascadeOps:
    return CascadeOps("a..c", OPS, rolls, bands=bands)


def faults(commands: Commands, cascade: CascadeOps | None = None) -> str:
    return "\n".join(verify(PROGRAM, commands, LUNA_LIKE, [cascade or members()]))


def with_step(commands: Commands, op: str, change: Change, number: int = 1) -> Commands:
    return changed(commands, {steps_of(commands, op)[number - 1].label}, change)


def compute_faults(number: int, op: str, change: Change) -> str:
    return faults(with_step(planned().commands, op, change, number))


@pytest.mark.parametrize("memory", [None, 420])
@pytest.mark.parametrize("bands", [2, 3, 4, 12])
@pytest.mark.parametrize("rolls", [True, False])
def test_bands_pass_and_compute_the_network(rolls: bool, bands: int, memory: int | None) -> None:
    plan = planned(rolls, bands, memory)
    found = [cascade.members for cascade in plan.schedule.cascades]
    assert found == [members(rolls, bands)]
    chip = LUNA_LIKE if memory is None else with_memory(LUNA_LIKE, memory, alignment=1)
    assert verify(PROGRAM, plan.commands, chip, found) == ()
    run = PlanRun(PROGRAM, [plan.commands], chip.shared_memory.bytes, tuple(found))
    assert [verdict.faults for verdict in check_paths(run, {}, 1)] == [()]


def test_stripes_of_an_input_in_psram_come_in_runs() -> None:
    starts = [c for c in planned(memory=420).commands if isinstance(c, DmaStart) and c.at.part.name == "x"]
    cut = [c for c in starts if c.at.part.share.banded]
    assert cut
    for start in cut:
        share = start.at.part.share
        assert (start.runs, start.pitch) == (len(share.rows) * 2, 12)
        assert start.psram == start.home.start + 24 * share.rows.start + share.columns.start
        assert start.bytes == start.runs * len(share.columns)


@pytest.mark.parametrize("bands", [1, 2, 4])
def test_the_number_of_bands_must_be_right(bands: int) -> None:
    assert faults(planned().commands, members(bands=bands))


def test_columns_only_in_a_cascade_with_bands() -> None:
    plain = planned(bands=1).commands
    wrong = with_step(plain, "c", lambda step: replace(step, columns=Interval(0, 4)))
    assert "is in no cascade with bands" in faults(wrong, members(bands=1))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (Interval(0, 3), "cover its work exactly once"),
        (Interval(0, 12), "which are not some of them"),
        (Interval(3, 14), "which are not some of them"),
        (Interval(1, 5), "does not write"),
        (None, "does not write"),
    ],
)
def test_other_columns_are_found(columns: Interval | None, message: str) -> None:
    found = compute_faults(2, "c", lambda step: replace(step, columns=columns))
    assert message in found


def test_rows_of_another_band_are_not_there() -> None:
    """The rolling buffer still has the columns of the band before."""
    commands = planned().commands
    steps = steps_of(commands, "b")
    first = next(step for step in steps if step.columns == steps[-1].columns)
    before = steps[steps.index(first) - 1]
    wrong = with_step(commands, "b", lambda s: replace(s, reads=before.reads), steps.index(first) + 1)
    assert "does not read" in faults(wrong)


def test_columns_that_are_never_computed_are_found() -> None:
    commands = [
        c
        for c in planned().commands
        if not (isinstance(c, Compute) and c.op == "a" and c.columns == Interval(6, 12))
    ]
    assert "'a' do not compute all of its rows" in faults(tuple(commands))
