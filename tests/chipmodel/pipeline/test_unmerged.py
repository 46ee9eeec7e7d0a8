import pytest

from chipmodel.answers.result import Result
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.pipeline.unmerged import with_unmerged
from chipmodel.verify.offsets import check
from workloads.load import load


def planned(workload: str, merge: str = "conflict", *overrides: str) -> Result:
    chip = load_chip("stm32n6", overrides)
    return run(PlanRequest(load(workload), chip, "large-first", "ping-pong", merge))


@pytest.mark.parametrize("merge", ["conflict", "unified-block"])
def test_it_is_the_plan_that_merge_none_makes_of_the_same_buffers(merge: str) -> None:
    result = with_unmerged(planned("zoo:fusiondetect", merge), "large-first")
    assert result.unmerged is not None
    assert check(result.problem, result.unmerged.plan) == ()
    assert result.unmerged.peak == planned("zoo:fusiondetect", "none").solved.peak
    assert result.unmerged.peak > result.solved.peak


def test_where_nothing_was_merged_there_is_nothing_to_show() -> None:
    for result in (
        planned("zoo:resnet8"),
        planned("zoo:branchynet", "none"),
    ):
        assert with_unmerged(result, "large-first") is result


def test_each_core_has_its_own() -> None:
    result = with_unmerged(planned("zoo:fusiondetect", "conflict", "cores=2"), "large-first")
    assert result.unmerged is None
    busy, idle = result.cores
    assert busy.unmerged is not None
    assert check(busy.problem, busy.unmerged.plan) == ()
    assert busy.unmerged.peak > busy.solved.peak
    assert result.on_core(0).unmerged == busy.unmerged
    assert idle.unmerged is None  # No if runs there.


def test_a_packer_that_cannot_is_no_error() -> None:
    result = planned("zoo:branchynet")
    assert with_unmerged(result, "no such packer") is result
