"""A memory that is far too small is refused before planning begins, with a size that is enough."""

import pytest

import chipmodel
from chipmodel.errors import DoesNotFit, TooManyParts
from chipmodel.model.program import Program
from chipmodel.pipeline.request import PlanRequest
from tests.support.work import calls


@pytest.mark.parametrize(("network", "size", "enough"), [("resnet18", 1024, 16384), ("resnet8", 512, 1024)])
@pytest.mark.parametrize("streamer", ["auto", "sync"])
def test_the_message_has_a_size_that_is_enough(
    network: str, size: int, enough: int, streamer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ResNet-18 in 1 KiB named an op that "needs 922,112 B", after 45 seconds."""

    def plan(asked: PlanRequest) -> None:
        pytest.fail(f"{asked.program.name} is planned")

    monkeypatch.setattr("chipmodel.pipeline.plan.plan_as_cut", plan)
    chip = chipmodel.chip("stm32n6", shared_memory__bytes=size)
    with pytest.raises(TooManyParts, match=f"{size:,} B .* more than 30,000 parts; {enough:,} B are enough"):
        chipmodel.simulate(f"zoo:{network}", chip, streamer=streamer)


def test_a_size_that_is_enough_has_a_plan() -> None:
    chip = chipmodel.chip("stm32n6", shared_memory__bytes=1024)
    assert chipmodel.plan("zoo:resnet8", chip, streamer="sync", cascade="off").fits


def test_where_no_size_is_enough_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chipmodel.pipeline.too_little_memory.SIZES", (512, 1024))
    chip = chipmodel.chip("stm32n6", shared_memory__bytes=512)
    with pytest.raises(TooManyParts, match=r"more than 30,000 parts\n") as refusal:
        chipmodel.simulate("zoo:resnet18", chip)
    assert "smaller network" in refusal.value.hint


@pytest.mark.parametrize(
    ("network", "size", "why"),
    [
        *(("resnet18", size, r"more than 30,000 parts; 16,384") for size in (600, 2048, 8192)),
        ("mobilenetv2", 8192, r"'features.15.depthwise' makes it reads 8,640 B; 65,536"),  # 3 * 3 * 960
    ],
)
def test_few_calls_are_enough_to_refuse(network: str, size: int, why: str) -> None:
    """8 KiB took 13 and 21 seconds: all streamers and sets of cascades were tried first."""
    chip = chipmodel.chip("stm32n6", shared_memory__bytes=size)
    program = chipmodel.load(f"zoo:{network}")

    def refused(program: Program) -> None:
        with pytest.raises(DoesNotFit, match=f"{why} B are enough"):
            chipmodel.simulate(program, chip)

    assert calls(lambda: refused(program)) < 7_000_000
