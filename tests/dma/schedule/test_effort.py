"""When enough candidates were tried."""

from itertools import pairwise

from chipmodel.hardware.chip_file import load_chip
from dma.schedule.build import StreamRequest
from dma.schedule.effort import SearchProgress, StopCriterion
from dma.stream import streamer_named
from dma.streamers.race import StreamerRace
from solvers.core.deadline import Deadline
from workloads.zoo import build


def test_enough_near_the_bound_or_after_the_time() -> None:
    stop = StopCriterion(seconds=2.0, gap=0.01, bound=100)
    assert stop.enough(101, 0)
    assert not stop.enough(102, 1.9)
    assert stop.enough(102, 2.0)
    assert not StopCriterion(gap=0.5).enough(1, 1e9), "without a bound nothing is near"


def test_heuristics_are_always_tried_and_others_where_these_do_not_fit() -> None:
    program, chip = build("ds_cnn"), load_chip("luna-arcs")
    heard: list[object] = []
    stop = StopCriterion(seconds=0.0, report=heard.append)
    portfolio = streamer_named("exact")
    request = StreamRequest(program, chip, chip.shared_memory.bytes)
    race = StreamerRace(request, portfolio, stop)
    reports = [each for each in heard if isinstance(each, SearchProgress)]
    assert [each.tried for each in reports] == list(range(1, portfolio.always_tried + 1))
    assert all(b.cycles <= a.cycles for a, b in pairwise(reports))
    patient = StreamerRace(request, portfolio, StopCriterion(bound=1, gap=1e12))
    assert len(patient.untried) == len(portfolio.candidates) - portfolio.always_tried
    patient.stop = StopCriterion()
    ranked = patient.next()
    assert ranked is not None
    patient.does_not_fit(ranked, 0)
    assert not patient.untried, "the others get their turn"
    assert race.untried


def test_after_the_deadline_one_schedule_is_enough() -> None:
    program, chip = build("ds_cnn"), load_chip("luna-arcs")
    heard: list[object] = []
    said: list[str] = []
    stop = StopCriterion(report=heard.append, deadline=Deadline(0, lambda: 1, said.append))
    race = StreamerRace(StreamRequest(program, chip, chip.shared_memory.bytes), streamer_named("exact"), stop)
    reports = [each for each in heard if isinstance(each, SearchProgress)]
    assert [each.tried for each in reports] == [1]
    assert said == ["further schedules"]
    assert race.next() is not None
