"""When there are enough ways."""

from __future__ import annotations

from itertools import pairwise

from chipmodel.chip.chip_file import load_chip
from dma.schedule.effort import Standing, Stop
from dma.stream import policy_named
from dma.streamers.race import Race
from workloads.zoo import build


def test_near_enough_or_too_late() -> None:
    stop = Stop(seconds=2.0, gap=0.01, bound=100)
    assert stop.enough(101, 0)
    assert not stop.enough(102, 1.9)
    assert stop.enough(102, 2.0)
    assert not Stop(gap=0.5).enough(1, 1e9), "without a bound nothing is near"


def test_a_standing_says_what_is_known() -> None:
    assert str(Standing(2, 27, 1234.5, 0)) == "way 2 of 27: 1,234 cycles"
    assert str(Standing(2, 27, 1100.0, 1000)) == "way 2 of 27: 1,100 cycles, bound 1,000, gap 10.0%"


def test_heuristics_are_always_tried_and_more_where_they_have_no_room() -> None:
    program, chip = build("ds_cnn"), load_chip("luna-arcs")
    told: list[Standing] = []
    stop = Stop(seconds=0.0, report=told.append)
    policy = policy_named("exact")
    race = Race(program, chip, policy, chip.shared_memory.bytes, True, False, stop)
    assert [each.tried for each in told] == list(range(1, policy.sure + 1))
    assert all(b.cycles <= a.cycles for a, b in pairwise(told))
    patient = Race(program, chip, policy, chip.shared_memory.bytes, True, False, Stop(bound=1, gap=1e12))
    assert len(patient.left) == len(policy.rivals) - policy.sure
    patient.stop = Stop()
    entry = patient.next()
    assert entry is not None
    patient.does_not_fit(entry, 0)
    assert not patient.left, "the others get their turn"
    assert race.left
