"""Every heuristic on random problems and on the zoo: the check and the bound."""

from dataclasses import replace

import pytest

from chipmodel.model.plan import Problem
from chipmodel.verify.fast_offsets import check_fast
from chipmodel.verify.offsets import check
from solvers.core.bounds import contention
from solvers.core.outcome import Limits
from solvers.registry import packers, solve
from tests.solvers.many_problems import any_problem, zoo_problems
from tests.support.buffers import buffer
from tests.support.random_buffers import random_buffers

EXACT = ("auto", "exact", "search", "cp-sat")
HEURISTICS = [*(name for name in packers() if name not in EXACT), "pool:0"]


@pytest.mark.slow
@pytest.mark.parametrize("packer", HEURISTICS)
def test_random_problems(packer: str) -> None:
    for seed in range(60):
        problem = any_problem(seed)
        solved = solve(problem, packer, Limits(nodes=20))
        assert check(problem, solved.plan) == (), seed
        assert solved.peak >= solved.lower_bound >= contention(problem), seed


@pytest.mark.parametrize("packer", HEURISTICS)
def test_sizes_beyond_64_bits(packer: str) -> None:
    large = {"a": 1 << 70, "c": 1 << 71}
    ends = (buffer("a", large["a"], 0, 2), buffer("c", large["c"], 2, 4))
    offsets = solve(Problem((*ends, buffer("b", 3, 1, 3, 8))), packer).plan.offsets
    low = offsets["b"]
    assert low % 8 == 0
    assert all(low + 3 <= offsets[name] or low >= offsets[name] + size for name, size in large.items())


@pytest.mark.parametrize("packer", [*HEURISTICS, "exact"])
def test_each_third_network_of_the_zoo(packer: str) -> None:
    for name, problem in list(zoo_problems().items())[::3]:
        solved = solve(problem, packer, Limits(nodes=100))
        assert check(problem, solved.plan) == (), name
        assert solved.peak >= solved.lower_bound >= contention(problem), name


def test_hill_climb_reaches_the_bound_on_every_network_but_one() -> None:
    solved = {name: solve(problem, "hill-climb") for name, problem in zoo_problems().items()}
    assert [name for name, each in solved.items() if each.status != "optimal"] == ["resnet50"]
    assert solved["resnet50"].peak <= 1.13 * solved["resnet50"].lower_bound


def densenet121() -> Problem:
    """Its feature maps at 224 x 224, int8: in a block every layer's 32 channels live until the block ends,
    because each later layer reads them all."""
    from chipmodel.geometry.interval import Interval
    from chipmodel.model.plan import Buffer

    buffers = [Buffer("stem", 64 * 112 * 112, (Interval(0, 2),)), Buffer("pool", 64 * 56 * 56, ())]
    step, channels, side = 2, 64, 56
    for layers in (6, 12, 24, 16):
        end = step + 2 * layers
        buffers[-1] = replace(buffers[-1], live=(Interval(step - 1, end + 1),))
        for layer in range(layers):
            at = step + 2 * layer
            name = f"{side}.{layer}"
            buffers.append(Buffer(f"{name}.narrow", 128 * side * side, (Interval(at, at + 2),), 16))
            buffers.append(Buffer(f"{name}.grown", 32 * side * side, (Interval(at + 1, end + 1),), 16))
        channels += 32 * layers
        buffers.append(Buffer(f"{side}.all", channels * side * side, (Interval(end, end + 2),), 16))
        channels, side, step = channels // 2, side // 2, end + 2
        buffers.append(Buffer(f"{side}.in", channels * side * side, (), 16))
    buffers[-1] = replace(buffers[-1], live=(Interval(step - 1, step),))
    return Problem(tuple(buffers))


@pytest.mark.slow
@pytest.mark.parametrize("packer", HEURISTICS)
def test_large_problems(packer: str) -> None:
    """Their seconds are measured by ``python -m bench.packing_speed``."""
    dense = densenet121()
    assert len(dense.buffers) == 126
    for problem in (dense, random_buffers(1, 3_000, horizon=3_000, longest=60, alignments=(16,))):
        solved = solve(problem, packer)
        assert check_fast(problem, solved.plan) == ()
        assert solved.peak >= contention(problem)
