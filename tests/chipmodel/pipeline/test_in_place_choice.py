"""Outputs that take an input's memory: no kind makes a plan worse."""

from random import Random

import pytest

from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline.in_place_choice import plan_with_chosen_places
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.weight_choice import judged_plan
from chipmodel.rewrites.in_place import CHOICES, InPlace, reuse
from workloads.build.builder import ProgramBuilder
from workloads.load import load

SIDE = 8


def images(seed: int) -> Program:
    """Random ReLUs, sums, convolutions and concats of images, of which several ops read the inputs."""
    random = Random(seed)
    builder = ProgramBuilder(f"images {seed}")
    values = [builder.input(f"x{number}", (1, 8, SIDE, SIDE)) for number in range(random.randint(1, 2))]
    for number in range(random.randint(3, 7)):
        name, x = f"op{number}", random.choice(values[-4:] if number else values)
        match random.randrange(5 if number else 2):
            case 0:
                made = builder.elementwise("relu", name, [x])
            case 1:
                alike = [each for each in values if each.shape == x.shape]
                made = builder.elementwise("add", name, [x, random.choice(alike)])
            case 2:
                made = builder.conv(name, x, 8, 3, pad=1)
            case _:
                parts = random.sample(values, min(len(values), random.randint(2, 4)))
                channels = sum(each.shape[1] for each in parts)
                made = builder.vector("concat", name, parts, (1, channels, SIDE, SIDE), rows=SIDE)
        values.append(made)
    builder.output(builder.conv("last", values[-1], 8, 1))
    return builder.build()


def cost(program: Program, chip: Chip, kind: InPlace, streamer: str = "sync") -> tuple[bool, int, int]:
    """Whether the plan does not fit, its cycles and its peak."""
    by_rows = kind in ("all", "rows")
    made = plan(PlanRequest(reuse(program, kind), chip, streamer=streamer, rows_in_place=by_rows))
    return not made.fit(chip).fits, simulate(made.commands, chip).cycles, made.solved.peak


@pytest.mark.parametrize(
    ("chip", "seed", "share", "streamer"),
    [
        ("stm32n6", 13, 1, "sync"),
        ("luna-arcs", 42, 1, "sync"),
        ("stm32n6", 42, 2, "sync"),
        ("luna-arcs", 1, 2, "prefetch-greedy"),
    ],
)
def test_no_kind_makes_the_whole_worse(chip: str, seed: int, share: int, streamer: str) -> None:
    program, whole = images(seed), load_chip(chip)
    small = whole.with_memory(cost(program, whole, "all")[-1] // share)
    costs = {kind: cost(program, small, kind, streamer)[:2] for kind in CHOICES[:4]}
    assert costs["all"] == min(costs.values())


def test_a_bound_holds_for_plans_with_all_that_may_be_in_place() -> None:
    """The plan is the one without the ReLU in the input's memory; its program still allows that."""
    program, chip = reuse(images(42), "all"), load_chip("stm32n6")
    _, cycles, _ = cost(images(42), chip, "concat")
    for streamer in ("sync", "exact"):
        made = plan(PlanRequest(program, chip, streamer=streamer))
        assert made.program == program
        assert simulate(made.commands, chip).cycles <= cycles


def test_what_is_not_in_dispute_is_planned_once() -> None:
    asked: list[Program] = []

    def make(request: PlanRequest) -> Planned:
        asked.append(request.program)
        return plan(request)

    request = PlanRequest(reuse(load("zoo:ds_cnn"), "all"), load_chip("luna-arcs"), streamer="sync")
    plan_with_chosen_places(request, make, lambda asked, made: judged_plan(asked, made, {}))
    assert asked == [request.program]
