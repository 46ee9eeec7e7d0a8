"""Squeeze and excitation in little memory: its ops run twice where that is faster, or the only way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chipmodel.answers.result import Result
from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.model.time_bound import SAME_OPS, WITH_CASCADES
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_check import check_plan
from chipmodel.pipeline.plan_export import plan_of, plan_of_planned
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.pipeline.run import run
from chipmodel.pipeline.smallest_memory import smallest_memory
from chipmodel.pipeline.twice_choice import asked_of, plan_once_or_twice
from chipmodel.pipeline.weight_choice import judged_plan
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.made_twice import made_twice, named_twice
from workloads.build.builder import ProgramBuilder

SQUEEZED = 32 * 32 * 48
"""Bytes of what is squeezed."""


def network(stem: bool = True) -> Program:
    """An inverted residual on 32 x 32 pixels, 8 channels, with 48 inside, squeezed and excited."""
    b = ProgramBuilder("squeezed")
    if stem:
        x = b.conv("stem", b.input("image", (1, 3, 64, 64)), 8, 3, stride=2, pad=1)
    else:
        x = b.input("image", (1, 8, 32, 32))
    y = b.conv("depthwise", b.conv("expand", x, 48, 1), 48, 3, pad=1, groups=48)
    gate = b.conv("reduce", b.pool("squeeze", y, None, kind="average_pool"), 8, 1)
    gate = b.elementwise("sigmoid", "gate", [b.conv("restore", gate, 48, 1)])
    z = b.conv("project", b.elementwise("mul", "excite", [y, gate]), 8, 1)
    b.output(b.elementwise("add", "add", [z, x]))
    return reuse(b.build(), "all")


def request(size: int, **changes: object) -> PlanRequest:
    chip = load_chip("alif-e7").with_memory(size)
    asked = PlanRequest(network(), chip, streamer="prefetch-greedy", cascade="auto")
    return replace(asked, **changes)  # type: ignore[arg-type]


def first_runs(result: Result) -> frozenset[str]:
    return named_twice(op.name for op in result.program.ops())


@pytest.mark.slow
def test_runs_twice_where_the_squeezed_tensor_does_not_fit() -> None:
    asked = request(SQUEEZED // 2)
    result = run(asked)
    assert first_runs(result) == {"expand", "depthwise"}
    assert result.fits
    assert result.bound.space == SAME_OPS[True]
    assert result.bound.cycles <= result.trace.cycles
    assert not {"depthwise", "depthwise@first"} & {each.part.name for each in result.schedule.transfers}
    assert result.trace.cycles < run(replace(asked, cascade="off")).trace.cycles


@pytest.mark.slow
def test_runs_twice_also_where_a_second_core_is_idle() -> None:
    one = request(SQUEEZED // 2)
    two = run(one.with_chip(replace(one.chip, cores=2)))
    assert first_runs(two) == {"expand", "depthwise"}
    assert two.fits
    assert two.trace.cycles == run(one).trace.cycles
    plan_file = plan_of(two, "alif-e7", ())
    assert check_plan(network(), plan_file, two.chip)[1] == ()


def test_runs_once_where_everything_fits() -> None:
    result = run(request(4 * SQUEEZED))
    assert first_runs(result) == set()
    assert result.bound.space == WITH_CASCADES


def test_plans_once_where_a_block_moves_no_tensor_but_the_image() -> None:
    asked = replace(request(4 * SQUEEZED), program=network(stem=False))
    made = list[PlanRequest]()

    def make(each: PlanRequest) -> Planned:
        made.append(each)
        return plan_in_rounds(each)

    planned = plan_once_or_twice(asked, make, lambda each, planned: judged_plan(each, planned, {}))
    assert {"image", "expand"} <= {each.part.name for each in planned.schedule.transfers}
    assert made == [asked]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{"cascade": "off"}, {"streamer": "vendor"}, {"recompute": 1.0}])
def test_runs_once_where_it_must(changes: dict[str, object]) -> None:
    assert first_runs(run(request(SQUEEZED // 2, **changes))) == set()


@pytest.mark.slow
def test_runs_twice_where_no_tensor_may_move() -> None:
    asked = request(SQUEEZED // 2, spill=False)
    assert first_runs(run(asked)) == {"expand", "depthwise"}
    with pytest.raises(DoesNotFit):
        run(replace(asked, recompute=1.0))


@pytest.mark.slow
def test_a_streamer_that_searches_plans_the_ops_that_auto_chose() -> None:
    assert first_runs(run(request(SQUEEZED // 2, streamer="exact:5"))) == {"expand", "depthwise"}


@pytest.mark.slow
def test_check_finds_the_ops_by_their_names() -> None:
    asked = request(SQUEEZED // 2)
    file = plan_of_planned(plan(asked), asked.chip, "alif-e7", ())
    program, faults = check_plan(network(), file, asked.chip)
    assert faults == ()
    assert "depthwise@first" in {op.name for op in program.ops()}


def test_a_limit_holds_for_the_ops_of_the_network() -> None:
    asked = request(SQUEEZED, recompute=2.0)
    twice = made_twice(asked.program, {"depthwise"})
    assert asked_of(asked, twice).recompute == pytest.approx(2 * asked.program.macs / twice.macs)


@pytest.mark.slow
def test_the_smallest_memory_needs_no_squeezed_tensor() -> None:
    answer = smallest_memory(request(SQUEEZED), 0)
    assert answer.with_cascades.made_twice == ("depthwise", "expand")
    assert answer.lower_bound_bytes <= answer.with_cascades.shared_memory_bytes < SQUEEZED // 2
    assert answer.with_cascades.macs > answer.macs
    kept = smallest_memory(request(SQUEEZED, recompute=1.0), 0)
    assert kept.with_cascades.made_twice == ()
    assert kept.with_cascades.shared_memory_bytes >= kept.lower_bound_bytes > SQUEEZED
