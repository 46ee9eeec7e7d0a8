"""Steps, their operands and what they need from Psram; plans that once were wrong."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import Part, StepIf, steps
from chipmodel.passes.validate import validate_program
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.commands import verify
from dma.residency.greedy import Residency, Segment, decide
from dma.residency.tiling import Tiling, whole_tiling
from dma.schedule.operands import Emission, TransferNeed
from dma.schedule.steps import emit
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder


def emitted(program: Program, residency: Residency, **tilings: Tiling) -> Emission:
    cut = {op.name: tilings.get(op.name) or whole_tiling(op, op.work.channels) for op in ops(program.body)}
    return emit(program, LUNA_LIKE, residency, cut)


def roomy(program: Program) -> Residency:
    return decide(program, 1 << 30, lambda op: 0)


def homeless(program: Program, *striped: str) -> Residency:
    """Every tensor in Psram, every op (or those named) in stripes."""
    names = frozenset(striped or (op.name for op in ops(program.body)))
    return Residency({}, {n: n for n in program.tensors}, names, (0,) * len(list(ops(program.body))), ())


def test_a_step_for_each_op_and_a_need_for_each_transfer() -> None:
    emission = emitted(small_network("steps two"), roomy(small_network("steps two")))
    first, second = steps(emission.body)
    assert (first.position, first.op, first.label, first.cycles) == (0, "a", "a", 2 * 8 * 4 // 64)
    assert (first.rows, first.channels) == (Interval(0, 1), Interval(0, 4))
    assert [(o.part, o.buffer) for o in first.reads] == [
        (Part("x"), "x"),
        (Part("a", weights=True), "a.weights.0"),
    ]
    assert [(o.part, o.buffer) for o in second.writes] == [(Part("b"), "b")]
    assert emission.needs == [
        TransferNeed("load", "weights", Part("a", weights=True), 32, "a.weights.0", 0, 0, "a", "weights"),
        TransferNeed("load", "weights", Part("b", weights=True), 24, "b.weights.1", 1, 1, "b", "weights"),
        TransferNeed("load", "tensor", Part("x"), 8, "x", 0, 0, "a", "x"),
        TransferNeed("store", "tensor", Part("b"), 6, "b", 1, 1, "b", "b"),
    ]
    assert emission.op_steps == {"a": (0, 0), "b": (1, 1)}
    assert {n: (b.bytes, b.kind) for n, b in emission.buffers.items()} == {
        "x": (8, "tensor"),
        "a": (4, "tensor"),
        "b": (6, "tensor"),
    }
    assert emission.straight_chain[0] == emission.straight_chain[1]


def test_weight_slices_follow_one_another_and_tensors_stay_whole() -> None:
    emission = emitted(small_network("steps two"), roomy(small_network("steps two")), b=Tiling(1, 4))
    assert [s.label for s in steps(emission.body)] == ["a", "b [1/2]", "b [2/2]"]
    assert emission.op_steps["b"] == (1, 2)
    slices = [n for n in emission.needs if n.kind == "weights" and n.op == "b"]
    assert [(n.bytes, n.first, n.last) for n in slices] == [(16, 1, 1), (8, 2, 2)]
    assert slices[0].part.share == Share(Interval(0, 1), 1, Interval(0, 4), 6)
    store = next(n for n in emission.needs if n.direction == "store")
    assert (store.first, store.last, store.part) == (1, 2, Part("b"))
    written = [s.writes[0].part.share.channels for s in steps(emission.body)][1:]
    assert written == [Interval(0, 4), Interval(4, 6)]


IMAGE = small_network("image")


def test_stripes_alternate_in_their_buffers_and_weights_are_loaded_once() -> None:
    emission = emitted(IMAGE, homeless(IMAGE), c=Tiling(2, 2, striped=True, depth=2))
    loads = [n for n in emission.needs if n.direction == "load" and n.kind == "stripe"]
    # Rows 0-2, 1-4 and 3-5 of 4 bytes, for output rows 0-1, 2-3, 4-5.
    assert [(n.part.share.rows, n.bytes, n.buffer) for n in loads] == [
        (Interval(0, 3), 12, "c.in.x.0"),
        (Interval(1, 5), 16, "c.in.x.1"),
        (Interval(3, 6), 12, "c.in.x.0"),
    ]
    stores = [n for n in emission.needs if n.direction == "store"]
    assert [(n.bytes, n.buffer, n.first) for n in stores] == [
        (16, "c.out.c.0", 0),
        (16, "c.out.c.1", 1),
        (16, "c.out.c.0", 2),
    ]
    (weights,) = [n for n in emission.needs if n.kind == "weights"]
    assert (weights.bytes, weights.first, weights.last) == (18, 0, 2)
    assert {n: (b.bytes, b.kind) for n, b in emission.buffers.items()} == {
        "c.in.x.0": (12, "stripe"),
        "c.in.x.1": (16, "stripe"),
        "c.out.c.0": (16, "stripe"),
        "c.out.c.1": (16, "stripe"),
    }


def test_tiles_of_resident_tensors_touch_the_bytes_of_their_rows() -> None:
    """``x`` is 6 rows of 4 bytes, ``c`` 6 rows of 4 bytes by 2 channels: 24 and 48. The kernel of 3 reads a
    row above and one below: rows 0 to 2, 1 to 4 and 3 to 5 for output rows 0 to 1, 2 to 3 and 4 to 5."""
    emission = emitted(IMAGE, roomy(IMAGE), c=Tiling(2, 2))
    tiles = tuple(steps(emission.body))
    assert [step.reads[0].touched for step in tiles] == [Interval(0, 12), Interval(4, 20), Interval(12, 24)]
    assert [step.writes[0].touched for step in tiles] == [Interval(0, 16), Interval(16, 32), Interval(32, 48)]
    assert [o.buffer for step in tiles for o in (step.reads[0], *step.writes)] == ["x", "c"] * 3
    (whole,) = steps(emitted(IMAGE, roomy(IMAGE)).body)
    assert (whole.reads[0].touched, whole.writes[0].touched) == (None, None)


def joined(read_later: bool) -> Program:
    """``a`` of 16 and ``b`` of 48 bytes, made in their concat ``both``; ``a`` not if it is read later."""
    builder = ProgramBuilder("joined")
    x, y = builder.input("x", (1, 1, 4, 4)), builder.input("y", (1, 3, 4, 4))
    a, b = builder.elementwise("relu", "a", [x]), builder.elementwise("relu", "b", [y])
    both = builder.vector("concat", "both", [a, b], (1, 4, 4, 4), rows=4)
    builder.output(builder.elementwise("relu", "last", [both]))
    if read_later:
        builder.output(builder.elementwise("abs", "again", [a]))
    return reuse(builder.build(), "concat")


def test_a_concat_of_what_lies_in_it_moves_nothing_and_one_of_the_rest_moves_that() -> None:
    none = next(s for s in steps(emitted(joined(False), roomy(joined(False))).body) if s.op == "both")
    assert (none.cycles, none.phases) == (0, ())
    assert [(o.buffer, o.at, o.touched) for o in none.reads] == [
        ("both", 0, Interval(0, 0)),
        ("both", 4, Interval(0, 0)),  # of each row of 4 x 4 bytes, those of the channels after the first
    ]
    assert none.writes[0].touched == Interval(64, 64)
    some = next(s for s in steps(emitted(joined(True), roomy(joined(True))).body) if s.op == "both")
    assert some.cycles == 16 // 8  # the 16 bytes of a at 8 bytes a cycle
    assert [(o.buffer, o.at, o.touched) for o in some.reads] == [
        ("a", 0, None),
        ("both", 4, Interval(0, 0)),  # of each row of 4 x 4 bytes, those of the channels after the first
    ]
    assert some.writes[0].touched == Interval(0, 16)


def test_a_stripe_that_several_slices_read_is_loaded_once() -> None:
    emission = emitted(IMAGE, homeless(IMAGE), c=Tiling(3, 1, striped=True))
    loads = [(n.kind, n.first, n.last) for n in emission.needs if n.direction == "load"]
    assert loads == [
        ("stripe", 0, 1), ("weights", 0, 0), ("weights", 1, 1),
        ("stripe", 2, 3), ("weights", 2, 2), ("weights", 3, 3),
    ]  # fmt: skip
    emission = emitted(IMAGE, homeless(IMAGE), c=Tiling(3, 1, striped=True, channels_outer=True))
    loads = [(n.kind, n.first, n.last) for n in emission.needs if n.direction == "load"]
    assert [kind for kind, _, _ in loads].count("weights") == 2
    assert [kind for kind, _, _ in loads].count("stripe") == 4


def test_each_segment_of_a_tensor_has_its_own_buffer() -> None:
    from chipmodel.passes.liveness import Touch

    program = small_network("stays")
    residency = roomy(program)
    stays = (
        Segment("a", (Touch(0, True), Touch(1, False)), False, (0,)),
        Segment("a", (Touch(2, False), Touch(3, False)), True),
    )
    residency = replace(residency, segments={**residency.segments, "a": stays})
    emission = emitted(program, residency)
    assert {"a#0", "a#1"} < set(emission.buffers)
    needs = {(n.direction, n.buffer): (n.first, n.last) for n in emission.needs if n.part.name == "a"}
    assert needs == {("store", "a#0"): (0, 0), ("load", "a#1"): (2, 3)}
    assert [s.reads[0].buffer for s in steps(emission.body)] == ["x", "a#0", "a#1", "a#1"]


def test_an_input_that_a_loop_reads_too_is_loaded_by_its_first_reader() -> None:
    program = small_network("early")
    emission = emitted(program, roomy(program))
    assert [(n.op, n.first, n.last) for n in emission.needs if n.part == Part("x")] == [("first", 1, 2)]


# -- an op that has one tensor as two operands -------------------------------------------------------


def squared() -> Program:
    return small_network("squared")


def residual() -> Program:
    """A convolution with its own input added, as loaders fuse it: halo rows and plain rows of ``x``."""
    program = small_network("steps residual")
    (op,) = ops(program.body)
    return replace(program, body=(replace(op, inputs=("x", "x")),))


def doubled() -> Program:
    return small_network("doubled")


@pytest.mark.parametrize("make", [squared, residual, doubled])
@pytest.mark.parametrize("streamer", ["sync", "ping-pong"])
@pytest.mark.parametrize("size", [2000, 1500, 1000, 800, 500, 400])
def test_both_operands_are_resident_at_once(make: Callable[[], Program], streamer: str, size: int) -> None:
    program, chip = make(), with_memory(LUNA_LIKE, size, 1)
    planned = plan(PlanRequest(program, chip, "large-first", streamer))
    assert planned.schedule.striped
    assert verify(program, planned.commands, chip) == ()


def test_the_same_part_of_the_same_tensor_is_fetched_once() -> None:
    emission = emitted(doubled(), homeless(doubled()), d=Tiling(1024, 1, striped=True))
    assert [(n.direction, n.bytes) for n in emission.needs] == [
        ("load", 1024), ("store", 1024), ("load", 1024), ("store", 1024),
    ]  # fmt: skip
    assert sorted(emission.buffers) == ["d.in.x.0", "d.out.d.0"]
    for step in steps(emission.body):
        assert step.reads[0] == step.reads[1]


def test_different_parts_of_the_same_tensor_have_buffers_of_their_own() -> None:
    emission = emitted(squared(), homeless(squared()), m=Tiling(16, 16, striped=True))
    assert {n: b.bytes for n, b in emission.buffers.items()} == {
        "m.in.x.0": 16 * 32,
        "m.in1.x.0": 16 * 32,
        "m.out.m.0": 16 * 16,
    }
    for step in steps(emission.body):
        assert len({o.buffer for o in step.reads}) == 2


# -- where a branch finds its condition --------------------------------------------------------------


def rewritten_condition() -> Program:
    """A loop carries ``c``, which decides and whose new value is what the taken arm writes first."""
    builder = ProgramBuilder("rewritten")
    x = builder.input("x", (1, 64))
    z = builder.elementwise("relu", "z", [x])
    c = builder.elementwise("copy", "first", [x], outputs=["c"])
    with builder.block() as body:
        with builder.block() as left:
            builder.elementwise("copy", "next", [z], outputs=["c"])
        builder.add_if("gate", [("left", left), ("right", [])], c)
        builder.conv("wide", builder.reshape(z, (1, 1, 8, 8)), 16, 1)
    builder.add_loop("loop", 3, body, ["c"])
    builder.output(c)
    builder.output(z)
    return builder.build()


@pytest.mark.parametrize("streamer", ["sync", "ping-pong"])
@pytest.mark.parametrize("size", [4096, 1200, 1000, 600, 300, 200, 60])
def test_a_condition_is_not_read_from_the_buffer_of_its_next_value(streamer: str, size: int) -> None:
    program, chip = rewritten_condition(), with_memory(LUNA_LIKE, size, 1)
    validate_program(program)
    planned = plan(PlanRequest(program, chip, "large-first", streamer))
    assert verify(program, planned.commands, chip) == ()


def test_a_resident_condition_is_read_where_it_lies() -> None:
    program = rewritten_condition()
    emission = emitted(program, roomy(program))
    loop = emission.body[-1]
    gate = next(n for n in getattr(loop, "body", ()) if isinstance(n, StepIf))
    assert gate.condition is not None
    assert (gate.condition.part, gate.condition.buffer) == (Part("c"), "c")


# -- memory taken over in place ----------------------------------------------------------------------


def carried_overwritten() -> Program:
    """``r`` takes the memory of what the loop carries, and is copied to it at the iteration's end."""
    return small_network("carried")


