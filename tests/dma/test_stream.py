"""Schedules of all streamers: their budget, their names, their refusals, and unusual programs."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from chipmodel.api.workload import load
from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import Schedule, steps
from chipmodel.passes.liveness import liveness
from dma.residency.tiling import transfer_bytes
from dma.schedule import build as module
from dma.schedule.build import WEIGHT_FLOOR_DIVISORS, StreamRequest, build_schedule
from dma.schedule.path_forecast import ScheduleForecast
from dma.schedule.streamer import Streamer
from dma.stream import stream, streamer_named, streamers
from dma.streamers import ping_pong, prefetch_greedy, sync, weight_pipeline
from dma.streamers.race import StreamerRace
from solvers.core.bounds import contention
from solvers.core.deadline import Deadline
from tests.support.chips import LUNA_LIKE, tiny_chip, with_memory
from tests.support.random_programs import TreeShape, random_program
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder
from workloads.from_python.network import Network

STREAMERS = (
    *("auto", "sync", "ping-pong", "ping-pong-across", "weight-pipeline", "prefetch-k"),
    *("prefetch-greedy", "resident-knapsack", "vendor", "exact"),
)


QUICK = tuple(name for name in STREAMERS if name != "exact")


def test_the_table_of_streamers() -> None:
    assert tuple(streamers()) == STREAMERS
    for name, entry in streamers().items():
        portfolio = streamer_named(name)
        assert (entry.name, portfolio.name) == (name, name)
        assert entry.title
        assert entry.source
    with pytest.raises(BadInput) as refusal:
        stream(random_program(1), LUNA_LIKE, "pingpong", 1 << 20)
    assert refusal.value.what == "unknown streamer 'pingpong'"
    assert refusal.value.hint == f"did you mean 'ping-pong'? streamers are {', '.join(STREAMERS)}"


def schedules(shape: Callable[[int], TreeShape], seeds: range) -> list[tuple[Chip, Program, Schedule]]:
    result: list[tuple[Chip, Program, Schedule]] = []
    for seed in seeds:
        program, chip = random_program(seed, shape(seed)), tiny_chip(Random(seed))
        for streamer in (*QUICK, "exact:3") if seed % 8 == 0 else QUICK:
            try:
                made = stream(program, chip, streamer, chip.shared_memory.bytes)
            except DoesNotFit:
                continue
            result.append((chip, program, made))
    return result


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 60))
def test_invariants_of_schedules(first: int) -> None:
    """Never more bytes are alive than the budget; names are unique, buffers large enough, every operand's
    buffer exists, positions count up, and a transfer never crosses the border of its straight chain."""
    shapes = range(first, first + 24)
    cases = schedules(lambda seed: TreeShape(ops=5, depth=seed % 3, side=5, channels=6), shapes)
    assert len(cases) > 70
    for chip, program, schedule in cases:
        problem = liveness(schedule, chip)
        assert contention(problem) <= chip.shared_memory.bytes, (program.name, schedule.streamer)
        names = [t.name for t in schedule.transfers]
        assert len(set(names)) == len(names)
        listed = list(steps(schedule.body))
        assert [s.position for s in listed] == list(range(len(listed)))
        for transfer in schedule.transfers:
            assert 0 <= transfer.issue <= transfer.due < len(listed)
            assert 0 < transfer.bytes <= schedule.buffers[transfer.buffer].bytes
        for step in listed:
            for operand in (*step.reads, *step.writes):
                assert operand.buffer in schedule.buffers
        used = {o.buffer for s in listed for o in (*s.reads, *s.writes)} | {
            t.buffer for t in schedule.transfers
        }
        assert used == set(schedule.buffers)
        live = {b.name: b.live for b in problem.buffers}
        for op in ops(program.body):
            tiles = [s for s in listed if s.op == op.name]
            assert sum(len(s.rows) * len(s.channels) for s in tiles) == op.work.rows * op.work.channels
        for name, spec in schedule.buffers.items():
            assert len(spec.held) == 0 or any(i.start <= spec.held.start < i.stop for i in live[name])


def test_transfers_say_what_they_move() -> None:
    program = small_network("titles")
    roomy = stream(program, LUNA_LIKE, "sync", 1 << 20)
    assert {t.name for t in roomy.transfers} == {"load weights of a", "load x", "store r"}
    sliced = stream(program, LUNA_LIKE, "sync", 2300)
    assert {"load weights of a [1/2]", "load weights of a [2/2]", "load x", "store r"} == {
        t.name for t in sliced.transfers
    }
    striped = stream(program, LUNA_LIKE, "sync", 130)
    assert "a" in striped.striped
    names = {t.name.partition(" [")[0] for t in striped.transfers}
    assert names == {"load weights of a", "load x for a", "store a from a", "load a", "store r"}
    assert (roomy.streamer, roomy.striped, roomy.spilled) == ("sync", (), ())


def test_the_largest_slices_that_spill_nothing_are_taken() -> None:
    """64 KiB of weights in 40,000 B: slices of thousands of bytes, not of one channel."""
    for streamer in STREAMERS:
        schedule = stream(small_network("stream slices"), LUNA_LIKE, streamer, 40_000)
        slices = [t.bytes for t in schedule.transfers if t.part.weights]
        assert sum(slices) == 65536
        # Two slices of 32 KiB and 512 B of activations, the second one in two pieces where that is faster;
        # two buffers of four slices for ping-pong.
        in_pieces = dict.fromkeys(("auto", "prefetch-greedy", "exact"), 3)
        assert len(slices) == ({"sync": 2, "weight-pipeline": 7} | in_pieces).get(streamer, 4), streamer
        assert not schedule.spilled


def test_smaller_slices_are_tried_before_anything_is_spilled() -> None:
    """Of 3,400 B, ``kept`` takes 2,900 and the op 200: an eighth for weights is too much, a 16th is not."""
    builder = ProgramBuilder("parts")
    x = builder.input("x", (1, 100))
    kept = builder.vector("relu", "kept", [x], (1, 2900))
    y = builder.dense("d", x, 100, weights=[builder.weight("w", 8000)])
    builder.output(builder.vector("add", "sum", [y, kept], (1, 100)))
    schedule = stream(builder.build(), LUNA_LIKE, "sync", 3400)
    assert not schedule.spilled
    # 300 B are free: three channels of 80 B, as an op with one row loses more by launches.
    assert max(t.bytes for t in schedule.transfers if t.part.weights) == 240


def test_of_schedules_that_spill_the_one_with_the_fastest_forecast_is_used() -> None:
    """The one that moves the fewest bytes takes 1.7 times as long: its slices are small."""
    program, chip = load("zoo:resnet8"), load_chip("stm32n6").with_memory(36_000)
    request = StreamRequest(program, chip, 36_000)
    forecast = ScheduleForecast(program, chip).cycles

    def schedules(*divisors: int) -> Schedule:
        streamer = replace(ping_pong.STREAMER, weight_floor_divisors=divisors)
        return build_schedule(request, streamer, {})

    found = [schedules(each) for each in WEIGHT_FLOOR_DIVISORS]
    assert all(each.spilled or each.striped for each in found)
    least = min(found, key=lambda each: sum(transfer_bytes(t.bytes, t.runs) for t in each.transfers))
    fastest = min(map(forecast, found))
    assert forecast(least) > 1.5 * fastest
    assert forecast(schedules()) == fastest
    assert forecast(schedules(*reversed(WEIGHT_FLOOR_DIVISORS))) == fastest


def test_both_buffers_of_ping_pong_may_hold_slices_of_one_op() -> None:
    """One op of 147 B besides 44 B in 160 B: two slices of 49 B would be 98 B, with 92 B free."""
    program = small_network("two-slices")
    schedule = stream(program, LUNA_LIKE, "ping-pong", 49 + 3 + 98)
    assert contention(liveness(schedule, LUNA_LIKE)) == 49 + 3 + 98
    assert not schedule.striped
    tight = stream(program, LUNA_LIKE, "ping-pong", 49 + 3 + 97)
    assert contention(liveness(tight, LUNA_LIKE)) <= 49 + 3 + 97


def test_no_spill_is_respected() -> None:
    program = random_program(5, TreeShape(ops=6, depth=1))
    need = contention(liveness(stream(program, LUNA_LIKE, "sync", 1 << 20), LUNA_LIKE))
    with pytest.raises(DoesNotFit, match="largest live set"):
        stream(program, LUNA_LIKE, "sync", need // 3, spill=False)
    spilled = stream(program, LUNA_LIKE, "sync", need // 3)
    assert spilled.spilled
    assert list(spilled.spilled) == sorted(spilled.spilled)


def test_too_many_parts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    program = small_network("memory_state striped")
    monkeypatch.setattr(module, "MAX_PARTS", 14)
    with pytest.raises(DoesNotFit, match="more than 14 parts"):
        stream(program, LUNA_LIKE, "sync", 8)
    monkeypatch.setattr(module, "MAX_PARTS", 15)
    assert len(stream(program, LUNA_LIKE, "sync", 8).transfers) == 2 * 16
    with pytest.raises(DoesNotFit) as refusal:
        stream(program, LUNA_LIKE, "sync", 7)
    assert refusal.value.what.startswith("ops would run in more than 15 parts")
    assert "shared_memory.bytes" in refusal.value.hint


# -- programs with ops of every kind, odd operands and all of it striped --------------------------------


@pytest.mark.parametrize("streamer", STREAMERS)
def test_a_race_without_time_has_a_schedule_or_says_why_not(streamer: str) -> None:
    """A portfolio tried no candidate at all, and so had neither."""
    program, over = random_program(5, TreeShape(ops=6, depth=1)), Deadline(0, lambda: 1)
    portfolio = streamer_named(streamer)
    roomy = StreamerRace(StreamRequest(program, LUNA_LIKE, 1 << 20, True), portfolio, over)
    assert roomy.next() is not None
    with pytest.raises(DoesNotFit):
        StreamerRace(StreamRequest(program, LUNA_LIKE, 64, False), portfolio, over).next()


@pytest.mark.parametrize("streamer", STREAMERS)
def test_rows_of_a_table_are_loaded_after_the_step_that_says_which(streamer: str) -> None:
    net = Network("looks-up")
    net.input("image", [1, 8, 4, 4])
    net.conv(channels=1, kernel=1, name="ids")
    net.reshape(shape=[16])
    net.embedding(rows=100, features=8, name="rows")
    schedule = stream(load(net), LUNA_LIKE, streamer, LUNA_LIKE.shared_memory.bytes)
    (rows,) = (each for each in schedule.transfers if each.part.name == "rows" and each.part.weights)
    assert rows.issue > max(step.position for step in steps(schedule.body) if step.op == "ids")


@pytest.mark.parametrize(
    "streamer", [prefetch_greedy.STREAMERS[-1], weight_pipeline.STREAMER, sync.STREAMER], ids=lambda s: s.name
)
def test_weights_of_long_recurrent_layers_are_loaded_once_where_half_of_the_memory_holds_them(
    streamer: Streamer,
) -> None:
    """In slices they would be loaded again at each of the 200 time steps."""
    program = small_network("layers")
    size = 16 * 1024
    request = StreamRequest(program, with_memory(LUNA_LIKE, size), size)
    schedule = build_schedule(request, streamer, {})
    loaded = sum(t.bytes for t in schedule.transfers if t.part.weights)
    assert loaded == sum(weight.bytes for weight in program.weights.values())
