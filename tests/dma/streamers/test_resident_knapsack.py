"""``resident-knapsack``: which weights stay for a loop."""

from itertools import chain as joined, combinations

import pytest
from hypothesis import given, strategies as st

from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.model.schedule import StepLoop, steps
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from dma.streamers.loop_residents import CAPACITY_GRAINS, KnapsackItem, knapsack
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.stepper import step_through
from workloads.build.builder import ProgramBuilder


@given(
    st.lists(st.builds(KnapsackItem, st.integers(0, 60), st.integers(0, 50).map(float)), max_size=7),
    st.integers(0, 150),
)
def test_the_knapsack_is_the_best_of_all_choices(items: list[KnapsackItem], capacity: int) -> None:
    def saved(chosen: tuple[int, ...] | list[int]) -> float:
        return sum(items[number].cycles for number in chosen)

    every = joined.from_iterable(combinations(range(len(items)), count) for count in range(len(items) + 1))
    best = max(saved(c) for c in every if sum(items[n].bytes for n in c) <= capacity)
    chosen = knapsack(items, capacity)
    assert chosen == sorted(set(chosen))
    assert sum(items[number].bytes for number in chosen) <= capacity
    assert saved(chosen) == best


@given(
    st.lists(st.builds(KnapsackItem, st.integers(1, 10**7), st.integers(1, 99).map(float)), max_size=9),
    st.integers(0, 10**7),
)
def test_large_sizes_are_rounded_up_to_grains_that_always_fit(
    items: list[KnapsackItem], capacity: int
) -> None:
    chosen = knapsack(items, capacity)
    assert sum(items[number].bytes for number in chosen) <= capacity
    left = capacity - sum(items[number].bytes for number in chosen)
    slack = (len(items) + 1) * (capacity // CAPACITY_GRAINS + 1)
    assert all(item.bytes + slack > left for n, item in enumerate(items) if n not in chosen)


def test_no_capacity_keeps_nothing() -> None:
    assert knapsack([KnapsackItem(1, 5.0), KnapsackItem(16, 9.0)], -3) == []
    assert knapsack([], 100) == []


def looped(iterations: int, rows: int = 1, layers: str = "abcd") -> Program:
    """One dense layer, and ``iterations`` times some ``layers`` of 4,352 B of weights each."""
    builder = ProgramBuilder("looped")
    state = builder.dense("before", builder.input("x", (rows, 64)), 64)
    carried = builder.elementwise("copy", "first", [state], outputs=["state"])
    with builder.block() as body:
        x = carried
        for name in layers:
            x = builder.dense(name, x, 64)
        builder.elementwise("copy", "next", [x], outputs=["state"])
    builder.add_loop("loop", iterations, body, ["state"])
    builder.output(builder.dense("after", carried, 64))
    return builder.build()


@pytest.mark.slow
@pytest.mark.parametrize(("size", "kept"), [(32_000, 4), (14_336, 5), (9_600, 1)])
def test_as_many_weights_stay_as_fit_beside_the_others(size: int, kept: int) -> None:
    """Whole blocks, or halves of five."""
    program, chip = looped(6), with_memory(LUNA_LIKE, size)
    made = plan(PlanRequest(program, chip, "large-first", "resident-knapsack"))
    assert made.solved.peak <= size
    assert not verify(program, made.commands, chip)
    (loop,) = (node for node in made.schedule.body if isinstance(node, StepLoop))
    inside = {step.position for step in steps(loop.body)}
    assert sum(t.due in inside and t.issue not in inside for t in made.schedule.transfers) == kept
    for iterations in (0, 1, 2):
        choices = {"loop": str(iterations)}
        assert simulate(made.commands, chip, choices) == step_through(made.commands, chip, choices)
    greedy = plan(PlanRequest(program, chip, "large-first", "prefetch-greedy"))
    assert simulate(made.commands, chip).cycles < simulate(greedy.commands, chip).cycles


def test_memory_is_left_for_the_weights_that_are_read_next() -> None:
    """With all of it for weights that stay, each load would wait for the layer before: 203,253 cycles."""
    program, chip = looped(6, 16, "abcdefgh"), with_memory(LUNA_LIKE, 24_000)
    made = plan(PlanRequest(program, chip, "large-first", "resident-knapsack"))
    assert not verify(program, made.commands, chip)
    assert simulate(made.commands, chip).cycles < 180_000
