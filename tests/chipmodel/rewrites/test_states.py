"""States that run from an output to an input, in one inference and in a steady state."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from chipmodel.bounds.time_bound import time_bound
from chipmodel.errors import BadInput
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.attributes import AlongAxis, AxisOrder, SliceRanges
from chipmodel.model.program import Loop, Program
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.plan_check import check_plan
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.states import parse_state_option, with_states
from chipmodel.rewrites.steady_state import kept_bytes, steady, unrolled
from chipmodel.rewrites.true_parts import with_true_parts
from chipmodel.timing.transfer import least_cost_anywhere
from workloads.build.builder import ProgramBuilder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def cached(layers: int = 2, past_keys: int = 7, *, squashed: bool = False) -> Program:
    """Attention over caches of ``past_keys`` that grow by one; other ops than products read ``squashed``
    ones, before and after they grow."""
    builder = ProgramBuilder("decoder")
    x: Value = builder.input("x", (1, 8))
    for layer in range(layers):
        past = builder.input(f"past_key_values.{layer}.key", (past_keys, 8))
        names, shape = [f"present.{layer}.key"], (past_keys + 1, 8)
        along = AlongAxis(0, past_keys + 1)
        present = builder.vector("concat", f"grow{layer}", [past, x], shape, outputs=names, attributes=along)
        seen = builder.elementwise("tanh", f"squash{layer}", [present]) if squashed else present
        scores = builder.matmul(f"scores{layer}", x, seen, transpose_right=True)
        x = builder.matmul(f"mix{layer}", builder.vector("softmax", f"soft{layer}", [scores]), seen)
        if squashed:
            builder.elementwise("tanh", f"past{layer}", [past])
        builder.output(present)
    builder.output(builder.dense("head", x, 8))
    return builder.build()


def headed() -> Program:
    """Attention of two heads over caches as exporters have them, one of which is transposed: [1, heads,
    tokens, size]."""
    builder = ProgramBuilder("heads")
    x = builder.input("x", (1, 2, 1, 8))
    found: list[Value] = []
    for kind in ("key", "value"):
        past = builder.input(f"past_key_values.0.{kind}", (1, 2, 7, 8))
        names, along = [f"present.0.{kind}"], AlongAxis(2, 8)
        shape = (1, 2, 8, 8)
        found.append(builder.vector("concat", kind, [past, x], shape, outputs=names, attributes=along))
        builder.output(found[-1])
    turned = builder.vector(
        "transpose", "turned", found[:1], (1, 2, 8, 8), attributes=AxisOrder((0, 1, 3, 2))
    )
    shares = builder.vector("softmax", "shares", [builder.matmul("scores", x, turned)])
    builder.output(builder.matmul("mix", shares, found[1]))
    return with_true_parts(builder.build())


def updated(form: str, late: bool = False) -> Program:
    """A product over a cache of 16 rows, two of which are new; something else reads what was there before,
    ``late`` after the update."""
    builder = ProgramBuilder(form)
    new, q, cache = builder.input("new", (2, 8)), builder.input("q", (1, 8)), builder.input("cache", (16, 8))
    rows, grown = (14, 8), (18, 8)
    after, whole = SliceRanges((2, 0), (1, 1)), (16, 8)

    def old() -> None:
        builder.output(builder.matmul("old", q, cache, transpose_right=True))

    if not late and form != "grown then cut and read":
        old()
    match form:
        case "scatter":
            kept = builder.vector("scatternd", "update", [cache, new], whole)
        case "where":
            kept = builder.elementwise("where", "update", [cache, builder.dense("wide", cache, 8)])
        case "cut then grown":
            rest = builder.vector("slice", "rest", [cache], rows, attributes=after)
            kept = builder.vector("concat", "update", [rest, new], whole, attributes=AlongAxis(0, 16))
        case _:
            longer = builder.vector("concat", "longer", [cache, new], grown, attributes=AlongAxis(0, 18))
            kept = builder.vector("slice", "update", [longer], whole, attributes=after)
            if form.endswith("read"):
                builder.output(builder.elementwise("tanh", "read", [longer]))
    if late:
        old()
    builder.output(kept)
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


UPDATES = {
    "scatter": "collect",
    "where": "where",
    "cut then grown": "shift",
    "grown then cut": "shift",
    "grown then cut and read": "shift",
}
STATES: Mapping[str, Callable[[], Program]] = {
    "recurrent": recurrent,
    "ring": cached,
    "heads": headed,
    "copied": partial(cached, squashed=True),
    "long rings": partial(cached, 3, 46),
    **{form: partial(updated, form) for form in UPDATES},
    **{f"{form}, read late": partial(updated, form, late=True) for form in UPDATES},
}


def carrying(name: str, inferences: int) -> Program:
    """One of ``STATES`` that many times in a row."""
    pairs = [
        (first, last) for first, last in (("h", "h1"), ("cache", "update")) if first in STATES[name]().inputs
    ]
    return steady(with_states(STATES[name](), pairs), inferences)


def test_what_is_new_in_a_cache_takes_the_place_of_the_oldest() -> None:
    many = carrying("ring", 3)
    validate_program(many)
    written = [op for op in many.ops() if "past_key_values.1.key" in op.outputs]
    assert [(op.kind, op.slices) for op in written] == [("fill", 1), ("collect", 8)]
    assert many.tensors["past_key_values.1.key"].bytes == 64
    assert not [op for op in many.ops() if op.name.endswith(".next")]
    assert many.outputs == ("head",)


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


@pytest.mark.parametrize("name", ["recurrent", "copied"])
def test_unrolled_inferences_read_what_the_one_before_made(name: str) -> None:
    apart = unrolled(carrying(name, 3))
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


def test_unrolled_inferences_share_the_bytes_of_a_ring_that_none_replaces() -> None:
    """A hundred inferences replace as many of 512 keys of 8 B in each layer, and read the others. Beside 96 B
    of weights 3,000 B have no room for all of them, so each further inference loads some again."""
    apart = unrolled(steady(with_states(cached(past_keys=511), ()), 100))
    validate_program(apart)
    kept = "past_key_values.0.key@kept"
    users = [op.name for op in apart.ops() if kept in (*op.inputs, *op.outputs)]
    read = [f"{op}@{number + 1}" for number in range(100) for op in ("scores0", "mix0")]
    assert users == ["past_key_values.0.key.begin", *read]
    assert kept_bytes(apart) == 2 * 412 * 8
    assert kept_bytes(unrolled(carrying("ring", 9))) == 0
    chip = load_chip("gap9-psram").with_memory(3000)
    (binding,) = time_bound(apart, chip, {}, True, 100).bindings
    assert binding.unit == "dma"
    again = 99 * (96 + 2 * 412 * 8 - 3000)
    assert binding.cycles == pytest.approx(again * least_cost_anywhere(chip, "load")[1], rel=0.01)


@pytest.mark.parametrize(("form", "kind"), UPDATES.items())
def test_an_update_is_written_where_the_cache_lies_unless_it_is_read_later(form: str, kind: str) -> None:
    for late, made in ((False, kind), (True, "copy")):
        many = carrying(f"{form}, read late" if late else form, 4)
        validate_program(many)
        validate_program(unrolled(many))
        writing = [op for op in many.ops() if "cache" in op.outputs]
        assert [op.kind for op in writing] == ["fill", made]
        assert [op.slices for op in writing if op.collects] == [8] * (made == "collect")


EVERY = ("sync", "prefetch-greedy", "resident-knapsack")
PLANNED = (
    ("recurrent", 4, 4096, EVERY),
    ("copied", 4, 4096, EVERY),
    ("ring", 4, 4096, EVERY),
    ("ring", 11, 192, EVERY),
    ("long rings", 3, 1024, EVERY),
    ("heads", 4, 4096, EVERY),
    ("heads", 11, 160, EVERY),
    *((form, 4, 256, ("prefetch-greedy",)) for form in UPDATES),
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "inferences", "memory", "streamer"),
    [(*row, streamer) for *row, streamers in PLANNED for streamer in streamers],
)
def test_plans_with_states_are_correct_and_compute_the_same(
    name: str, inferences: int, memory: int, streamer: str
) -> None:
    """A ring of eight keys also where it turns more than once, and where keys lie in Psram."""
    many = carrying(name, inferences)
    chip = load_chip("gap9-psram").with_memory(memory)
    result = run(PlanRequest(reuse(many, "all"), chip, streamer=streamer))
    assert result.fits
    assert memory == 4096 or result.schedule.moves_tensors
    assert result.bound.cycles <= result.trace.cycles
    plan = plan_of(result, "gap9-psram", ())
    program, faults = check_plan(many, plan, chip)
    assert faults == ()
    verdicts = check_paths(PlanRun(program, (plan.commands,), chip.shared_memory.bytes), {})
    assert [verdict.faults for verdict in verdicts] == [()] * len(verdicts)
