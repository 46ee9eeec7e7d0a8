"""Streamer ``auto``: never slower than ``sync``, and near the best quick streamer, by simulation."""

from random import Random

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.pipeline import by_ways, quickest
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.commands import verify
from dma.streamers.by_ways import FREE_MEMORY_USES
from dma.streamers.race import StreamerRace
from tests.chipmodel.pipeline.test_plan import wide
from tests.dma.streamers.test_resident_knapsack import looped
from tests.support.chips import LUNA_LIKE
from workloads.load import load

QUICK = ("sync", "ping-pong", "weight-pipeline", "prefetch-greedy")


def cycles(program: Program, streamer: str, *overrides: str) -> int | None:
    """None where no plan fits."""
    request = PlanRequest(program, load_chip("stm32n6", overrides), "auto", streamer)
    try:
        result = run(request)
    except DoesNotFit:
        return None
    return result.trace.cycles if result.fits else None


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["1792KiB", "160KiB", "64KiB"])
@pytest.mark.parametrize("network", ["zoo:resnet8", "zoo:ds_cnn", "zoo:mobilenetv1_025"])
def test_it_is_near_the_best_quick_streamer(network: str, memory: str) -> None:
    """ResNet-8 in 64 KiB takes 0.9 % longer than by ``weight-pipeline``, which is no candidate."""
    program = reuse(load(network), "all")
    size = f"shared_memory.bytes={memory}"
    quick = {name: cycles(program, name, size) for name in QUICK}
    fitting = [each for each in quick.values() if each is not None]
    auto = cycles(program, "auto", size)
    assert (auto is None) == (not fitting)
    if auto is not None:
        assert auto <= 1.01 * min(fitting)


def test_ping_pong_is_slower_than_sync_where_its_buffers_force_tensors_out() -> None:
    """The case that the default used to lose."""
    program = reuse(load("zoo:resnet8"), "all")
    size = "shared_memory.bytes=40KiB"
    sync, ping_pong, auto = (cycles(program, name, size) for name in ("sync", "ping-pong", "auto"))
    assert sync is not None
    assert auto is not None
    assert ping_pong is None or auto < ping_pong
    assert auto <= sync


def test_the_schedule_is_named_after_the_streamer_that_made_it() -> None:
    result = run(PlanRequest(reuse(load("zoo:resnet8"), "all"), load_chip("luna-arcs")))
    assert result.schedule.streamer == "shortest-path"
    assert result.asked is not None
    assert result.asked == ("auto", "auto")


def test_a_loop_keeps_weights() -> None:
    """The weights of a loop's four layers are loaded once, not in each of 20 iterations."""
    traces = [run(PlanRequest(looped(20), LUNA_LIKE, streamer=name)).trace for name in ("auto", "sync")]
    loaded = [sum(e.bytes for e in trace.of("dma") if e.kind == "load weights") for trace in traces]
    layer = 4352
    assert loaded == [(1 + 4 + 1) * layer, (1 + 20 * 4 + 1) * layer]
    assert traces[0].cycles < traces[1].cycles / 2


def test_a_schedule_that_cannot_be_faster_is_not_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated: list[int] = []
    real = simulate

    def counted(*arguments: object) -> object:
        trace = real(*arguments)  # type: ignore[arg-type]
        simulated.append(trace.cycles)
        return trace

    monkeypatch.setattr(quickest, "simulate", counted)
    planned = plan(PlanRequest(wide(10, 10), LUNA_LIKE))
    assert planned.trace is not None
    assert planned.trace.cycles == min(simulated)
    assert len(simulated) < len(by_ways.SHARES) * len(FREE_MEMORY_USES)


@pytest.mark.slow
def test_in_little_memory_the_greedy_rule_also_decides_what_stays() -> None:
    """A quarter of what ResNet-8 needs to send nothing out took 1,344,208 cycles by the state search."""
    program, chip = reuse(load("zoo:resnet8"), "all"), load_chip("stm32n6").with_memory(12_680)
    planned = plan(PlanRequest(program, chip, cascade="off"), {})
    assert planned.trace is not None
    assert planned.trace.cycles <= 1_260_000
    assert not verify(planned.program, planned.commands, chip)


def test_a_part_of_a_program_is_chosen_by_its_forecast() -> None:
    planned = plan(PlanRequest(wide(10, 10), LUNA_LIKE), None)
    assert planned.trace is None
    assert planned.solved.peak <= LUNA_LIKE.shared_memory.bytes


def test_the_same_request_gives_the_same_plan() -> None:
    random = Random(3)
    program = reuse(load("zoo:ds_cnn"), "all")
    size = random.randrange(40, 90)
    chip = load_chip("luna-arcs", [f"shared_memory.bytes={size}KiB"])
    first, second = (plan(PlanRequest(program, chip)) for _ in range(2))
    assert first.commands == second.commands


@pytest.mark.slow
def test_a_schedule_for_less_memory_is_tried_where_tensors_leave_shared_memory() -> None:
    """DS-CNN took 449,931 cycles in 9,824 B, and 419,115 in 8,272 B."""
    program = reuse(load("zoo:ds_cnn"), "all")
    chips = [load_chip("alif-e7", [f"shared_memory.bytes={size}"]) for size in (8272, 9824)]
    less, more = (run(PlanRequest(program, chip)).trace.cycles for chip in chips)
    assert more <= less


def test_where_all_tensors_stay_no_schedule_is_made_for_less_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a schedule for less memory")

    monkeypatch.setattr(StreamerRace, "enter", refuse)
    run(PlanRequest(reuse(load("zoo:ds_cnn"), "all"), load_chip("alif-e7")))
