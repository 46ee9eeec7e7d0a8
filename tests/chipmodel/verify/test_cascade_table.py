"""The verifier on plans with cascades: right ones pass, and each wrong one is found for its own reason."""

from dataclasses import replace

import pytest

from chipmodel.cascades.rewrite import CascadeChoice
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Npu
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.commands import Compute, DmaStart, DmaWait, Located
from chipmodel.model.program import Program
from chipmodel.model.schedule import CascadeOps, Part
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.verify.commands import verify
from tests.support.broken_plans import Commands, cascaded, changed, steps_of
from tests.support.chips import LUNA_LIKE
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder


def convolutions(names: str, height: int, kernel: int = 3) -> Program:
    """One after another; rows of 16 bytes, and with a kernel of 3 a halo of a row on both sides."""
    builder = ProgramBuilder("convolutions")
    x = builder.input("x", (1, 2, height, 8))
    for name in names:
        x = builder.conv(name, x, 2, kernel, pad=kernel // 2)
    builder.output(x)
    return builder.build()


PROGRAM = convolutions("abc", 12)


def planned(rolls: bool, heights: tuple[int, int, int] = (2, 1, 2)) -> Planned:
    return cascaded(PROGRAM, CascadeChoice(("a", "b", "c"), heights, rolls))


def faults(commands: Commands, rolls: bool, ops: tuple[str, ...] = ("a", "b", "c")) -> str:
    return "\n".join(verify(PROGRAM, commands, LUNA_LIKE, [CascadeOps("a..c", ops, rolls)]))


@pytest.mark.parametrize("heights", [(1, 1, 1), (2, 1, 2), (3, 5, 2), (12, 12, 12)])
@pytest.mark.parametrize("rolls", [True, False])
def test_cascades_pass(rolls: bool, heights: tuple[int, int, int]) -> None:
    plan = planned(rolls, heights)
    members = [cascade.members for cascade in plan.schedule.cascades]
    assert members == [CascadeOps("a..c", ("a", "b", "c"), rolls)]
    assert verify(PROGRAM, plan.commands, LUNA_LIKE, members) == ()


AGAIN = ("a", "c")
"""Ops whose weights are loaded again."""


def reloading(rolls: bool = True) -> Planned:
    return cascaded(PROGRAM, CascadeChoice(("a", "b", "c"), (1, 1, 3), rolls, AGAIN))


def claimed(commands: Commands, reloaded: tuple[str, ...]) -> str:
    cascade = CascadeOps("a..c", ("a", "b", "c"), True, reloaded)
    return "\n".join(verify(PROGRAM, commands, LUNA_LIKE, [cascade]))


def test_a_plan_says_whose_weights_are_loaded_again() -> None:
    commands = reloading().commands
    assert "no list of its ops" in claimed(commands, ("c", "a"))
    assert "no list of its ops" in claimed(commands, ("a", "c", "other"))


def test_weights_of_another_turn_are_not_there_any_more() -> None:
    """Without its second load, ``a`` finds the weights of ``c``."""
    commands = reloading().commands
    loads = [c for c in commands if isinstance(c, DmaStart) and c.at.part == Part("a", weights=True)]
    assert len(loads) > 1
    names = {loads[1].name}
    left = tuple(c for c in commands if not (isinstance(c, DmaStart | DmaWait) and c.name in names))
    assert "'a' is not at" in claimed(left, AGAIN)


def test_a_cascade_must_be_named() -> None:
    """Its rolling buffers have no room for whole tensors otherwise."""
    assert "which has no room for its" in "\n".join(verify(PROGRAM, planned(True).commands, LUNA_LIKE))


def smaller(place: Located, by: int) -> Located:
    """A rolling buffer that has fewer bytes, and what is touched of it then."""
    size, share = place.bytes - by, place.part.share
    start = 192 * share.rows.start // share.of_rows
    length = 192 * len(share.rows) // share.of_rows
    begins = start % size
    whole = begins + length > size
    return replace(
        place, bytes=size, touched=Interval(0, size) if whole else Interval(begins, begins + length)
    )


def test_a_rolling_buffer_one_row_short_loses_a_row_that_is_needed() -> None:
    def short(step: Compute) -> Compute:
        def each(places: tuple[Located, ...]) -> tuple[Located, ...]:
            return tuple(smaller(p, 16) if p.rolls and p.part.name == "a" else p for p in places)

        return replace(step, reads=each(step.reads), writes=each(step.writes))

    commands = tuple(short(c) if isinstance(c, Compute) else c for c in planned(True).commands)
    assert "'a' at" in faults(commands, True)
    assert "is not complete" in faults(commands, True)


def test_a_step_that_runs_before_its_rows_are_there() -> None:
    commands = list(planned(True).commands)
    at = commands.index(steps_of(commands, "b")[0])
    before = max(i for i in range(at) if isinstance(commands[i], Compute))
    commands[at], commands[before] = commands[before], commands[at]
    assert "'a' is not at" in faults(tuple(commands), True)


def test_rows_left_out_where_they_may_be_computed_again() -> None:
    commands = planned(False).commands
    first = steps_of(commands, "b")[0]
    short = replace(first, rows=Interval(first.rows.start, first.rows.stop - 1))
    said = faults(changed(commands, {first.label}, lambda _: short), False)
    assert "does not write 'b'" in said


@pytest.mark.parametrize("npu", [LUNA_LIKE.npu, load_chip("alif-e7").npu], ids=["test-chip", "alif-e7"])
def test_a_step_of_no_rows_or_channels(npu: Npu) -> None:
    commands = planned(True).commands
    first = steps_of(commands, "b")[0]
    empty = Interval(first.rows.start, first.rows.start)
    chip = replace(LUNA_LIKE, npu=npu)
    for step in (replace(first, rows=empty), replace(first, channels=Interval(0, 0))):
        wrong = tuple(step if command is first else command for command in commands)
        said = verify(PROGRAM, wrong, chip, [CascadeOps("a..c", ("a", "b", "c"), rolls=True)])
        assert f"step {first.label!r} computes nothing" in said


def test_the_touched_bytes_of_a_rolling_buffer() -> None:
    commands = planned(True).commands

    def all_of_it(step: Compute) -> Compute:
        return replace(step, writes=tuple(replace(w, touched=None) for w in step.writes))

    first = steps_of(commands, "a")[0]
    assert "touches bytes [0, 64) of 'a'" in faults(changed(commands, {first.label}, all_of_it), True)


def test_only_steps_of_a_rolling_cascade_use_rolling_buffers() -> None:
    commands = planned(True).commands
    assert "and no such cascade" in faults(commands, False)

    def fixed(step: Compute) -> Compute:
        return replace(step, reads=tuple(replace(r, rolls=False) for r in step.reads))

    first = steps_of(commands, "b")[0]
    assert "of which only rows exist, as a tensor" in faults(changed(commands, {first.label}, fixed), True)


@pytest.mark.parametrize("ops", ["ac", "a", "ba", "abz"])
def test_cascades_that_the_program_cannot_have(ops: str) -> None:
    assert "several neighbouring ops" in faults(planned(True).commands, True, tuple(ops))


def test_an_op_is_in_one_cascade_and_names_are_unique() -> None:
    twice = [CascadeOps("a..c", ("a", "b", "c"), True), CascadeOps("c", ("b", "c"), True)]
    said = verify(PROGRAM, planned(True).commands, LUNA_LIKE, twice)
    assert "an op is in two cascades" in said
    assert "a cascade has the name of another one or of an op" in said


def test_a_cascade_is_called_by_its_first_and_last_op() -> None:
    said = verify(
        PROGRAM, planned(True).commands, LUNA_LIKE, [CascadeOps("front", ("a", "b", "c"), rolls=True)]
    )
    assert "cascade 'front' is not called 'a..c'" in said


def test_every_op_of_a_cascade_makes_what_a_later_one_reads() -> None:
    """Otherwise two ops that each run at once could be called a cascade."""
    program = small_network("apart")
    commands = plan_in_rounds(PlanRequest(program, LUNA_LIKE, "large-first", "sync")).commands
    assert verify(program, commands, LUNA_LIKE) == ()
    said = verify(program, commands, LUNA_LIKE, [CascadeOps("a..b", ("a", "b"), rolls=True)])
    assert "cascade 'a..b' needs nothing that 'a' makes" in said


def test_cascades_come_in_the_order_in_which_they_run() -> None:
    program = convolutions("abcd", 8)
    plan = cascaded(program, *(CascadeChoice(pair, (1, 1)) for pair in (("a", "b"), ("c", "d"))))
    members = [each.members for each in plan.schedule.cascades]
    assert verify(program, plan.commands, LUNA_LIKE, members) == ()
    said = verify(program, plan.commands, LUNA_LIKE, members[::-1])
    assert said == ("the cascades are not in the order in which they run",)


def test_rows_inside_roll_where_the_cascade_says_so() -> None:
    """Stripes without a halo could as well be computed again: the plan must say which it is."""
    program = convolutions("ab", 8, kernel=1)
    plan = cascaded(program, CascadeChoice(("a", "b"), (2, 2), rolls=False))
    for rolls in (False, True):
        said = verify(program, plan.commands, LUNA_LIKE, [CascadeOps("a..b", ("a", "b"), rolls)])
        assert any("'a', of which only rows exist, as a tensor" in fault for fault in said) == rolls


def test_a_cascade_with_nothing_inside_computes_nothing_again() -> None:
    program = small_network("leaving")
    plan = cascaded(program, CascadeChoice(("a", "b"), (2, 2)))
    for rolls in (False, True):
        said = verify(program, plan.commands, LUNA_LIKE, [CascadeOps("a..b", ("a", "b"), rolls)])
        assert any("has no tensor inside" in fault for fault in said) == (not rolls)


@pytest.mark.parametrize("rolls", [True, False])
def test_the_first_rows_of_a_cascade_s_output_are_said_to_lie_in_it(rolls: bool) -> None:
    """They lie at the start of its buffer: alone they would have the same bytes."""
    commands = planned(rolls).commands
    first = steps_of(commands, "c")[0]
    assert first.writes[0].in_tensor

    def alone(step: Compute) -> Compute:
        return replace(step, writes=(replace(step.writes[0], in_tensor=False),))

    said = faults(changed(commands, {first.label}, alone), rolls)
    assert (
        said
        == "step 'c [1/6]' does not say that 'c' (rows [0, 2) of 12, channels [0, 2) of 2) lies in its tensor"
    )
