"""States that run from an output to an input, in one inference and in a steady state."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from chipmodel.errors import BadInput
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Loop, Program, ops
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.states import parse_state_option, with_states
from chipmodel.rewrites.steady_state import steady, unrolled
from chipmodel.verify.plan_file import verify_file
from workloads.build.builder import ProgramBuilder

if TYPE_CHECKING:
    from workloads.build.shapes import Value


def recurrent(last: str = "h1") -> Program:
    """h1 = tanh(dense(x) + h), y = dense(h1): as one step of a recurrent network."""
    builder = ProgramBuilder("step")
    x, h = builder.input("x", (1, 16)), builder.input("h", (1, 32))
    total = builder.elementwise("add", "sum", [builder.dense("in", x, 32), h])
    made = builder.elementwise("tanh", "tanh", [total], outputs=[last])
    builder.output(builder.dense("out", made, 8))
    builder.output(made)
    return builder.build()


def cached(layers: int = 2) -> Program:
    """Attention over caches of 7 keys that grow by one; the newest 7 are kept."""
    builder = ProgramBuilder("decoder")
    x: Value = builder.input("x", (1, 8))
    for layer in range(layers):
        past = builder.input(f"past_key_values.{layer}.key", (7, 8))
        names = [f"present.{layer}.key"]
        present = builder.vector("concat", f"grow{layer}", [past, x], (8, 8), outputs=names)
        scores = builder.matmul(f"scores{layer}", x, present, transpose_right=True)
        x = builder.matmul(f"mix{layer}", builder.vector("softmax", f"soft{layer}", [scores]), present)
        builder.output(present)
    builder.output(builder.dense("head", x, 8))
    return builder.build()


def test_options_name_an_input_and_an_output() -> None:
    assert parse_state_option("past=present") == ("past", "present")
    assert parse_state_option("past_*=present_*") == ("past_*", "present_*")
    for wrong in ("past", "=present", "past=", "past_*=present", "a*b*=c**"):
        with pytest.raises(BadInput, match="not INPUT=OUTPUT"):
            parse_state_option(wrong)


def test_names_that_are_not_there_are_refused() -> None:
    with pytest.raises(BadInput, match="there is no input 'g'"):
        with_states(recurrent(), [("g", "h1")])
    with pytest.raises(BadInput, match="there is no output 'h2'"):
        with_states(recurrent(), [("h", "h2")])
    with pytest.raises(BadInput, match="names no state"):
        with_states(recurrent(), [("past_*", "present_*")])
    with pytest.raises(BadInput, match="two outputs"):
        with_states(recurrent(), [("h", "h1"), ("h", "out")])


def test_caches_are_known_by_their_names_and_all_named_by_a_pattern() -> None:
    wanted = {f"past_key_values.{n}.key": f"present.{n}.key" for n in range(2)}
    assert with_states(cached(), ()).states == wanted
    assert with_states(cached(), [("past_key_values.*", "present.*")]).states == wanted
    assert with_states(recurrent(), ()).states == {}


def test_a_single_inference_is_what_it_was() -> None:
    plain = recurrent()
    assert replace(with_states(plain, [("h", "h1")]), states={}) == plain


def test_a_state_that_is_made_last_is_written_where_it_stays() -> None:
    many = steady(with_states(recurrent(), [("h", "h1")]), 4)
    validate_program(many)
    (loop,) = (node for node in many.body if isinstance(node, Loop))
    assert "h" in loop.carried
    assert (many.inputs, many.outputs) == (("x",), ("out",))
    assert [op.name for op in many.ops() if "h" in op.outputs] == ["h.begin", "tanh"]


def test_the_newest_part_of_a_growing_cache_is_kept() -> None:
    many = steady(with_states(cached(), ()), 3)
    validate_program(many)
    ends = [op for op in many.ops() if op.name.endswith(".next")]
    assert [op.kind for op in ends] == ["slice", "slice"]
    assert [many.tensors[op.outputs[0]].bytes for op in ends] == [56, 56]
    assert many.outputs == ("head",)


def test_a_longer_value_is_copied_as_soon_as_it_is_read() -> None:
    many = steady(with_states(cached(), ()), 3)
    (loop,) = (node for node in many.body if isinstance(node, Loop))
    names = [node.name for node in loop.body]
    for layer in range(2):
        last = max(names.index(op.name) for op in ops(loop.body) if f"present.{layer}.key" in op.inputs[:2])
        assert names[last] == f"past_key_values.{layer}.key.next"
        assert names[last - 1] == f"mix{layer}"


def test_states_that_are_handed_on_are_copied_at_the_end() -> None:
    """A line of delays: each state takes what the one before had, which is read first."""
    builder = ProgramBuilder("delays")
    x, first, second = (builder.input(name, (1, 8)) for name in ("x", "first", "second"))
    total = builder.elementwise("add", "sum", [x, builder.elementwise("add", "both", [first, second])])
    builder.output(total)
    builder.output(x)
    builder.output(first)
    many = steady(with_states(builder.build(), [("second", "first"), ("first", "x")]), 3)
    validate_program(many)
    names = [op.name for op in many.ops()]
    assert names.index("second.next") < names.index("first.next")
    assert names.index("sum") < names.index("second.next")


def test_another_shape_is_refused() -> None:
    with pytest.raises(BadInput, match="its next value 'out'"):
        steady(with_states(recurrent(), [("h", "out")]), 3)


@pytest.mark.parametrize("name", ["recurrent", "cached"])
def test_unrolled_inferences_read_what_the_one_before_made(name: str) -> None:
    program = recurrent() if name == "recurrent" else cached()
    many = steady(with_states(program, [("h", "h1")] if name == "recurrent" else ()), 3)
    apart = unrolled(many)
    validate_program(apart)
    state = "h" if name == "recurrent" else "past_key_values.0.key"
    makers = {tensor: op.name for op in apart.ops() for tensor in op.outputs}
    for number in (1, 2, 3):
        readers = [op.name for op in apart.ops() if f"{state}@{number}" in op.inputs]
        # The op that writes it where it stays is of the inference before, and so are readers after that.
        assert any(reader.endswith(f"@{number}") for reader in readers)
        assert all(reader.endswith((f"@{number}", f"@{number - 1}")) for reader in readers)
        before = makers[f"{state}@{number}"]
        assert before.endswith(f"@{number - 1}") if number > 1 else before == f"{state}.begin"


@pytest.mark.parametrize("streamer", ["sync", "prefetch-greedy"])
@pytest.mark.parametrize("name", ["recurrent", "cached"])
def test_plans_with_states_are_correct_and_compute_the_same(name: str, streamer: str) -> None:
    program = recurrent() if name == "recurrent" else cached()
    many = reuse(steady(with_states(program, [("h", "h1")] if name == "recurrent" else ()), 4), "all")
    chip = load_chip("gap9-psram", ["shared_memory.bytes=4KiB"])
    result = run(PlanRequest(many, chip, streamer=streamer))
    assert result.fits
    assert result.bound.cycles <= result.trace.cycles
    plan = plan_of(result, "gap9-psram", ())
    assert verify_file(many, plan, chip) == ()
    verdicts = check_paths(PlanRun(many, (plan.commands,), chip.shared_memory.bytes), {})
    assert [verdict.faults for verdict in verdicts] == [()] * len(verdicts)
