"""Networks in steady state: the loop around them, by hand and on both simulators."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil

import pytest

from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Loop, Node, Op, Program, ops
from chipmodel.npu.least_costs import read_share
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.steady_state import LOOP, steady, unrolled
from chipmodel.verify.commands import verify
from reports.run.steady_state import steady_of
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.narrowed import some
from tests.support.small_networks import small_network
from tests.support.stepper import step_through
from workloads.build.builder import ProgramBuilder


def chain(layers: int = 3, features: int = 64) -> Program:
    builder = ProgramBuilder("chain")
    x = builder.input("x", (1, features))
    for number in range(layers):
        x = builder.dense(f"d{number}", x, features)
    builder.output(x)
    return builder.build()


def body_of(program: Program) -> tuple[Node, ...]:
    (loop,) = (node for node in program.body if isinstance(node, Loop))
    return loop.body


def test_an_inference_is_an_iteration_with_its_slices_of_inputs_and_outputs() -> None:
    one = chain()
    many = steady(one, 5)
    validate_program(many)
    room, loop = many.body
    assert isinstance(room, Op)
    assert isinstance(loop, Loop)
    assert (room.kind, room.cycles) == ("allocate", 0)
    assert (loop.name, loop.iterations, loop.carried, many.inferences) == (LOOP, 5, many.outputs, 5)
    first, middle, last = ops(loop.body)
    assert (first.sliced, first.slices, first.inputs) == ("x", 5, ("x",))
    assert middle == list(ops(one.body))[1]
    assert (last.sliced, last.slices, last.collects) == (*many.outputs, 5, True)
    stack = many.tensors["x"]
    assert (stack.bytes, stack.shape) == (5 * 64, (5, 1, 64))
    assert many.macs == 5 * one.macs
    assert many.weight_bytes == one.weight_bytes


def test_inputs_and_outputs_that_several_ops_touch_are_copied() -> None:
    """x is read twice, and y is an output that another op reads."""
    many = steady(small_network("twice"), 4)
    validate_program(many)
    kinds = [(op.name, op.kind, op.sliced) for op in ops(body_of(many))]
    assert kinds == [
        ("x.slice", "slice", "x"),
        ("y", "dense", None),
        ("sum", "add", "sum"),
        ("y.collect", "collect", "y"),
    ]
    assert many.tensors["x.now"].bytes * 4 == many.tensors["x"].bytes == 64
    check(many, LUNA_LIKE, "ping-pong")


def test_new_names_do_not_collide_with_existing_ones() -> None:
    many = steady(small_network("names"), 2)
    validate_program(many)
    assert {"x.slice.2", "x.slice"} <= {op.name for op in ops(many.body)}
    assert {"x.now.2", "x.now", "x"} <= set(many.tensors)


def test_a_tensor_that_is_input_and_output_has_two_stacks() -> None:
    many = steady(replace(chain(), outputs=("x",)), 2)
    validate_program(many)
    assert (many.inputs, many.outputs) == (("x",), ("x.results",))
    check(many, LUNA_LIKE, "ping-pong")


def test_wrong_inference_counts_and_names_are_refused() -> None:
    for count in (0, 1, 100_001):
        with pytest.raises(BadInput, match="not a number of inferences"):
            steady(chain(), count)
    with pytest.raises(BadInput, match="'inferences' already"):
        steady(steady(chain(), 2), 2)
    with pytest.raises(BadInput, match="has 4"):
        run(PlanRequest(steady(chain(), 2), replace(LUNA_LIKE, cores=4)))


def test_the_inferences_unrolled() -> None:
    one = chain()
    flat = unrolled(steady(one, 3))
    validate_program(flat)
    assert [op.name for op in ops(flat.body)] == [f"d{n}@{k}" for k in (1, 2, 3) for n in range(3)]
    assert flat.inputs == ("x@1", "x@2", "x@3")
    assert not any(op.sliced for op in ops(flat.body))
    assert flat.tensors["x@2"].bytes == one.tensors["x"].bytes
    assert flat.macs == 3 * one.macs
    assert flat.weight_bytes == one.weight_bytes
    assert unrolled(one) is one


def check(program: Program, chip: Chip, streamer: str) -> Planned:
    """The plan, verified, alike on both simulators, and not below the bound of the unrolled run."""
    planned = plan(PlanRequest(program, chip, "large-first", streamer))
    assert verify(program, planned.commands, chip) == ()
    trace = simulate(planned.commands, chip)
    assert trace == step_through(planned.commands, chip)
    assert trace.cycles >= least_cycles(program, chip, trace.path)
    return planned


def least_cycles(program: Program, chip: Chip, path: Mapping[str, str]) -> int:
    """The larger of the bounds of plans with and without cascades."""
    flat, made = unrolled(program), program.inferences
    every = (time_bound(flat, chip, path, cascades, made) for cascades in (False, True))
    return max(bound.cycles for bound in every)


@pytest.mark.parametrize("streamer", ["resident-knapsack", pytest.param("exact", marks=pytest.mark.slow)])
def test_where_everything_fits_only_the_first_inference_loads_weights(streamer: str) -> None:
    """Three layers of 256 x 256 on an array of 64 MACs that takes two rows at once: 2,048 cycles each.

    An input of 256 B takes 8 bursts of 16 + 8.7128 Psram clocks, each 1.25 core cycles, and 656 to set up;
    an output 16 + 3.7616 clocks and 615. With loads at their own steps every further inference loads its
    input, computes, and stores its output.
    """
    load_input, store = ceil(656 + 8 * 24.7128 * 1.25), ceil(615 + 8 * 19.7616 * 1.25)
    compute, waits = 3 * 2048, load_input + store
    result = run(PlanRequest(steady(chain(features=256), 6), LUNA_LIKE, "large-first", streamer))
    found = some(steady_of(result))
    assert found.resident_bytes == result.program.weight_bytes
    assert found.moved == {"load tensor": 256, "store tensor": 256}
    assert found.further_cycles == compute + waits
    assert found.per_second == 300e6 / (compute + waits)
    assert result.trace.cycles == found.first_cycles + 5 * found.further_cycles


def test_a_stack_takes_the_memory_of_one_slice() -> None:
    """Twenty inputs and outputs of 64 B: they lie in Psram and are moved slice by slice."""
    for streamer in ("sync", "exact:5"):
        planned = plan(PlanRequest(steady(chain(), 20), LUNA_LIKE, "large-first", streamer))
        assert max(b.bytes for b in planned.schedule.buffers.values() if b.kind != "weights") == 64
        assert not planned.schedule.spilled
        assert not planned.schedule.striped


def test_the_bound_counts_only_rows_of_a_slice_that_are_read() -> None:
    conv, _ = ops(body_of(steady(small_network("strides"), 5)))
    assert read_share(conv, "x", 1) == Fraction(4, 8) / 5
    assert read_share(conv, "x", 5) == Fraction(4, 8)


@pytest.mark.slow
def test_weights_stay_as_far_as_they_fit() -> None:
    """Four layers of 4,352 B each in 14 KiB: two stay, the others are loaded again for each inference."""
    chip = with_memory(LUNA_LIKE, 14 * 1024)
    result = run(PlanRequest(steady(chain(4), 6), chip, "large-first", "exact"))
    found = some(steady_of(result))
    assert 2 * 4352 <= found.resident_bytes < 14 * 1024
    assert found.moved["load weights"] == 4 * 4352 - found.resident_bytes
