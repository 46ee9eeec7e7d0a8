"""Slices that stay for a loop, and loads for its next iteration, against every set of slices."""

from itertools import combinations

from hypothesis import given, strategies as st

from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.model.schedule import StepLoop, steps
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.steady_state import steady
from dma.streamers.resident_slices import SliceSet, best_slice_sets
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.build.builder import ProgramBuilder


def every_set(count: int) -> list[SliceSet]:
    return [frozenset(c) for size in range(count + 1) for c in combinations(range(count), size)]


@given(st.integers(0, 5), st.data())
def test_of_few_slices_the_best_of_all_sets_that_fit(count: int, data: st.DataObject) -> None:
    """Where not all of them fit; all are taken where they do and are better than none."""
    sets = every_set(count)
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    capacity = data.draw(st.integers(0, 25))
    cycles = dict(zip(sets, data.draw(st.permutations(range(len(sets)))), strict=True))

    def fits(chosen: SliceSet) -> bool:
        return sum(sizes[n] for n in chosen) <= capacity

    found, *others = best_slice_sets(count, fits, lambda chosen: cycles[chosen])
    assert [cycles[chosen] for chosen in others] == sorted(cycles[chosen] for chosen in others)
    tried = [sets[0], sets[-1]] if fits(sets[-1]) else [chosen for chosen in sets if fits(chosen)]
    assert found == min(tried, key=lambda chosen: cycles[chosen])


@given(st.integers(6, 12), st.integers(0, 40), st.data())
def test_of_many_slices_no_worse_than_no_set_and_the_offered_ones(
    count: int, most: int, data: st.DataObject
) -> None:
    worth = data.draw(st.lists(st.integers(-5, 9), min_size=count, max_size=count))
    offered = [frozenset(data.draw(st.sets(st.integers(0, count - 1), max_size=4))) for _ in range(2)]

    def cycles(chosen: SliceSet) -> float:
        return 100 - sum(worth[n] for n in chosen)

    found = best_slice_sets(count, lambda chosen: len(chosen) <= 4, cycles, offered, most)[0]
    assert len(found) <= 4
    assert cycles(found) <= min(100, *map(cycles, offered))
    if not most:
        return
    enough = best_slice_sets(count, lambda chosen: len(chosen) <= 4, cycles, offered, 10**6)[0]
    assert cycles(enough) == 100 - sum(sorted((w for w in worth if w > 0), reverse=True)[:4])


def chain(seed: int) -> tuple[Program, Chip]:
    """Four layers of one to three KiB of weights, of which some fit."""
    widths = [32, (48, 64, 32)[seed % 3], 64, (32, 48)[seed % 2]]
    builder = ProgramBuilder("chain")
    x = builder.input("x", (1, 32))
    for number, width in enumerate(widths):
        x = builder.dense(f"d{number}", x, width)
    builder.output(x)
    return steady(builder.build(), 6), with_memory(LUNA_LIKE, 4_500 + 600 * seed)


def test_the_next_iterations_input_is_loaded_during_the_iteration_before() -> None:
    program, _ = chain(2)
    planned = plan(PlanRequest(program, LUNA_LIKE, "large-first", "exact"))
    (loop,) = (node for node in planned.schedule.body if isinstance(node, StepLoop))
    inside = [step.position for step in steps(loop.body)]
    (move,) = (t for t in planned.schedule.transfers if t.part.name == "x")
    assert move.due == inside[0]
    assert len(move.issues) == 2
    assert move.issues[0] < inside[0] < move.issues[1]
