"""The window bound by hand, against every order of loads, and monotone in the capacity."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from math import ceil, prod

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.bounds.program_windows import window_time_bound
from chipmodel.bounds.windows import BoundSegment, OpRun, ReadData, window_bound
from chipmodel.hardware.chip import Channels
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.model.schedule import Direction
from chipmodel.model.short_path import RepeatedRuns
from chipmodel.timing.transfer import least_cost, transfer_cycles
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.support.small_networks import small_network


def weights(op: int, size: int, cycles: int) -> ReadData:
    return ReadData(op, size, Fraction(cycles))


def chain(*ops: tuple[int, int]) -> list[OpRun]:
    """Ops of (compute cycles, weight bytes); a byte takes a cycle to load."""
    return [
        OpRun(f"op{i}", compute, (weights(i, size, size),) if size else ())
        for i, (compute, size) in enumerate(ops)
    ]


def test_shared_memory_is_empty_at_first() -> None:
    assert window_bound(chain((5, 100)), 1000).cycles == 100
    assert window_bound(chain((50, 100), (50, 0)), 1000).cycles == 100 + 50


def test_data_beyond_the_capacity_are_loaded_after_the_op_before_has_begun() -> None:
    """While op 0 computes for 1,000 cycles, 300 bytes can be loaded ahead of the 500 that follow."""
    runs = chain((1000, 0), (10, 200), (10, 300))
    assert window_bound(runs, 10_000).cycles == 1020
    bound = window_bound(runs, 300)
    assert bound.cycles == 1000 + 500 - 300
    assert bound.segments == (BoundSegment("npu", 0, 1, 1000), BoundSegment("dma", 1, 3, 200))


def test_the_knapsack_keeps_the_data_with_the_most_cycles_a_byte() -> None:
    """Small blocks have a set-up each, so a plan would keep them."""
    dear, cheap = weights(1, 10, 110), weights(2, 100, 200)
    runs = [OpRun("a", 500, ()), OpRun("b", 0, (dear,)), OpRun("c", 0, (cheap,))]
    assert window_bound(runs, 10).cycles == 500 + 200
    assert window_bound(runs, 60).cycles == 500 + 100


@pytest.mark.parametrize("blocks", [2, 4000])
def test_windows_that_do_not_overlap_add_up(blocks: int) -> None:
    """Each of the large blocks has to be loaded, all but 100 bytes, between long ops."""
    runs = chain(*[(1000, 0), (1, 400)] * blocks, (1000, 0))
    assert window_bound(runs, 100).cycles == (blocks + 1) * 1000 + blocks * 300


def test_a_tensor_comes_back_from_psram_or_takes_memory() -> None:
    runs = [
        OpRun("make", 100, ()),
        OpRun("busy", 1000, ()),
        OpRun("use", 10, (ReadData("t", 80, Fraction(80), made=0), weights(9, 100, 100))),
    ]
    assert window_bound(runs, 100).cycles == 100 + 1000 + 80
    assert window_bound(runs, 180).cycles == 1110


def test_outputs_are_stored_at_the_end() -> None:
    runs = [OpRun("a", 10, (weights(0, 50, 50),), Fraction(30))]
    assert window_bound(runs, 1000).cycles == 80


def best_of_all_plans(ops: Sequence[tuple[int, int]], capacity: int) -> int | None:
    """The least cycles over all orders of loading whole blocks, each as soon as it fits: a block takes its
    bytes from when its load begins to when its op ends."""
    found: list[int] = []
    for order in permutations([i for i, (_, size) in enumerate(ops) if size]):
        cycles = _run(ops, capacity, order)
        if cycles is not None:
            found.append(cycles)
    return min(found, default=None)


def _run(ops: Sequence[tuple[int, int]], capacity: int, order: Sequence[int]) -> int | None:
    ends: list[int] = []
    loaded: dict[int, int] = {}
    queue, engine = list(order), 0
    for index, (compute, size) in enumerate(ops):
        begin = ends[-1] if ends else 0
        while True:
            # Load ahead while the next block fits next to those that are still needed.
            held = sum(ops[i][1] for i in loaded if i >= index)
            if not queue or held + ops[queue[0]][1] > capacity:
                break
            engine = max(engine, begin) + ops[queue[0]][1]
            loaded[queue.pop(0)] = engine
        if size and index not in loaded:
            return None
        ends.append(max(begin, loaded.get(index, 0)) + compute)
    return ends[-1]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=5),
    st.integers(1, 30),
)
def test_no_order_of_loads_is_faster(ops: list[tuple[int, int]], capacity: int) -> None:
    best = best_of_all_plans(ops, capacity)
    if best is not None:
        assert window_bound(chain(*ops), capacity).cycles <= best


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 120)), min_size=1, max_size=12),
    st.integers(0, 300),
    st.integers(0, 300),
)
def test_more_memory_never_raises_the_bound(ops: list[tuple[int, int]], capacity: int, more: int) -> None:
    runs = chain(*ops)
    bound = window_bound(runs, capacity)
    assert window_bound(runs, capacity + more).cycles <= bound.cycles
    assert sum(s.cycles for s in bound.segments) <= bound.cycles <= sum(map(sum, ops))
    assert bound.cycles >= max(sum(c for c, _ in ops), sum(size for _, size in ops))


def every_window(
    runs: Sequence[OpRun], capacity: int, between: Sequence[int], repeats: Sequence[RepeatedRuns]
) -> Fraction:
    """The longest path over all pairs of borders, each with its own knapsack."""
    ends = dict.fromkeys(between, Fraction(0))
    last = Fraction(0)

    def times(start: int, stop: int) -> int:
        return prod(each.times for each in repeats if each.start <= start and stop <= each.stop)

    for start, stop in combinations(between, 2):
        new = {d.key: d for run in runs[start:stop] for d in run.reads if d.made < start}
        room, moved = capacity if start else 0, Fraction(0)
        for data in sorted(new.values(), key=lambda data: -data.cycles / data.bytes):
            there = min(room, data.bytes)
            room -= there
            moved += data.cycles * (data.bytes - there) / data.bytes
        computed = sum(runs[run].cycles * times(run, run + 1) for run in range(start, stop))
        longest = max(Fraction(computed), moved * times(start, stop))
        ends[stop] = max(ends[stop], ends[start] + longest)
        if stop == len(runs):
            stored = sum((run.stored for run in runs[start:]), Fraction(0))
            last = max(last, ends[start] + moved + stored)
    return max(last, ends[len(runs)])


@st.composite
def looping_runs(draw: st.DrawFn) -> tuple[list[OpRun], list[int], list[RepeatedRuns]]:
    """Runs that read some data again, borders, and a loop within another."""
    count = draw(st.integers(1, 9))
    data = [
        ReadData(key, size, Fraction(cycles), made)
        for key, (size, cycles, made) in enumerate(
            draw(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 40), st.integers(-1, 5)), max_size=7))
        )
    ]
    runs: list[OpRun] = []
    for number in range(count):
        there = [each for each in data if each.made < number]
        reads = draw(st.lists(st.sampled_from(there), max_size=3)) if there else []
        stored = Fraction(draw(st.sampled_from((0, 0, 7))))
        runs.append(OpRun(f"op{number}", draw(st.integers(0, 20)), tuple(reads), stored))
    between = sorted({0, count, *draw(st.sets(st.integers(1, count)))})
    ends = sorted(draw(st.tuples(*[st.sampled_from(between[1:])] * 4)))
    loops = (RepeatedRuns(ends[1], ends[2], 3), RepeatedRuns(ends[0], ends[3], 2))
    return runs, between, [loop for loop in loops if loop.start < loop.stop]


@settings(max_examples=150, deadline=None)
@given(looping_runs(), st.integers(0, 30))
def test_the_best_sum_is_that_of_all_windows(
    path: tuple[list[OpRun], list[int], list[RepeatedRuns]], capacity: int
) -> None:
    runs, between, repeats = path
    best = every_window(runs, capacity, between, repeats)
    assert window_bound(runs, capacity, between, repeats).cycles == ceil(best)


@pytest.mark.parametrize("name", preset_names())
@pytest.mark.parametrize("direction", ["load", "store"])
def test_each_transfer_costs_its_set_up_and_its_bytes_at_least(name: str, direction: Direction) -> None:
    """So every block that is loaded on its own takes the cycles of a set-up."""
    chip = load_chip(name, ())
    once, each = least_cost(chip, direction)
    for size in [*range(1, 200), 255, 256, 257, 1000, 1023, 1024, 1025, 4095, 4096, 65_537, 1_000_003]:
        assert transfer_cycles(chip, direction, size) >= once + size * each, size


def test_only_one_channel_pays_every_set_up() -> None:
    program = small_network("two")
    one = window_time_bound(program, PLAIN, {})
    two = window_time_bound(program, replace(PLAIN, dma=replace(PLAIN.dma, channels=Channels(2))), {})
    assert one is not None
    assert two is not None
    assert one.cycles - two.cycles == 3 * 10 + 5
