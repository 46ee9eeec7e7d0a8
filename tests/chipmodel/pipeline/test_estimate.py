"""Quick plans where the weights alone are too many, and how much of its time a search has."""

from dataclasses import replace

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF
from chipmodel.pipeline.estimate import ESTIMATES
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from solvers.core.deadline import Deadline
from workloads.load import load


def asked(network: str, chip: str, size: int, streamer: str, deadline: Deadline) -> PlanRequest:
    loaded = load_chip(chip)
    loaded = loaded.with_memory(size) if size else loaded
    program = reuse(load(f"zoo:{network}"), "all")
    return PlanRequest(program, loaded, streamer=streamer, cascade=CASCADE_AUTO, deadline=deadline)


@pytest.mark.slow
@pytest.mark.parametrize(("streamer", "psram"), [("auto", "16KiB"), ("auto", "8MiB"), ("exact", "16KiB")])
def test_only_weights_that_fit_are_searched(streamer: str, psram: str) -> None:
    """DS-CNN has 24,368 B of weights. A quick plan is the answer in 16 KiB; more Psram has a faster one."""
    known = asked("ds_cnn", "luna-arcs", 12_000, streamer, Deadline())
    request = known.with_chip(load_chip("luna-arcs", (f"psram.bytes={psram}",)).with_memory(12_000))
    quick = [run(replace(request, streamer=name, cascade=CASCADE_OFF)) for name in ESTIMATES]
    found = run(request)
    assert found.fit.too_many_weights == (psram == "16KiB")
    fastest = min(each.trace.cycles for each in quick)
    assert found.trace.cycles == fastest if found.fit.too_many_weights else found.trace.cycles < fastest


def test_a_search_has_more_of_the_time_than_the_default_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[float | None] = []

    def stopped(request: PlanRequest, _: object) -> None:
        left.append(request.deadline.left)
        raise DoesNotFit("stopped")

    monkeypatch.setattr("chipmodel.pipeline.run.plan", stopped)
    for streamer in ("auto", "exact"):
        with pytest.raises(DoesNotFit, match="stopped"):
            run(asked("resnet8", "luna-arcs", 0, streamer, Deadline(10.0, lambda: 0.0)))
    assert left == [8.0, 9.5]
