"""The bound over the listed ways to run ops: above the one of any plan, below every plan of the list."""

from dataclasses import replace

import pytest

from chipmodel.answers.result import Result
from chipmodel.bounds.columns import listed_bound, listed_instance
from chipmodel.bounds.listed import with_listed_bound
from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import RowsInPlace, with_ops
from chipmodel.model.time_bound import LISTED
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from dma.columns.plan_ways import PlanWays, plan_ways
from solvers.core.deadline import Deadline
from tests.fuzz.cycle_bounds import QUICK_STREAMERS, listed_runs, tally
from workloads.load import load


def planned(
    network: str, chip: str, size: int, streamer: str = "auto", cascade: str = CASCADE_AUTO
) -> Result:
    program = reuse(load(f"zoo:{network}"), "all")
    return run(PlanRequest(program, load_chip(chip).with_memory(size), streamer=streamer, cascade=cascade))


@pytest.mark.parametrize(
    "seeds", [range(3), range(940_063, 940_064), pytest.param(range(3, 9), marks=pytest.mark.slow)]
)
def test_no_plan_of_the_list_beats_the_bound(seeds: range) -> None:
    """Random programs on random chips, planned by several streamers."""
    assert tally(run for seed in seeds for run in listed_runs(seed, QUICK_STREAMERS))["runs"] > 2 * len(seeds)


@pytest.mark.parametrize(
    ("network", "chip", "size", "share"),
    [("ds_cnn", "alif-e7", 8272, 1.5), ("micronet_kws", "stm32n6", 22216, 1.25)],
)
def test_known_rows(network: str, chip: str, size: int, share: float) -> None:
    """In half and in a quarter of what ``ping-pong`` needs the list says much more than any plan's bound:
    launches, stripes and waits of its steps count."""
    program = reuse(load(f"zoo:{network}"), "all")
    target = load_chip(chip).with_memory(size)
    found = listed_bound(program, target, {}, True, PlanWays())
    alone = listed_bound(program, target, {}, False, PlanWays())
    any_plan = time_bound(program, target, {}, True)
    assert found is not None
    assert alone is not None
    assert any_plan.cycles * share < found.cycles <= alone.cycles
    assert found.ways > 1000
    assert sum(binding.cycles for binding in found.bindings) == found.cycles


@pytest.mark.parametrize(("chip", "size"), [("stm32n6", 16520), ("alif-e7", 16544)])
def test_outputs_that_a_plan_has_in_place_by_rows_are_listed(chip: str, size: int) -> None:
    """With them the plan is within a quarter of its bound; it beats all ways without."""
    result = planned("ds_cnn", chip, size)
    own = plan_ways(result.schedule)
    assert own.in_rows
    found = listed_bound(result.program, result.chip, {}, True, own)
    without = listed_bound(result.program, result.chip, {}, True, replace(own, in_rows=frozenset()))
    assert found is not None
    assert without is not None
    assert found.cycles <= result.trace.cycles < min(1.25 * found.cycles, without.cycles)


def test_ways_of_ample_memory_are_not_those_of_tight_memory() -> None:
    """Only there parts have some of both rows and channels, also in a process that has listed others."""
    program, chip = load("zoo:ds_cnn"), load_chip("alif-e7")
    listed = [
        listed_instance(program, chip.with_memory(size), {}, False, PlanWays()) for size in (1 << 20, 4128)
    ]
    ample, tight = (made and made.columns.stretch(2, 3) for made in listed)
    assert ample is not None
    assert tight is not None
    assert len(ample.choices) < len(tight.choices)


def test_an_op_that_has_its_place_by_rows_already_is_not_taken_for_one_like_it() -> None:
    """The first one is listed, the other one runs in any way, also in a process that has listed the first."""
    program = reuse(load("zoo:resnet8"), "all")
    number = next(at for at, op in enumerate(program.ops()) if op.overwrites)
    name = [*program.ops()][number].name
    place = RowsInPlace(1, 1, 0, 0)
    body = with_ops(program.body, lambda op: replace(op, by_rows=place) if op.name == name else op)
    for each, is_listed in ((program, True), (replace(program, body=body), False), (program, True)):
        made = listed_instance(each, load_chip("alif-e7"), {}, False, PlanWays())
        assert made is not None
        assert (made.columns.stretch(number, number + 1) is not None) == is_listed


def test_recurrent_ops_in_loops_have_listed_ways() -> None:
    """Some of their weights may be there from before."""
    program = reuse(load("zoo:denoise"), "all")
    path, target = {"frames": "100", "voice_activity": "speech"}, load_chip("stm32n6").with_memory(1016)
    found = listed_bound(program, target, path, True, PlanWays())
    assert found is not None
    assert found.cycles > 1.1 * time_bound(program, target, path, True).cycles
    assert sum(binding.cycles for binding in found.bindings) == found.cycles  # 100 times the first iteration


def test_a_whole_op_that_overwrites_its_input_needs_no_room_for_both() -> None:
    assert tally(listed_runs(910_098, ("sync",)))["runs"]


def test_a_result_says_both_bounds() -> None:
    result = planned("ds_cnn", "alif-e7", 8272, "sync", "off")
    listed = with_listed_bound(result).bound
    assert listed.space == LISTED[False]
    assert listed.any_plan == result.bound.cycles < listed.cycles <= result.trace.cycles


def test_a_plan_that_is_not_listed_keeps_its_bound() -> None:
    result = planned("ds_cnn", "alif-e7", 8272, "sync", "off")
    faster = replace(result, trace=replace(result.trace, cycles=result.bound.cycles))
    assert with_listed_bound(faster).bound == result.bound


def test_without_time_the_bound_of_any_plan_stays() -> None:
    said: list[str] = []
    over = Deadline(0.0, clock=lambda: 1.0, ended=said.append)
    result = planned("ds_cnn", "alif-e7", 8272, "sync", "off")
    assert with_listed_bound(result, over).bound == result.bound
    assert said == ["a bound over the listed ways"]


def test_the_ways_of_a_plan_are_its_cuts() -> None:
    result = planned("ds_cnn", "alif-e7", 8272)
    ways = plan_ways(result.schedule)
    assert ways.cuts.keys() >= {op.name for op in result.program.ops()}
    assert {chain.ops for chain in result.schedule.cascades} == ways.chains.keys() != set()


def test_an_op_that_fits_in_no_listed_way_may_have_any() -> None:
    program = reuse(load("zoo:ds_cnn"), "all")
    target = load_chip("stm32n6").with_memory(64)
    found = listed_bound(program, target, {}, True, PlanWays())
    assert found is not None
    assert 0 < found.cycles < 10**9


def test_a_limit_lowers_no_bound_that_it_does_not_exclude() -> None:
    """An op all of whose ways take more than the limit has no other way because of that: only an op that fits
    in none may run in any way whatever."""
    program = reuse(load("zoo:micronet_kws"), "all")
    chip = load_chip("corstone-300").with_memory(44_432)
    bound = listed_bound(program, chip, {}, True, PlanWays())
    limited = listed_bound(program, chip, {}, True, PlanWays(), most=452_310)
    assert bound is not None
    assert limited is not None
    assert limited.cycles == bound.cycles
