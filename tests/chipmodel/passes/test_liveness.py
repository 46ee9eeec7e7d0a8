"""Liveness: Eq. (1) of Wang et al. 2025 on straight-line code, lifetimes on trees by hand, and problems."""

from dataclasses import replace

from chipmodel.geometry.interval import Interval
from chipmodel.model.schedule import (
    BufferSpec,
    Operand,
    Part,
    Schedule,
    Step,
    StepArm,
    StepIf,
    StepLoop,
    StepNode,
    Transfer,
    branches,
    steps,
)
from chipmodel.passes.liveness import Touch, lifetime, liveness, scopes, touches_of
from dma.stream import stream
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.build.builder import ProgramBuilder

ONE = Interval(0, 1)


def step(position: int, reads: str = "", writes: str = "") -> Step:
    def operands(names: str) -> tuple[Operand, ...]:
        return tuple(Operand(Part(n), n) for n in names.split())

    return Step(position, f"op{position}", ONE, ONE, 1, operands(reads), operands(writes), "")


TREE: tuple[StepNode, ...] = (
    step(0),
    StepIf("if", (StepArm("a", (step(1), StepLoop("inner", 2, (step(2), step(3))))), StepArm("b", ()))),
    step(4),
    StepLoop("outer", 2, (step(5), StepLoop("deep", 2, (step(6),)), step(7))),
    step(8),
)


def test_scopes_by_hand() -> None:
    control = scopes(TREE)
    assert control.loops == (Interval(2, 4), Interval(6, 7), Interval(5, 8))
    assert control.top == (True, False, False, False, True, False, False, False, True)
    regions = control.region
    assert regions[2] == regions[3]
    assert len({regions[p] for p in (0, 1, 2, 4, 5, 6, 7, 8)}) == 8


def test_positions_after_an_if_or_loop_are_a_new_region() -> None:
    arms = (StepArm("a", (step(0),)), StepArm("b", (step(1),)))
    for node in (StepIf("if", arms), StepLoop("loop", 2, (step(0), step(1)))):
        control = scopes((node, step(2)))
        assert control.region[2] not in control.region[:2]


def test_values_of_one_buffer_have_lifetimes_of_their_own() -> None:
    """Two inputs of a concat written into its output: the second write does not end the first value."""
    control = scopes(tuple(step(p) for p in range(6)))
    touches = [Touch(0, True, "a"), Touch(2, True, "b"), Touch(4, False, "a"), Touch(4, False, "b")]
    assert lifetime(touches, control) == (Interval(0, 5),)
    alone = [Touch(0, True), Touch(2, True), Touch(4, False)]
    assert lifetime(alone, control) == (Interval(0, 1), Interval(2, 5))


def test_a_value_that_no_access_writes_is_kept_from_the_start() -> None:
    control = scopes(tuple(step(p) for p in range(6)))
    assert lifetime([Touch(2, True, "a"), Touch(4, False, "b")], control) == (Interval(0, 5),)


def schedule() -> Schedule:
    gate = StepIf("gate", (StepArm("a", ()), StepArm("b", (step(1, "x"),))), Operand(Part("x"), "x"))
    names = ("x", "y", "w", "idle")
    return Schedule(
        body=(step(0, "", "x y"), gate, step(2, "y w", "x")),
        transfers=(
            Transfer("load w", "load", Part("w"), "w", 8, 0, 2),
            Transfer("store x", "store", Part("x"), "x", 8, 2, 2),
        ),
        buffers={n: BufferSpec(n, 8, Interval(1, 3) if n == "idle" else Interval(0, 0)) for n in names},
        streamer="by hand",
    )


def test_every_kind_of_access_is_listed_writes_first() -> None:
    touched = touches_of(schedule())
    assert touched["w"] == [Touch(2, True, "w"), Touch(2, False, "w")]
    assert touched["y"] == [Touch(0, True, "y"), Touch(2, False, "y")]
    assert touched["idle"] == []
    assert touched["x"] == [
        Touch(1, False, "x", "gate"),
        Touch(0, True, "x"),
        Touch(1, False, "x"),
        Touch(2, True, "x"),
        Touch(2, False, "x"),
    ]


def test_the_parts_of_an_op_write_one_value() -> None:
    """Only the first part ends the old value; an iteration's value is not carried to the next."""
    parts = tuple(replace(step(p, writes="x"), op="tiled") for p in (1, 2, 3))
    body = (step(0), StepLoop("loop", 2, (*parts, step(4, "x"))), step(5))
    made = Schedule(body, (), {"x": BufferSpec("x", 8)}, "by hand")
    assert touches_of(made)["x"] == [Touch(p, p == 1, "x") for p in (1, 2, 3, 4)]
    assert liveness(made, LUNA_LIKE).buffers[0].live == (Interval(1, 5),)


def test_a_condition_has_been_read_by_the_first_step_of_any_arm() -> None:
    def gate(name: str, *bodies: tuple[StepNode, ...]) -> StepIf:
        arms = tuple(StepArm(str(i), body) for i, body in enumerate(bodies))
        return StepIf(name, arms, Operand(Part(name), name))

    nested = gate("in", (step(3),), ())
    body: tuple[StepNode, ...] = (
        step(0),
        gate("out", (), (step(1), StepLoop("loop", 2, (step(2), nested)))),
        gate("empty", (), ()),
        StepIf("outside", (StepArm("a", (step(4),)),)),
    )
    found = [(position, node.name) for position, node in branches(body)]
    assert found == [(1, "out"), (3, "in"), (4, "outside")]


def test_a_problem_has_the_chips_alignment_and_capacity_and_the_order_of_first_use() -> None:
    problem = liveness(schedule(), with_memory(LUNA_LIKE, 4096, 32))
    assert problem.capacity == 4096
    assert {b.alignment for b in problem.buffers} == {32}
    assert [(b.name, b.live) for b in problem.buffers] == [
        ("x", (Interval(0, 3),)),
        ("y", (Interval(0, 3),)),
        ("w", (Interval(0, 3),)),
        ("idle", (Interval(1, 3),)),
    ]


def test_ping_pong_buffers_live_through_their_region_and_no_longer() -> None:
    builder = ProgramBuilder("regions")
    x = builder.input("x", (1, 8))
    x = builder.dense("a", x, 8)
    with builder.block() as body:
        builder.dense("b", x, 8)
        builder.dense("c", x, 8)
    builder.add_loop("loop", 3, body)
    builder.output(builder.dense("d", x, 8))
    schedule = stream(builder.build(), LUNA_LIKE, "ping-pong", 1 << 20)
    problem = liveness(schedule, LUNA_LIKE)
    assert [s.op for s in steps(schedule.body)] == ["a", "b", "c", "d"]
    assert {b.name: b.live for b in problem.buffers if "weights" in b.name} == {
        "a weights": (Interval(0, 1),),
        "ping buffer of b weights": (Interval(1, 3),),
        "pong buffer of c weights": (Interval(1, 3),),
        "d weights": (Interval(3, 4),),
    }
    # A tensor from outside that the loop reads lives through all of it.
    assert next(b.live for b in problem.buffers if b.name == "a") == (Interval(0, 4),)
