"""Paths in the order of their cycles, against all chains of ways on a problem small enough to try them."""

from collections import Counter
from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.bounds.columns import ListedInstance, PlanChoices, listed_instance
from chipmodel.bounds.fluid import NOT_WITHIN
from chipmodel.hardware.chip_file import load_chip
from chipmodel.rewrites.in_place import reuse
from dma.columns.plan_ways import PlanWays
from solvers.columns import path
from solvers.columns.path import FastestPath, fastest_path, fastest_paths, least_time
from solvers.core.deadline import NO_DEADLINE
from solvers.fluid.borders import Cycles
from workloads.build.builder import ProgramBuilder
from workloads.load import load


def instance(size: int) -> ListedInstance:
    """Three layers that may run as cascades, in so many bytes."""
    builder = ProgramBuilder("tiny")
    x = builder.conv("a", builder.input("x", (1, 4, 8, 8)), 8, 3, pad=1)
    builder.output(builder.conv("c", builder.conv("b", x, 8, 3, pad=1, groups=8), 4, 1))
    chip, sought = load_chip("alif-e7").with_memory(size), PlanChoices(NOT_WITHIN, keeps=False)
    made = listed_instance(builder.build(), chip, {}, True, PlanWays(), 1, NO_DEADLINE, sought)
    assert made is not None
    return made


def ordered(made: ListedInstance, most: int) -> list[FastestPath]:
    """So many paths: all different, none faster than the one before, the first one as fast as can be."""
    found = list(islice(fastest_paths(made.problem, made.columns), most))
    cycles = [each.cycles for each in found]
    assert cycles == sorted(cycles)
    assert cycles[0] == least_time(made.problem, made.columns).cycles
    assert len({each.ways for each in found}) == len(found)
    return found


@pytest.mark.parametrize("size", [512, 900, 4096])
def test_paths_come_in_order_from_the_least_time_on(size: int) -> None:
    assert len(ordered(instance(size), 50)) == 50


def test_with_all_ways_followed_they_are_all_chains_of_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ways follow one another where one leaves the tensors in SharedMemory that the next one begins with."""
    monkeypatch.setattr(path, "FURTHER", 1 << 30)
    made, links = instance(512), list[tuple[int, int, list[list[int]]]]()
    link = path.PathSearch.link

    def noted(search: path.PathSearch, start: int, stop: int, table: Cycles, listed: bool) -> int:
        links.append((start, stop, table[:, :2].tolist()))
        return link(search, start, stop, table, listed)

    monkeypatch.setattr(path.PathSearch, "link", noted)
    least_time(made.problem, made.columns)
    chains = Counter({(0, 0): 1})
    for start, stop, moves in sorted(links, key=lambda each: each[:2]):
        for before, after in moves:
            chains[stop, after] += chains[start, before]
    assert len(ordered(made, 1 << 20)) == chains[len(made.problem.ops), 0] == 23_144


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
    """The limits of ``fastest_path`` too: what it answers is the first one of all paths without any."""
    target, sought = load_chip(chip).with_memory(size), PlanChoices(NOT_WITHIN, keeps=False)
    made = listed_instance(PROGRAMS[name], target, PATHS[name], True, PlanWays(), 1, NO_DEADLINE, sought)
    assert made is not None
    first = next(fastest_paths(made.problem, made.columns), None)
    quick = fastest_path(made.problem, made.columns)
    assert (first and first.cycles) == (quick and quick.cycles)
    if first is None:
        return
    less = replace(made.problem, capacity=size * 15 // 16)
    known = fastest_path(less, made.columns)
    limits = [first.cycles + first.cycles // (1 << 3 * beyond + 1)]
    after = fastest_path(less, made.columns, likely=limits, larger=quick)
    assert (known and known.cycles) == (after and after.cycles)
    limit = first.cycles - 2 + beyond
    limited = least_time(made.problem, made.columns, most=limit).cycles
    assert limited == first.cycles if beyond > 1 else limited > limit
