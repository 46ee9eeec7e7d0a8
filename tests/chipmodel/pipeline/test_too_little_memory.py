"""A memory that is far too small is refused before planning begins, with a size that is enough."""

import pytest

import chipmodel
from chipmodel.errors import DoesNotFit, TooManyParts
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.too_little_memory import fitted_or_refused
from solvers.core.deadline import Deadline


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
