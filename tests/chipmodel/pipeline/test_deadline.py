"""Plans after a deadline: no search is begun, a plan is made all the same, and what is missing is named."""

from typing import Any

import pytest

from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from solvers.core.deadline import Deadline
from solvers.exact import portfolio
from tests.support.chips import with_memory
from tests.support.work import CountedClock
from workloads.load import load

CHIP = load_chip("luna-arcs", ["shared_memory.bytes=64KiB"])


def ds_cnn(deadline: Deadline) -> PlanRequest:
    return PlanRequest(reuse(load("zoo:ds_cnn"), "all"), CHIP, "exact", "exact", deadline=deadline)


def test_after_the_deadline_no_search_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    def begun(*_: Any, **__: Any) -> Any:
        raise AssertionError("a search was begun")

    monkeypatch.setattr(portfolio, "solve_component", begun)
    result = run(request := ds_cnn(Deadline(0, lambda: 1)))
    assert result.fits
    assert result.bound == time_bound(request.program, CHIP, {})


@pytest.mark.slow
def test_a_deadline_that_comes_during_the_first_search_ends_the_others() -> None:
    """The later the deadline, the less is cut short."""
    cut_short: list[bool] = []
    for moment in (1, 10, 10**9):
        said: list[str] = []
        planned = plan(ds_cnn(Deadline(moment, CountedClock(1), said.append)))
        assert planned.solved.peak <= CHIP.shared_memory.bytes
        cut_short.append(bool(said))
    assert cut_short == [True, True, False]


def test_after_the_deadline_rounds_give_up_more_memory() -> None:
    """``naive`` never shares bytes: no round fits."""
    chip = with_memory(CHIP, 24 * 1024)
    request = PlanRequest(load("zoo:ds_cnn"), chip, "naive", "sync", deadline=Deadline(0, lambda: 1))
    attempts = plan(request).attempts
    assert [each.budget for each in attempts] == [24_576, 6_481]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "chip", "size", "moments"),
    [
        ("resnet8", "luna-arcs", 25_376, (0, 28, 79, 156, 400)),
        ("micronet_kws", "alif-e7", 65_536, (0, 6, 60, 200)),
    ],
)
def test_more_time_makes_no_plan_of_auto_slower(
    network: str, chip: str, size: int, moments: tuple[int, ...]
) -> None:
    """What was made until a deadline is among what a longer limit compares, so it is never better."""
    program, smaller = reuse(load(f"zoo:{network}"), "all"), with_memory(load_chip(chip), size)

    def cycles(deadline: Deadline) -> int:
        request = PlanRequest(program, smaller, streamer="auto", cascade="auto", deadline=deadline)
        return run(request).trace.cycles

    found = [cycles(Deadline(moment, CountedClock(1))) for moment in moments]
    found.append(cycles(Deadline()))
    assert found == sorted(found, reverse=True)
    assert found[0] > found[-1]


def test_a_plan_with_finer_cuts_is_made_after_the_deadline() -> None:
    """AutoEncoder in 1,040 B: its first layer has no room in one piece."""
    chip = with_memory(load_chip("alif-e7"), 1_040)
    request = PlanRequest(load("zoo:autoencoder"), chip, streamer="auto", deadline=Deadline(0, lambda: 1))
    assert run(request).fits
