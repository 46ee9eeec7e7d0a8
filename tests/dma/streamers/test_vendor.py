"""``vendor`` is the streamer that the chip names, and makes cascades only where the chip's tool does."""

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from dma.stream import stream
from tests.support.small_networks import small_network
from workloads.load import load

NETWORK = load("zoo:ds_cnn")
LARGER = load("zoo:mobilenetv1_025")


@pytest.mark.parametrize("streamer", ["sync", "ping-pong", "prefetch-greedy"])
def test_it_schedules_as_the_streamer_that_the_chip_names(streamer: str) -> None:
    chip = load_chip("gap9-psram", (f"vendor.streamer={streamer}", "shared_memory.bytes=32KiB"))
    other = "ping-pong" if streamer == "sync" else "sync"
    made, same, different = (stream(NETWORK, chip, each, 32 << 10) for each in ("vendor", streamer, other))
    assert made.transfers == same.transfers != different.transfers


def test_a_tool_may_load_large_weights_in_blocks_while_it_computes() -> None:
    """The second product has two blocks of weights; one comes while the other computes, which takes less."""
    chips = [load_chip("stm32n6", (f"vendor.block_bytes={size}",)) for size in ("0", "1MiB")]
    whole, blocks = (
        plan(PlanRequest(small_network("two products"), chip, streamer="vendor")) for chip in chips
    )
    ahead = [[each.due - each.issue for each in p.schedule.transfers] for p in (whole, blocks)]
    assert ahead == [[0, 0, 0, 0], [0, 0, 0, 1, 0]]  # weights, input, weights of the second, output
    cycles = [simulate(each.commands, chips[0], {}).cycles for each in (whole, blocks)]
    assert cycles[0] - cycles[1] == pytest.approx(16 * 16 * 1024 * 1024 / 133, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("cascades", ["yes", "no"])
def test_cascades_are_the_tools(cascades: str) -> None:
    small = ("shared_memory.bytes=32KiB", f"vendor.cascades={cascades}")
    planned = plan(PlanRequest(LARGER, load_chip("alif-e7", small), streamer="vendor", cascade="auto"))
    assert bool(planned.schedule.cascades) == (cascades == "yes")


@pytest.mark.slow
def test_a_tool_gives_up_early_weights_that_leave_no_room_for_an_op() -> None:
    """YOLOv8 joins its heads in another order than they are stored in, so at once: 378 of 384 KiB."""
    chip = load_chip("imx93")
    program = reuse(load("zoo:yolov8?input=256"), "all")
    planned = plan(PlanRequest(program, chip, streamer="vendor", cascade="auto"))
    assert planned.solved.peak <= chip.shared_memory.bytes
    assert planned.schedule.streamer == "sync"
