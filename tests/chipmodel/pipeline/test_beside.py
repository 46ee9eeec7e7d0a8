"""Runs beside the plan: without merging, and with the schedule of the board's own tool."""

import pytest

from chipmodel.answers.result import Result
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.pipeline.unmerged import with_unmerged
from chipmodel.pipeline.vendor import with_vendor
from chipmodel.rewrites.in_place import reuse
from tests.support.plain_check import check
from workloads.load import load


def planned(workload: str, merge: str = "conflict", *overrides: str) -> Result:
    chip = load_chip("stm32n6", overrides)
    return run(PlanRequest(load(workload), chip, "large-first", "ping-pong", merge))


@pytest.mark.slow
@pytest.mark.parametrize("merge", ["conflict", "unified-block"])
def test_it_is_the_plan_that_merge_none_makes_of_the_same_buffers(merge: str) -> None:
    result = with_unmerged(planned("zoo:fusiondetect", merge), "large-first")
    assert result.unmerged is not None
    assert check(result.problem, result.unmerged.plan) == ()
    assert result.unmerged.peak == planned("zoo:fusiondetect", "none").solved.peak
    assert result.unmerged.peak > result.solved.peak


def test_where_nothing_was_merged_there_is_nothing_to_show() -> None:
    cores = planned("zoo:fusiondetect", "conflict", "cores=2")
    for result in (planned("zoo:resnet8"), planned("zoo:branchynet", "none"), cores):
        assert with_unmerged(result, "large-first") is result


def test_a_packer_that_cannot_is_no_error() -> None:
    result = planned("zoo:branchynet")
    assert with_unmerged(result, "no such packer") is result


def asked(workload: str, streamer: str = "ping-pong", chip: str = "stm32n6", *settings: str) -> PlanRequest:
    program = reuse(load(workload), "all")
    return PlanRequest(program, load_chip(chip, settings), "large-first", streamer)


def answered(request: PlanRequest, path: dict[str, str] | None = None) -> Result:
    return with_vendor(run(request, path), request)


def test_it_is_the_run_by_streamer_vendor() -> None:
    result = answered(asked("zoo:resnet8"))
    alone = run(asked("zoo:resnet8", "vendor"))
    assert result.vendor is not None
    assert result.vendor.schedule == alone.schedule
    assert result.vendor.trace == alone.trace
    assert result.vendor.schedule.streamer == "sync"
    assert result.vendor.trace.cycles > result.trace.cycles


def test_it_takes_the_path_of_the_run() -> None:
    result = answered(asked("zoo:branchynet"), {"exit1": "continue", "exit2": "continue"})
    assert result.vendor is not None
    assert result.vendor.trace.path == result.trace.path == {"exit1": "continue", "exit2": "continue"}


@pytest.mark.parametrize(
    "request_",
    [
        asked("zoo:resnet8", "vendor"),
        asked("zoo:resnet8", "ping-pong", "luna-arcs"),
        asked("zoo:resnet8", "ping-pong", "imx93-lpddr4"),
        asked("zoo:resnet8", "ping-pong", "corstone-320"),
    ],
    ids=[
        "the tool's own plan",
        "a chip that says nothing of its tool",
        "a memory that no board was measured with",
        "a chip without a board",
    ],
)
def test_there_is_nothing_to_compare_with(request_: PlanRequest) -> None:
    result = run(request_)
    assert with_vendor(result, request_) is result


def test_on_several_cores() -> None:
    result = answered(asked("zoo:resnet8", "ping-pong", "stm32n6", "cores=2"))
    assert result.vendor is not None
    assert len(result.vendor.cores) == 2
