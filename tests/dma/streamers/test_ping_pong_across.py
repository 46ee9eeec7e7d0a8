"""``ping-pong-across``: weights kept for a loop, and waits after a branch that may skip it."""

from collections.abc import Sequence
from fractions import Fraction
from random import Random

from hypothesis import given, settings, strategies as st

from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import Branch, Command, Compute, DmaStart, DmaWait, Repeat
from chipmodel.model.nesting import waits_after
from chipmodel.model.program import Program
from chipmodel.passes.liveness import scopes
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.verify.commands import verify
from dma.schedule.path_forecast import ScheduleForecast
from tests.fuzz.random_trees import random_paths
from tests.support.chips import LUNA_LIKE
from tests.support.random_programs import TreeShape, random_program
from tests.support.stepper import step_through
from workloads.build.builder import ProgramBuilder
from workloads.build.shapes import Value

NAME = "ping-pong-across"
SLOW = 6000
"""Cycles of an op that hides any load of these tests."""


def words(commands: tuple[Command, ...]) -> list[str]:
    result: list[str] = []
    for command in commands:
        match command:
            case DmaStart() if command.at.part.weights:
                result.append(f"start {command.at.part.name}")
            case DmaWait() if "weights" in command.name:
                result.append(f"wait {command.name.removeprefix('load weights of ')}")
            case Compute():
                result.append(command.op)
            case Branch():
                for arm in command.arms:
                    result += [f"({arm.name}", *words(arm.body), ")"]
            case Repeat():
                result += ["[", *words(command.body), "]"]
            case _:
                pass
    return result


def planned(program: Program, chip: Chip = LUNA_LIKE) -> Planned:
    made = plan(PlanRequest(program, chip, "large-first", NAME))
    assert verify(program, made.commands, chip) == ()
    return made


def dense(builder: ProgramBuilder, name: str, x: Value, output: str | None = None) -> Value:
    made = builder.dense(name, x, 64, outputs=[output] if output else None)
    builder.override(cycles=SLOW)
    return made


def loop(iterations: int, chances: Sequence[tuple[int, Fraction]] = (), layers: str = "abc") -> Program:
    """``before``, a loop of three layers of 4 KiB, and ``after``."""
    builder = ProgramBuilder("loop")
    x = dense(builder, "before", builder.input("x", (1, 64)))
    state = builder.elementwise("copy", "first", [x], outputs=["state"])
    with builder.block() as body:
        y = state
        for name in layers:
            y = dense(builder, name, y)
        builder.elementwise("copy", "next", [y], outputs=["state"])
    builder.add_loop("loop", iterations, body, ["state"], chances)
    builder.output(dense(builder, "after", state))
    return builder.build()


def test_weights_of_a_loop_stay_where_they_fit() -> None:
    made = planned(loop(5))
    assert words(made.commands) == [
        *("start before", "wait before", "start a", "start b", "start c", "before", "first"),
        *("[", "wait a", "a", "wait b", "b", "wait c", "c", "next", "]"),
        *("wait a", "wait b", "wait c", "start after", "wait after", "after"),
    ]
    twice = ping_pong_cycles(loop(5), 5) - simulate(made.commands, LUNA_LIKE).cycles
    assert twice > 0


def ping_pong_cycles(program: Program, iterations: int) -> int:
    made = plan(PlanRequest(program, LUNA_LIKE, "large-first", "ping-pong"))
    return simulate(made.commands, LUNA_LIKE, {"loop": str(iterations)}).cycles


def arm_with_loop() -> Program:
    """``before``, and a loop in an arm of an ``if``, whose weights are loaded before the ``if``."""
    builder = ProgramBuilder("arm")
    x = dense(builder, "before", builder.input("x", (1, 64)))
    state = builder.elementwise("copy", "first", [x], outputs=["state"])
    with builder.block() as inner:
        builder.elementwise("copy", "next", [dense(builder, "a", state)], outputs=["state"])
    with builder.block() as body:
        builder.add_loop("loop", 5, inner, ["state"])
    builder.add_if("gate", [("go", body), ("skip", [])], None, {"go": Fraction(9, 10)})
    builder.output(builder.elementwise("relu", "end", [state]))
    return builder.build()


def test_weights_of_a_loop_that_may_be_skipped_are_waited_for_after_the_if() -> None:
    made = planned(arm_with_loop())
    assert words(made.commands) == [
        *("start before", "wait before", "start a", "before", "first"),
        *("(go", "[", "wait a", "a", "next", "]", ")", "(skip", ")", "wait a", "end"),
    ]
    trace = simulate(made.commands, LUNA_LIKE, {"gate": "skip"})
    assert trace == step_through(made.commands, LUNA_LIKE, {"gate": "skip"})


def test_a_plan_without_the_wait_after_the_if_is_refused() -> None:
    program = arm_with_loop()
    commands = planned(program).commands
    place = next(i for i, c in enumerate(commands) if isinstance(c, Branch))
    assert isinstance(commands[place + 1], DmaWait)
    assert verify(program, (*commands[: place + 1], *commands[place + 2 :]), LUNA_LIKE)


def cases(seed: int) -> Program:
    return random_program(seed, TreeShape(ops=4, depth=1 + seed % 3, side=4, channels=8))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["sync", "ping-pong", NAME]))
def test_the_forecast_along_a_path_is_what_it_takes(seed: int, streamer: str) -> None:
    program = cases(seed)
    made = plan(PlanRequest(program, LUNA_LIKE, "large-first", streamer))
    for path in random_paths(program, made, Random(seed)):
        forecast = ScheduleForecast(program, LUNA_LIKE, path).cycles(made.schedule)
        assert forecast == simulate(made.commands, LUNA_LIKE, path).cycles


def test_without_a_path_the_forecast_is_that_of_the_likeliest_one() -> None:
    made = planned(arm_with_loop())
    forecasts = [
        ScheduleForecast(arm_with_loop(), LUNA_LIKE, path).cycles(made.schedule)
        for path in (None, {"gate": "go"}, {"gate": "skip"})
    ]
    assert forecasts[0] == forecasts[1] > forecasts[2]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 30))
def test_no_wait_after_a_fork_for_what_all_paths_waited_for(seed: int) -> None:
    """``waits_after`` names a fork exactly where ``due`` is in it and ``issue`` is not, or a loop that the
    transfer is carried around."""
    schedule = plan(PlanRequest(cases(seed), LUNA_LIKE, "large-first", NAME)).schedule
    root = scopes(schedule.body).section
    run_of = scopes(schedule.body).region
    for transfer in schedule.transfers:
        if run_of[transfer.issue] == run_of[transfer.due]:
            assert transfer.issue <= transfer.due
            assert waits_after(root, transfer.issue, transfer.due) is None
