"""``prefetch-k``, ``prefetch-greedy``, and the race of their candidates."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from dma.schedule.build import StreamRequest
from dma.schedule.path_forecast import ScheduleForecast
from dma.schedule.streamer import StreamerPortfolio
from dma.stream import stream, streamer_named
from dma.streamers import sync
from dma.streamers.prefetch_greedy import STREAMERS
from dma.streamers.race import StreamerRace
from tests.dma.streamers.test_weight_pipeline import LOAD_8K, ROOMY, chain
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.random_programs import TreeShape, random_program


def loads(schedule: Schedule) -> list[tuple[int, str]]:
    return [(t.issue, t.buffer) for t in schedule.transfers if t.part.weights]


def test_three_buffers_in_turn_are_loaded_two_blocks_ahead() -> None:
    schedule = stream(chain([10] * 5), ROOMY, "prefetch-k:3", 1 << 20)
    whose = ("n0..n3", "n1..n4", "n2", "n0..n3", "n1..n4")
    names = [f"{each} weights, buffer {i % 3 + 1} of 3" for i, each in enumerate(whose)]
    assert sorted(loads(schedule)) == sorted(zip([0, 0, 0, 1, 2], names, strict=True))


@pytest.mark.parametrize("seed", range(20))
def test_two_buffers_are_ping_pong(seed: int) -> None:
    program = random_program(seed, TreeShape(ops=6, depth=seed % 3))
    try:
        two = stream(program, LUNA_LIKE, "prefetch-k:2", 700)
    except DoesNotFit:
        with pytest.raises(DoesNotFit):
            stream(program, LUNA_LIKE, "ping-pong", 700)
        return
    assert replace(two, streamer="ping-pong") == stream(program, LUNA_LIKE, "ping-pong", 700)


@pytest.mark.parametrize("setting", ["", "0", "65", "-1", "3.0", "two", "²"])
def test_an_invalid_number_of_buffers_is_refused(setting: str) -> None:
    with pytest.raises(BadInput) as refusal:
        streamer_named(f"prefetch-k:{setting}")
    assert refusal.value.hint == "1 to 64 buffers, as in prefetch-k:3"


def cases(seed: int) -> Program:
    return random_program(seed, TreeShape(ops=6, depth=0, side=5, channels=8))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from([300, 500, 900]))
def test_forecasts_are_exact_and_no_candidate_that_fits_at_once_is_faster(seed: int, size: int) -> None:
    program, chip = cases(seed), with_memory(LUNA_LIKE, size // 16 * 16)
    forecasts = ScheduleForecast(program, chip)
    for streamer in ("prefetch-k", "prefetch-greedy", "resident-knapsack"):
        try:
            made = plan(PlanRequest(program, chip, "large-first", streamer))
        except DoesNotFit:
            continue
        cycles = simulate(made.commands, chip).cycles
        assert cycles == forecasts.cycles(made.schedule)
        assert made.schedule.streamer == streamer
        if made.solved.peak > chip.shared_memory.bytes:
            continue
        assert not verify(program, made.commands, chip)
        for name in ("ping-pong", *["sync"][: streamer != "prefetch-k"]):
            other = plan(PlanRequest(program, chip, "large-first", name))
            if len(other.attempts) == 1 and other.solved.peak <= chip.shared_memory.bytes:
                assert cycles <= simulate(other.commands, chip).cycles


def test_the_fastest_forecast_is_packed_first_and_tried_again_with_less_memory() -> None:
    request = StreamRequest(chain([LOAD_8K] * 4), LUNA_LIKE, 1 << 16)
    race = StreamerRace(request, StreamerPortfolio("all", (sync.STREAMER, *STREAMERS)))
    seen = [ranked for _ in range(1 + len(STREAMERS)) if (ranked := race.next())]
    assert race.next() is None
    assert [ranked.cycles for ranked in seen] == sorted(ranked.cycles for ranked in seen)
    assert seen[-1].streamer is sync.STREAMER
    assert StreamerRace(request, race.portfolio, enough=seen[-1].cycles).entered == 1
    assert StreamerRace(request, race.portfolio, enough=seen[0].cycles - 1).entered == len(seen)
    race.enter(seen[0].streamer, 30_000)
    again = race.next()
    assert again is not None
    assert (again.streamer, again.budget) == (seen[0].streamer, 30_000)
    assert race.next() is None
