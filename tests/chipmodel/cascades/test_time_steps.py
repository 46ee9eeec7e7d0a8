"""Recurrent layers in a cascade: the state that they hold, and which of them cannot take turns."""

from dataclasses import replace

import pytest

from chipmodel.cascades.accumulation import accumulating
from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.cascade_work import CascadeWork, HeldRows
from chipmodel.model.program import Op, Program
from chipmodel.model.work import Recurrent
from chipmodel.npu.cycles import op_cycles
from tests.support.narrowed import of_kind, some
from tests.support.recurrent_stacks import HIDDEN, STEPS, Kind, stack
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder

LAYERS = ("l0", "l1", "l2")


def work(program: Program, choice: CascadeChoice) -> CascadeWork:
    ops = [op for op in program.ops() if op.name in choice.ops]
    return of_kind(CascadeWork, cascade_op(program, ops, choice).work)


def held(program: Program, choice: CascadeChoice) -> dict[str, int]:
    return {each.tensor: each.bytes for each in work(program, choice).held}


def layer(kind: Kind, dtype: str, batch: int = 1, steps: int = STEPS) -> tuple[Program, Op]:
    program = stack(1, kind, dtype, batch, steps)
    return program, next(program.ops())


@pytest.mark.parametrize(
    ("kind", "dtype", "batch", "size"),
    [
        ("lstm", "int8", 1, 3 * HIDDEN),
        ("lstm", "int16", 1, 4 * HIDDEN),
        ("lstm", "float32", 2, 2 * 8 * HIDDEN),
        ("gru", "int8", 1, HIDDEN),
        ("rnn", "int8", 3, 3 * HIDDEN),
    ],
)
def test_a_state_is_h_and_of_an_lstm_a_c_of_16_bits_at_least(
    kind: Kind, dtype: str, batch: int, size: int
) -> None:
    program, op = layer(kind, dtype, batch)
    state = some(accumulating(program, op).state)
    assert (state.name, state.bytes) == ("l0.state", size)


def test_a_single_time_step_or_two_directions_leave_no_state() -> None:
    program, op = layer("lstm", "int8", steps=1)
    assert accumulating(program, op).state is None
    program, op = layer("lstm", "int8")
    both = replace(op, work=replace(of_kind(Recurrent, op.work), directions=2))
    assert accumulating(program, both).state is None


def test_layers_in_turn_hold_a_time_step_and_their_states() -> None:
    program = stack(3, "lstm")
    state = 3 * HIDDEN
    choice = CascadeChoice(LAYERS, (1, 1, 1))
    states = {f"{name}.state": state for name in LAYERS}
    assert held(program, choice) == {"l0": HIDDEN, "l1": HIDDEN, **states}
    steps = [(step.op, step.rows.start, step.rows.stop) for step in work(program, choice).steps]
    assert steps == [(op, row, row + 1) for row in range(STEPS) for op in range(3)]


def test_a_layer_with_all_its_time_steps_at_once_holds_no_state() -> None:
    assert held(stack(2, "lstm"), CascadeChoice(LAYERS[:2], (STEPS, 2))) == {
        "l0": STEPS * HIDDEN,
        "l1.state": 3 * HIDDEN,
    }


def test_before_a_single_step_of_the_last_op_inputs_come_by_the_steps_of_the_first_one() -> None:
    """Otherwise the whole input would be there for the one step that takes the last row."""
    made = work(small_network("last"), CascadeChoice(("l0", "last"), (3, 1)))
    assert [len(group) for group in made.groups] == [1, 1, 2]
    assert made.reads[0].of_group == (Interval(0, 3), Interval(3, 6), Interval(6, 8))
    assert made.makes[0].of_group == (Interval(0, 0), Interval(0, 0), Interval(0, 1))
    assert made.held[0] == HeldRows("l0", 3 * HIDDEN, True)


def test_time_steps_are_not_made_again() -> None:
    program = stack(3, "lstm")
    with pytest.raises(ValueError, match="the rows of 'l1' cannot be made again"):
        work(program, CascadeChoice(LAYERS, (1, 1, 1), again=("l1",)))


def smoothed(kernel: int) -> Program:
    """A layer, its time steps as rows of an image, and a convolution over ``kernel`` of them."""
    builder = ProgramBuilder("smoothed")
    x = builder.recurrent("l0", builder.input("x", (STEPS, 1, 4)), HIDDEN, "gru")
    shape = (1, HIDDEN, STEPS, 1)
    image = builder.reshape(x, (1, STEPS, 1, HIDDEN))
    turned = builder.vector("copy", "image", [image], shape, rows=STEPS)
    builder.output(builder.conv("conv", turned, 2, (kernel, 1), pad=(kernel // 2, 0, kernel // 2, 0)))
    return builder.build()


def test_without_rolling_buffers_no_time_step_is_computed_twice() -> None:
    choice = CascadeChoice(("l0", "image", "conv"), (1, 1, 2), rolls=False)
    assert held(smoothed(1), choice)["l0.state"] == HIDDEN
    with pytest.raises(ValueError, match="'l0' would compute time steps again"):
        work(smoothed(3), choice)
    assert held(smoothed(3), replace(choice, rolls=True))["l0"] == HIDDEN


def test_a_layer_that_runs_backwards_is_in_no_cascade() -> None:
    program = stack(2, "lstm", backward=1)
    with pytest.raises(ValueError, match="'l1' cannot run in a cascade"):
        work(program, CascadeChoice(LAYERS[:2], (1, 1)))


@pytest.mark.parametrize("chip", ["alif-e7", "luna-csk6", "stm32n6", "gap9-psram"])
def test_each_piece_of_a_layer_costs_its_steps_and_one_start(chip: str) -> None:
    npu = load_chip(chip).npu
    program = stack(1, "lstm", steps=20)
    op = accumulating(program, next(program.ops()))
    cycles = [op_cycles(npu, op, rows, op.work.channels) for rows in range(1, 21)]
    step = (cycles[-1] - cycles[0]) / 19
    assert all(abs(each - cycles[0] - number * step) <= 1 for number, each in enumerate(cycles))
    if chip == "stm32n6":  # its CPU computes the layer, and each call takes 24 us
        assert cycles[0] - step == pytest.approx(9_640, abs=1)
