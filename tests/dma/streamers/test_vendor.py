"""``vendor`` is the streamer that the chip names, and makes cascades only where the chip's tool does."""

from __future__ import annotations

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from dma.stream import stream
from dma.streamers import sync
from workloads.load import load

NETWORK = load("zoo:ds_cnn")
LARGER = load("zoo:mobilenetv1_025")


@pytest.mark.parametrize("streamer", ["sync", "ping-pong", "prefetch-greedy"])
def test_it_schedules_as_the_streamer_that_the_chip_names(streamer: str) -> None:
    chip = load_chip("gap9-psram", (f"vendor.streamer={streamer}", "shared_memory.bytes=32KiB"))
    size = chip.shared_memory.bytes
    assert stream(NETWORK, chip, "vendor", size).transfers == stream(NETWORK, chip, streamer, size).transfers


def test_sync_and_ping_pong_differ_here() -> None:
    chip = load_chip("gap9-psram", ("shared_memory.bytes=32KiB",))
    size = chip.shared_memory.bytes
    assert stream(NETWORK, chip, "sync", size).transfers != stream(NETWORK, chip, "ping-pong", size).transfers


@pytest.mark.parametrize("cascades", ["yes", "no"])
def test_cascades_are_the_tools(cascades: str) -> None:
    small = ("shared_memory.bytes=32KiB", f"vendor.cascades={cascades}")
    planned = plan(PlanRequest(LARGER, load_chip("alif-e7", small), streamer="vendor", cascade="auto"))
    assert bool(planned.schedule.cascades) == (cascades == "yes")


def test_cascades_are_worth_more_than_early_weights() -> None:
    """MobileNetV2 in 353 KiB: Vela 5.2 moves no tensor (``--optimise Size``); two buffers of weights in turn
    leave no room for the cascades, so they are loaded where they are needed."""
    chip = load_chip("alif-e7", ("shared_memory.bytes=353KiB",))
    program = reuse(load("zoo:mobilenetv2"), "all")
    planned = plan(PlanRequest(program, chip, "large-first", "vendor", cascade="auto"))
    assert planned.solved.peak <= chip.shared_memory.bytes
    assert planned.schedule.cascades
    assert not planned.schedule.moves_tensors
    assert planned.streamer is sync.STREAMER
