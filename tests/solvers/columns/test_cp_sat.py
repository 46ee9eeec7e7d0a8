"""The fastest chain of ways by CP-SAT, against all chains: two clocks, one border after another."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

from chipmodel.bounds.columns import ListedInstance, PlanChoices, listed_instance
from chipmodel.bounds.fluid import NOT_WITHIN
from chipmodel.hardware.chip_file import load_chip
from chipmodel.rewrites.in_place import reuse
from dma.columns.plan_ways import PlanWays
from solvers.columns.cp_sat import ChainModel, ChainWay, least_chain, ways_within
from solvers.columns.path import PathSearch, PathWay, least_time
from solvers.core.deadline import NO_DEADLINE
from solvers.fluid.borders import LEVELS, NEVER
from tests.support.small_networks import small_network
from workloads.load import load

FAR = 1 << 40


def instance(size: int) -> ListedInstance:
    """Three layers that may run as cascades, in so many bytes."""
    chip, sought = load_chip("alif-e7").with_memory(size), PlanChoices(NOT_WITHIN, keeps=False)
    made = listed_instance(small_network("tiny"), chip, {}, True, PlanWays(), 1, NO_DEADLINE, sought)
    assert made is not None
    return made


def cycles_of(chain: Sequence[ChainWay], kept: Sequence[int], delays: dict[tuple[int, int], int]) -> int:
    """The earliest end of a chain: ``ahead`` is what the DMA engine has done more than the ways before need.

    Both clocks are as early as they can be: nothing else makes a later one earlier.
    """
    npu = dma = 0
    last = -1
    for way in chain:
        dma -= kept[way.start]
        dma = max(dma, npu - way.most_before)
        begun = npu
        waited = max(npu, dma + way.needed)
        npu = max(waited + way.cycles, begun + delays.get((last, id(way)), 0))
        dma = max(dma + way.moved, waited + way.beyond)
        dma = max(dma, npu - max(way.most_after, way.least))
        npu = max(npu, dma + way.least)
        last = id(way)
    return max(npu, dma)


def chains(ways: Sequence[ChainWay], count: int) -> Iterator[tuple[ChainWay, ...]]:
    """All chains from the first border to the last."""

    leaving: dict[tuple[int, int], list[ChainWay]] = {}
    for way in ways:
        leaving.setdefault((way.start, way.before), []).append(way)

    def after(border: int, state: int) -> Iterator[tuple[ChainWay, ...]]:
        if border == count:
            yield from [()] if state == 0 else []
            return
        for way in leaving.get((border, state), ()):
            yield from ((way, *rest) for rest in after(way.stop, way.after))

    return after(0, 0)


def random_ways(draw: Random, count: int) -> Iterator[ChainWay]:
    """Some ways of every stretch of up to three runs, with two sets of tensors at each border."""
    for start in range(count):
        for stop in range(start + 1, min(count, start + 3) + 1):
            for _ in range(draw.randint(1, 3)):
                before = draw.randint(0, 1) if start else 0
                after = draw.randint(0, 1) if stop < count else 0
                loads = draw.randint(0, 60), draw.randint(5, 40) * (stop - start), draw.randint(0, 90)
                room = draw.randint(-10, 60), draw.randint(0, 60), -draw.randint(0, 30)
                beyond = draw.randint(-90, 60)
                way = PathWay(start, stop, before, after, 0, None)
                yield ChainWay(start, stop, before, after, *loads, *room, beyond, way, 0)


def searched(count: int, draw: Random) -> PathSearch:
    """A search that has so many runs, of some of which loads are kept."""
    made = instance(900)
    search = PathSearch(made.problem, made.columns, LEVELS)
    search.amounts.count = count
    search.kept = [draw.choice((0, 0, 20)) for _ in range(count)]
    return search


@pytest.mark.parametrize("seed", range(12))
def test_no_chain_of_random_ways_is_faster(seed: int) -> None:
    draw = Random(seed)
    count = draw.randint(2, 5)
    ways, search = [*random_ways(draw, count)], searched(count, draw)
    known = {chain: cycles_of(chain, search.kept, {}) for chain in chains(ways, count)}
    model = ChainModel(search, ways)
    answer = model.least(NO_DEADLINE)
    if not known:
        assert answer.status == "infeasible"
        return
    assert (answer.status, answer.bound) == ("optimal", min(known.values()))
    assert answer.chain is not None
    assert known[tuple(ways[number] for number in answer.chain.ways)] == answer.chain.cycles
    # The next ones, one after another, are all others in the order of their cycles.
    found: list[int] = []
    while answer.chain and len(found) < 20:
        found.append(answer.chain.cycles)
        model.forbidden.append(answer.chain.ways)
        answer = model.least(NO_DEADLINE)
    assert found == sorted(known.values())[: len(found)]
    assert len(found) == min(20, len(known))


@pytest.mark.parametrize("seed", range(6))
def test_ways_that_took_longer_after_one_another_do_so_again(seed: int) -> None:
    draw = Random(seed)
    ways, search = [*random_ways(draw, 4)], searched(4, draw)
    model, later = ChainModel(search, ways), dict[tuple[int, int], int]()
    follow = [
        (before, number)
        for number, way in enumerate(ways)
        for before in range(-1, len(ways))
        if (ways[before].stop if before >= 0 else 0) == way.start
    ]
    for before, number in draw.sample(follow, len(follow) // 2):
        model.delays[before, number] = draw.randint(10, 120)
        known_way = -1 if before < 0 else id(ways[before])
        later[known_way, id(ways[number])] = model.delays[before, number]
    known = [cycles_of(chain, search.kept, later) for chain in chains(ways, 4)]
    answer = model.least(NO_DEADLINE)
    assert answer.bound == min(known, default=0)


@pytest.mark.parametrize("size", [512, pytest.param(900, marks=pytest.mark.slow)])
def test_the_least_of_all_chains_of_a_small_program(size: int) -> None:
    """With the exclusion of ways by the dynamic program: of all chains that there are the least is found."""
    made = instance(size)
    search = PathSearch(made.problem, made.columns, LEVELS)
    search.run(NO_DEADLINE)
    every = ways_within(search, NEVER)
    least = min(cycles_of(chain, search.kept, {}) for chain in chains(every, search.amounts.count))
    found = least_chain(made.problem, made.columns, FAR, NO_DEADLINE)
    assert (found.answer.status, found.answer.bound) == ("optimal", least)
    assert found.left < len(every)
    by_grid = least_time(made.problem, made.columns).cycles
    assert by_grid <= least == least_chain(made.problem, made.columns, least, NO_DEADLINE).answer.bound
    assert least_chain(made.problem, made.columns, by_grid - 1, NO_DEADLINE).answer.status == "infeasible"


def test_what_is_moved_ahead_takes_memory() -> None:
    """MobileNet in half of its memory: with room for any loads ahead some chain would be faster."""
    program, chip = reuse(load("zoo:mobilenetv1_025"), "all"), load_chip("stm32n6").with_memory(33_168)
    made = listed_instance(program, chip, {}, True, PlanWays())
    assert made is not None
    search = PathSearch(made.problem, made.columns, LEVELS)
    most = search.run(NO_DEADLINE) * 1001 // 1000
    ways = ways_within(search, most)
    bound = ChainModel(search, ways).least(NO_DEADLINE).bound
    roomy = [way._replace(most_before=FAR, most_after=FAR) for way in ways]
    assert ChainModel(search, roomy).least(NO_DEADLINE).bound < bound
    less = replace(made.problem, capacity=made.problem.capacity * 7 // 8)
    assert least_chain(less, made.columns, FAR, NO_DEADLINE).answer.bound > bound
