"""Ops of different bodies, iterations and inferences do not take turns: the bound for cascades knows that."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from chipmodel.bounds.columns import listed_bound
from chipmodel.bounds.time_bound import time_bound
from chipmodel.cascades.rewrite import with_cascades
from chipmodel.errors import BadInput
from chipmodel.hardware.chip import Chip, Dma, Route
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program, with_ops
from chipmodel.model.short_path import short_path
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.steady_state import steady, unrolled
from dma.columns.plan_ways import PlanWays
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.fuzz.cascades import planned_case, random_case, random_choices
from tests.fuzz.cycle_bounds import random_case as random_small_case
from tests.support.chips import with_memory
from tests.support.narrowed import some
from tests.support.random_images import ImageShape, random_images
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder

CHANNELS = 16
WEIGHTS = 2 * CHANNELS * CHANNELS
"""Bytes of two 1 x 1 convolutions in int8, without a bias."""
STEADY_SEEDS = range(12)
BYTE_A_CYCLE: Chip = replace(PLAIN, dma=Dma(Route(0, 1, Fraction(0)), Route(0, 1, Fraction(0)), port_bytes=1))
"""A MAC and a byte take a cycle each, without set-ups."""


def listed(program: Program, chip: Chip, path: Mapping[str, str], cascades: bool, inferences: int = 1) -> int:
    found = listed_bound(program, chip, path, cascades, PlanWays(), inferences)
    assert found is not None
    return found.cycles


def cascaded(program: Program, capacity: int, path: Mapping[str, str] | None = None) -> int:
    return listed(program, with_memory(BYTE_A_CYCLE, capacity), path or {}, True)


def without_cycles(program: Program) -> Program:
    """The same, whose only costs are transfers."""
    return replace(program, body=with_ops(program.body, lambda op: replace(op, cycles=0)))


def looped(iterations: int) -> Program:
    """Two convolutions in a loop."""
    builder = ProgramBuilder("looped")
    x = builder.input("x", (1, CHANNELS, 1, 1))
    with builder.block() as body:
        a = builder.conv("a", x, CHANNELS, 1, bias=False)
        b = builder.conv("b", a, CHANNELS, 1, bias=False)
    builder.add_loop("loop", iterations, body)
    builder.output(b)
    return without_cycles(builder.build())


def nested(within: int, around: int) -> Program:
    """Two convolutions in a loop, between two others in a loop."""
    builder = ProgramBuilder("nested")
    x = builder.input("x", (1, CHANNELS, 1, 1))
    with builder.block() as body:
        x = builder.conv("a", x, CHANNELS, 1, bias=False)
        with builder.block() as inner:
            x = builder.conv("c", builder.conv("b", x, CHANNELS, 1, bias=False), CHANNELS, 1, bias=False)
        builder.add_loop("inner", within, inner)
        x = builder.conv("d", x, CHANNELS, 1, bias=False)
    builder.add_loop("loop", around, body)
    builder.output(x)
    return without_cycles(builder.build())


@pytest.mark.parametrize("capacity", [300, 600])
def test_a_few_iterations_stand_for_all(capacity: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is that of all iterations one by one."""

    def bounds() -> tuple[int, int]:
        path = {"loop": "6", "inner": "5"}
        return cascaded(looped(16), capacity, {"loop": "16"}), cascaded(nested(5, 6), capacity, path)

    short = bounds()
    monkeypatch.setattr("chipmodel.model.short_path.ITERATIONS", 16)
    assert short == bounds()


def test_a_million_iterations_are_bounded_as_well() -> None:
    many = cascaded(nested(999, 1000), 300, {"loop": "1000", "inner": "999"})
    assert many > 900_000 * (2 * CHANNELS * CHANNELS - 300)


@pytest.mark.parametrize(("seed", "path"), [(5, {"loop4": "12"}), (24, {"loop1": "7"})])
def test_a_few_iterations_never_stand_for_more_than_all(
    seed: int, path: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the grid of amounts is coarse, so that what is ahead seems to grow in each iteration."""
    program, chip = random_small_case(seed)
    for cascades in (False, True):
        monkeypatch.undo()
        short = listed(program, chip, path, cascades)
        monkeypatch.setattr("chipmodel.model.short_path.ITERATIONS", 12)
        every = listed(program, chip, path, cascades)
        assert 0.95 * every < short <= every


def test_straight_runs_are_numbered_along_the_path() -> None:
    program = small_network("forked")
    found = [(op.name, number) for op, number in some(short_path(program, {"fork": "right"}, 9)).runs]
    assert found == [("first", 0), ("right", 1), ("last", 2)]
    assert [number for _, number in some(short_path(looped(2), {"loop": "2"}, 9)).runs] == [1, 1, 3, 3]


@pytest.mark.parametrize("capacity", [300, 400, 500, 1000])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_iteration_loads_what_does_not_stay(count: int, capacity: int) -> None:
    """In one cascade of all iterations the weights would be loaded once. At the begin of an iteration at most
    those that do not fit are ``missing``. As the two ops alternate, each finds of its weights at most those
    that fit next to the other's: so many bytes the best of all plans loads, and the output it stores."""
    bound = cascaded(looped(count), capacity, {"loop": str(count)})
    moved = CHANNELS + WEIGHTS
    missing = max(0, moved - capacity)
    assert moved + (count - 1) * (missing - CHANNELS) <= bound
    assert bound <= moved + (count - 1) * 2 * missing + CHANNELS


def test_inferences_one_after_another_load_them_as_well() -> None:
    program = unrolled(without_cycles(steady(small_network("chain"), 3)))
    chip = with_memory(BYTE_A_CYCLE, 300)
    together, apart = (listed(program, chip, {}, True, inferences) for inferences in (1, 3))
    # Inputs and outputs are moved in both; a cycle an iteration is rounded off.
    assert apart >= 3 * CHANNELS + WEIGHTS + 2 * (WEIGHTS - 300) - 3
    assert apart > together


@pytest.mark.slow
def test_no_steady_state_with_cascades_beats_the_bound() -> None:
    planned = 0
    for seed in STEADY_SEEDS:
        random = Random(seed)
        _, _, request = random_case(seed)
        try:
            program = steady(random_images(seed, ImageShape(ops=4, depth=0)), random.randint(2, 4))
        except BadInput:
            continue
        program = reuse(program, "all")
        choices = next(filter(None, (tuple(random_choices(program, random)) for _ in range(8))), ())
        found = planned_case(with_cascades(program, choices), replace(request, program=program))
        if found is None:
            continue
        request, plan = found
        trace = simulate(plan.commands, request.chip, {})
        made = program.inferences
        bound = time_bound(unrolled(program), request.chip, trace.path, cascades=True, inferences=made)
        assert trace.cycles >= bound.cycles, seed
        planned += bool(plan.schedule.cascades)
    assert planned
