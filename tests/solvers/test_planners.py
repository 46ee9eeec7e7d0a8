"""Every heuristic on random problems and on the zoo: the check and the bound."""

import pytest

from chipmodel.model.plan import Problem
from solvers.core.bounds import contention
from solvers.core.outcome import Limits
from solvers.registry import packers, solve
from tests.solvers.many_problems import any_problem, zoo_problems
from tests.support.buffers import buffer
from tests.support.plain_check import check

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


@pytest.mark.parametrize(
    "packer",
    [*(pytest.param(each, marks=pytest.mark.slow) for each in HEURISTICS), "exact"],
)
def test_each_third_network_of_the_zoo(packer: str) -> None:
    for name, problem in list(zoo_problems().items())[::3]:
        solved = solve(problem, packer, Limits(nodes=100))
        assert check(problem, solved.plan) == (), name
        assert solved.peak >= solved.lower_bound >= contention(problem), name


def test_hill_climb_reaches_the_bound_on_every_network_but_one() -> None:
    solved = {name: solve(problem, "hill-climb") for name, problem in zoo_problems().items()}
    assert [name for name, each in solved.items() if each.status != "optimal"] == ["resnet50"]
    assert solved["resnet50"].peak <= 1.13 * solved["resnet50"].lower_bound
