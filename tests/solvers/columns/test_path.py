"""The fastest path with limits, and with what a search with more memory knows."""

from dataclasses import replace

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.bounds.columns import PlanChoices, listed_instance
from chipmodel.bounds.fluid import NOT_WITHIN
from chipmodel.hardware.chip_file import load_chip
from chipmodel.rewrites.in_place import reuse
from dma.columns.plan_ways import PlanWays
from solvers.columns.path import PathLimits, PathSearch, fastest_path, least_time
from solvers.core.deadline import NO_DEADLINE
from solvers.fluid import residents
from solvers.fluid.borders import LEVELS
from workloads.load import load

PATHS = {"resnet8": {}, "ds_cnn": {}, "denoise": {"frames": "100", "voice_activity": "speech"}}
PROGRAMS = {name: reuse(load(f"zoo:{name}"), "all") for name in PATHS}


@pytest.mark.parametrize(
    "chip",
    ["alif-e7", *(pytest.param(each, marks=pytest.mark.slow) for each in ("stm32n6", "luna-arcs"))],
)
@pytest.mark.parametrize("name", PATHS)
@settings(max_examples=4, deadline=None)
@given(size=st.integers(1, 40).map(lambda part: 2048 * part), beyond=st.integers(0, 3))
def test_a_limit_leaves_out_no_faster_path(name: str, chip: str, size: int, beyond: int) -> None:
    """The limits of ``fastest_path`` too: what it answers is as fast as without any."""
    target, sought = load_chip(chip).with_memory(size), PlanChoices(NOT_WITHIN, keeps=False)
    made = listed_instance(PROGRAMS[name], target, PATHS[name], True, PlanWays(), 1, NO_DEADLINE, sought)
    assert made is not None
    search = PathSearch(made.problem, made.columns, LEVELS)
    search.run(NO_DEADLINE)
    first = search.found()
    quick = fastest_path(made.problem, made.columns)
    assert (first and first.cycles) == (quick and quick.cycles)
    if first is None:
        return
    less = replace(made.problem, capacity=size * 15 // 16)
    known = fastest_path(less, made.columns)
    limits = PathLimits((first.cycles + first.cycles // (1 << 3 * beyond + 1),))
    after = fastest_path(less, made.columns, limits=limits, larger=quick)
    assert (known and known.cycles) == (after and after.cycles)
    limit = first.cycles - 2 + beyond
    limited = least_time(made.problem, made.columns, most=limit).cycles
    assert limited == first.cycles if beyond > 1 else limited > limit


@pytest.mark.parametrize("sought", [None, PlanChoices(NOT_WITHIN, keeps=False)])
@pytest.mark.parametrize("name", ["resnet8", "ds_cnn"])
def test_tensors_that_have_room_anyway_need_not_be_followed(
    name: str, sought: PlanChoices | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def least() -> tuple[int, int]:
        made = listed_instance(PROGRAMS[name], chip, PATHS[name], True, PlanWays(), 1, NO_DEADLINE, sought)
        assert made is not None
        search = PathSearch(made.problem, made.columns, LEVELS)
        return search.run(NO_DEADLINE), sum(map(len, search.amounts.residents.tracked))

    chip = load_chip("alif-e7")
    cycles, followed = least()
    monkeypatch.setattr(residents, "ROOM_SHARE", (0, 1))
    # More tensors may move more ahead, so points are farther apart.
    assert cycles - cycles // 1000 <= least()[0] <= cycles
    assert least()[1] > followed


@pytest.mark.parametrize("levels", [4, 8, 32])
@pytest.mark.parametrize("name", PATHS)
def test_a_limit_holds_for_what_lies_between_two_points(name: str, levels: int) -> None:
    made = listed_instance(PROGRAMS[name], load_chip("alif-e7"), PATHS[name], True, PlanWays())
    assert made is not None
    cycles = least_time(made.problem, made.columns, levels).cycles
    assert least_time(made.problem, made.columns, levels, most=cycles).cycles == cycles
