"""A streamer that searches is never behind a quick one, whatever its deadline."""

from dataclasses import replace

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.cascade_screening import CascadeScreening, KnownSets
from chipmodel.pipeline.choices import CASCADE_AUTO, CASCADE_OFF
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rival_streamers import ESTIMATES, QUICKEST, RIVALS, made_by_all
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from dma.stream import streamer_named, streamers
from solvers.core.deadline import Deadline
from tests.support.work import CountedClock
from workloads.load import load


def asked(network: str, chip: str, size: int, streamer: str, deadline: Deadline) -> PlanRequest:
    loaded = load_chip(chip)
    loaded = loaded.with_memory(size) if size else loaded
    program = reuse(load(f"zoo:{network}"), "all")
    return PlanRequest(program, loaded, streamer=streamer, cascade=CASCADE_AUTO, deadline=deadline)


def cycles(network: str, chip: str, size: int, streamer: str, deadline: Deadline | None = None) -> int:
    return run(asked(network, chip, size, streamer, deadline or Deadline())).trace.cycles


def test_every_streamer_that_does_not_search_is_a_rival() -> None:
    assert set(RIVALS) == {name for name in streamers() if not streamer_named(name).searches_offsets}


def test_a_search_is_not_behind_prefetch_k() -> None:
    """ResNet-8 of the tutorial: the search alone takes 342,512, as forecasts know no contention."""
    assert cycles("resnet8", "luna-arcs", 0, "prefetch-k") == 342_460
    assert cycles("resnet8", "luna-arcs", 0, "exact") <= 342_460


@pytest.mark.parametrize("streamer", ["auto", "exact"])
@pytest.mark.parametrize("psram", ["16KiB", "8MiB"])
def test_only_weights_that_fit_are_searched(streamer: str, psram: str) -> None:
    """DS-CNN has 24,368 B of weights. A quick plan is the answer in 16 KiB; more Psram has a faster one."""
    known = asked("ds_cnn", "luna-arcs", 12_000, streamer, Deadline())
    request = known.with_chip(load_chip("luna-arcs", (f"psram.bytes={psram}",)).with_memory(12_000))
    quick = [run(replace(request, streamer=name, cascade=CASCADE_OFF)) for name in ESTIMATES]
    found = run(request)
    assert found.fit.too_many_weights == (psram == "16KiB")
    fastest = min(each.trace.cycles for each in quick)
    assert found.trace.cycles == fastest if found.fit.too_many_weights else found.trace.cycles < fastest


@pytest.mark.parametrize("moment", [1, 1_000])
def test_a_search_is_not_behind_auto_at_any_deadline(moment: int) -> None:
    case = ("autoencoder", "luna-arcs", 2_080)

    def within(streamer: str) -> int:
        return cycles(*case, streamer, Deadline(moment, CountedClock(1)))

    assert within("exact") <= within("auto")


def test_a_search_in_less_than_a_second_is_not_behind_auto_with_any_time_up_to_that() -> None:
    case = ("resnet8", "luna-arcs", 25_376)

    def within(streamer: str, seconds: float) -> int:
        return cycles(*case, streamer, Deadline(seconds, CountedClock(0.001)))

    limits = (0.001, 0.8)
    autos = [within("auto", seconds) for seconds in limits]
    for seconds in limits:
        assert within("exact", seconds) <= min(autos)


@pytest.mark.parametrize(("seconds", "of_auto"), [(0.9, 1.0), (1.0, 1.0), (5.0, 5.0), (None, None)])
def test_auto_has_a_second_in_any_case(seconds: float | None, of_auto: float | None) -> None:
    request = asked("resnet8", "luna-arcs", 0, "exact", Deadline(seconds, lambda: 0.0))
    made = made_by_all(request, lambda each: (each.streamer, each.deadline.left), bool)
    assert made == [(name, of_auto if name == "auto" else seconds) for name in (*RIVALS, "exact")]


def test_after_the_deadline_there_are_the_quickest_rivals_and_one_that_fits() -> None:
    said: list[str] = []
    request = asked("resnet8", "luna-arcs", 0, "exact", Deadline(0, lambda: 1, said.append))
    assert made_by_all(request, lambda each: each.streamer, lambda name: True) == list(QUICKEST)
    assert said == ["further streamers"]
    fits = made_by_all(request, lambda each: each.streamer, lambda name: name == "prefetch-greedy")
    assert fits == list(RIVALS[: RIVALS.index("prefetch-greedy") + 1])


def test_streamers_share_what_is_proposed_and_forecast() -> None:
    """Proposals of cascades take most of a quick streamer's time, so they are looked for only once, and at a
    deadline what is known already is used."""
    known = KnownSets()
    request = asked("resnet8", "alif-e7", 25_344, "auto", Deadline())
    ranked = CascadeScreening(request, {}, known).ranked()
    proposals, forecasts = dict(known.proposals), dict(known.forecasts)
    late = asked("resnet8", "alif-e7", 25_344, "ping-pong", Deadline(0, lambda: 1))
    assert [each.program for each in CascadeScreening(late, {}, known).ranked()] == [
        e.program for e in ranked
    ]
    assert len(ranked) > 1
    assert all(known.proposals[key] is each for key, each in proposals.items())
    assert known.proposals.keys() == proposals.keys()
    assert known.forecasts == forecasts


def test_where_no_streamer_has_a_plan() -> None:
    tried: list[str] = []

    def refused(request: PlanRequest) -> str:
        tried.append(request.streamer)
        raise DoesNotFit(request.streamer)

    with pytest.raises(DoesNotFit, match="sync"):
        made_by_all(asked("resnet8", "luna-arcs", 0, "exact", Deadline()), refused, bool)
    assert tried == list(QUICKEST)


def test_a_quick_streamer_has_no_rivals() -> None:
    request = asked("resnet8", "luna-arcs", 0, "prefetch-k", Deadline())
    assert made_by_all(request, lambda each: each, lambda each: False) == [request]


def test_the_bound_is_that_of_the_search_whoever_is_the_fastest() -> None:
    planned = plan(asked("resnet8", "luna-arcs", 0, "exact", Deadline()))
    assert planned.bound is not None
    assert planned.trace is not None
    assert planned.bound.cycles <= planned.trace.cycles
