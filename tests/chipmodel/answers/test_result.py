"""Derived numbers of a result, against a count cycle by cycle."""

from dataclasses import replace

import chipmodel as cm
from chipmodel.answers.result import Result
from chipmodel.model.trace import Cause, Event, Kind, Trace, Unit
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network


def small() -> Result:
    return run(PlanRequest(small_network("small"), LUNA_LIKE))


def test_capacity_and_fit() -> None:
    result = small()
    assert result.capacity == 384 * 1024
    assert result.fits
    for size, fits in ((result.solved.peak, True), (result.solved.peak - 1, False)):
        assert replace(result, chip=with_memory(LUNA_LIKE, size)).fits is fits


def test_hidden_cycles_by_hand() -> None:
    def event(unit: Unit, start: int, stop: int, waits: bool = False) -> Event:
        cause: Cause = "" if not waits else "weights" if unit == "npu" else "nothing issued"
        kind: Kind = "wait" if waits else "compute" if unit == "npu" else "load tensor"
        return Event(unit, start, stop, cause, "", "", kind)

    events = (
        event("dma", 0, 10),
        event("npu", 0, 4, waits=True),
        event("npu", 4, 7),  # 3 during the first transfer
        event("npu", 7, 8),  # 1 more
        event("npu", 8, 12, waits=True),
        event("dma", 10, 14),
        event("npu", 12, 20),  # 2 during the second
        event("dma", 14, 25, waits=True),
        event("npu", 20, 25, waits=True),
    )
    assert replace(small(), trace=Trace(events, 25, {})).hidden_cycles == 3 + 1 + 2
    assert replace(small(), trace=Trace((), 0, {})).hidden_cycles == 0


def test_several_cores_say_how_busy_the_engine_that_they_share_is() -> None:
    """Half of the cores idle without a reason is what a reader would see otherwise."""
    options: cm.PlanOptions = {"streamer": "weight-pipeline", "packer": "large-first"}
    (found,) = cm.simulate("zoo:resnet8", cm.chip("luna-csk6", cores=2), **options).result.notes
    assert found.startswith("the DMA engine, which all cores share, is busy for ")
    assert cm.simulate("zoo:resnet8", "luna-csk6", **options).result.notes == ()
