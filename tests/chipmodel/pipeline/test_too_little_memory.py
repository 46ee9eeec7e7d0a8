"""A memory that is far too small is refused before planning begins, with a size that is enough."""

from collections.abc import Callable

import pytest

import chipmodel
from chipmodel.errors import MORE_MEMORY, DoesNotFit, TooManyParts
from chipmodel.model.program import Program
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.too_little_memory import fitted_or_refused
from dma.schedule.build import MAX_PARTS
from dma.schedule.least_pieces import least_parts
from solvers.core.deadline import Deadline
from tests.support.work import calls


@pytest.mark.slow
@pytest.mark.parametrize(("network", "size", "enough"), [("resnet18", 1024, 14848), ("resnet8", 512, 640)])
@pytest.mark.parametrize("streamer", ["auto", "sync"])
def test_the_message_has_a_size_that_is_enough(
    network: str, size: int, enough: int, streamer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ResNet-18 in 1 KiB named an op that "needs 922,112 B", after 45 seconds."""

    def plan(asked: PlanRequest) -> None:
        pytest.fail(f"{asked.program.name} is planned")

    monkeypatch.setattr("chipmodel.pipeline.plan.plan_as_cut", plan)
    chip = chipmodel.chip("stm32n6", shared_memory__bytes=size)
    with pytest.raises(
        TooManyParts, match=f"{size:,} B .* more than 30,000 parts.*; {enough:,} B are enough"
    ):
        chipmodel.simulate(f"zoo:{network}", chip, streamer=streamer)


@pytest.mark.slow
def test_a_size_that_is_enough_has_a_plan() -> None:
    with pytest.raises(DoesNotFit, match="2,432 B are enough"):
        chipmodel.simulate("zoo:mobilenetv1_025", chipmodel.chip("alif-e7", shared_memory__bytes=256))
    chip = chipmodel.chip("alif-e7", shared_memory__bytes=2432)
    assert chipmodel.plan("zoo:mobilenetv1_025", chip, streamer="sync", cascade="off").fits


@pytest.mark.slow
def test_the_message_has_a_size_that_nothing_can_fit() -> None:
    """More parts are proven in 1,493 B, and no longer in 1,494."""
    program = chipmodel.load("zoo:resnet18")
    with pytest.raises(TooManyParts, match="as in any memory of less than 1,494 B"):
        chipmodel.simulate(program, chipmodel.chip("stm32n6", shared_memory__bytes=1024))
    assert least_parts(program, 1493) > MAX_PARTS >= least_parts(program, 1494)


@pytest.mark.slow
@pytest.mark.parametrize("call", [chipmodel.simulate, chipmodel.plan])
def test_planning_that_finds_nothing_says_what_is_enough(
    call: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """MobileNetV2 in 8,640 B was refused after 12 seconds without a size."""

    def plan(request: PlanRequest, path: object) -> None:
        raise DoesNotFit("no room", hint=MORE_MEMORY)

    monkeypatch.setattr("chipmodel.pipeline.plan.plan_as_cut", plan)
    with pytest.raises(DoesNotFit, match=r"no room; 640 B are enough\n.*shared_memory\.bytes=640"):
        call("zoo:ds_cnn", chipmodel.chip("alif-e7", shared_memory__bytes=600))


def test_a_time_limit_ends_the_search_for_what_is_enough() -> None:
    chip = chipmodel.chip("stm32n6", shared_memory__bytes=1024)
    with pytest.raises(TooManyParts, match="16,384 B are enough"):
        fitted_or_refused(chipmodel.load("zoo:resnet18"), chip, Deadline(0.0))


def test_few_cuts_end_the_search_for_what_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chipmodel.pipeline.too_little_memory.MOST_CUTS", 200)
    with pytest.raises(TooManyParts, match="; 16,384 B are enough"):
        chipmodel.simulate("zoo:resnet18", chipmodel.chip("stm32n6", shared_memory__bytes=1024))


@pytest.mark.slow
def test_where_no_size_is_enough_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chipmodel.pipeline.too_little_memory.SIZES", (512, 1024))
    chip = chipmodel.chip("stm32n6", shared_memory__bytes=512)
    with pytest.raises(TooManyParts, match=r"more than 30,000 parts.*\n") as refusal:
        chipmodel.simulate("zoo:resnet18", chip)
    assert "smaller network" in refusal.value.hint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "size", "why", "most"),
    [
        *(("resnet18", size, r"more than 30,000 parts.*; 14,848", 7_000_000) for size in (600, 2048, 8192)),
        (
            "mobilenetv2",
            8192,
            r"'features.15.depthwise' makes it reads 8,640 B; 12,480",
            28_000_000,
        ),  # 3 * 3 * 960
    ],
)
def test_few_calls_are_enough_to_refuse(network: str, size: int, why: str, most: int) -> None:
    """8 KiB took 13 and 21 seconds: all streamers and sets of cascades were tried first."""
    chip = chipmodel.chip("stm32n6", shared_memory__bytes=size)
    program = chipmodel.load(f"zoo:{network}")

    def refused(program: Program) -> None:
        with pytest.raises(DoesNotFit, match=f"{why} B are enough"):
            chipmodel.simulate(program, chip)

    assert calls(lambda: refused(program)) < most