def crossed() -> Program:
    """Two carried tensors: ``r`` is still needed when the tensor that it overwrites is written again."""
    return small_network("crossed")


def one_arm_in_place() -> Program:
    """``v`` is ``a`` overwritten in one arm; in the other ``a`` is read after ``v`` was made."""
    builder = ProgramBuilder("arms")
    x = builder.input("x", (1, 64))
    a = builder.elementwise("relu", "a", [x])
    b = builder.elementwise("sigmoid", "b", [x])
    with builder.block() as left:
        builder.elementwise("relu", "left op", [a], in_place=True, outputs=["v"])
    with builder.block() as right:
        v = builder.elementwise("relu", "right op", [b], outputs=["v"])
        builder.output(builder.elementwise("add", "late", [a, v]))
    builder.add_if("gate", [("left", left), ("right", right)])
    builder.output(builder.elementwise("relu", "after", [v]))
    program = builder.build()
    return replace(program, outputs=("after",))


def input_overwritten_in_an_arm() -> Program:
    """No op runs on every path before the first that reads ``x``, so it is fetched for each."""
    builder = ProgramBuilder("input")
    x = builder.input("x", (1, 64))
    with builder.block() as arm:
        builder.elementwise("relu", "a", [x])
    builder.add_if("first", [("arm", arm), ("none", [])])
    with builder.block() as arm:
        y = builder.elementwise("relu", "b", [x], in_place=True)
        builder.output(builder.elementwise("relu", "c", [y]))
    builder.add_if("second", [("arm", arm), ("none", [])])
    return replace(builder.build(), outputs=())


@pytest.mark.parametrize(
    "make", [carried_overwritten, crossed, one_arm_in_place, input_overwritten_in_an_arm]
)
@pytest.mark.parametrize("streamer", ["sync", "ping-pong"])
@pytest.mark.parametrize("size", [4096, 200, 100])
def test_memory_is_taken_over_only_where_nothing_else_needs_it(
    make: Callable[[], Program], streamer: str, size: int
) -> None:
    program, chip = make(), with_memory(LUNA_LIKE, size, 1)
    validate_program(program)
    planned = plan(PlanRequest(program, chip, "large-first", streamer))
    assert planned.solved.peak <= size
    assert verify(program, planned.commands, chip) == ()


def test_a_plain_chain_in_place_still_shares_one_memory() -> None:
    assert roomy(small_network("steps chain")).storage == {"x": "x", "a": "a", "b": "a", "c": "a"}
