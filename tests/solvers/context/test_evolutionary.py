"""The genetic algorithm: crossover by hand, what it starts from, what it reaches."""

from dataclasses import replace
from random import Random

from hypothesis import given, strategies as st

from chipmodel.model.plan import Problem
from solvers.context.evolutionary import evolve, order_crossover
from solvers.core.decode import decoder
from solvers.core.first_fit import ORDERS, first_fit
from solvers.core.outcome import Limits
from solvers.heuristics.best_fit import greedy_best_fit
from tests.solvers.many_problems import any_problem, simple_problems
from tests.support.narrowed import some
from tests.support.plain_check import check
from workloads.packing.guillotine import guillotine

HARD = replace(guillotine(60, 2), capacity=None)


class Cuts(Random):
    """A random source that cuts at given places."""

    def __init__(self, *cuts: int) -> None:
        self.cuts = list(cuts)
        super().__init__(0)

    def randrange(self, *_: int) -> int:  # type: ignore[override]  # pyright: ignore
        return self.cuts.pop(0)


def test_order_crossover_by_hand() -> None:
    """1 2 and 3 are kept where they are; the rest comes as the other parent has it."""
    assert order_crossover([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], Cuts(1, 3)) == [4, 1, 2, 3, 0]
    assert order_crossover([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], Cuts(3, 1)) == [4, 1, 2, 3, 0]
    assert order_crossover([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], Cuts(0, 0)) == [0, 4, 3, 2, 1]
    assert order_crossover([0, 1, 2], [2, 0, 1], Cuts(0, 2)) == [0, 1, 2]


@given(st.permutations(range(7)), st.permutations(range(7)), st.integers(0, 99))
def test_a_child_has_every_gene_once(one: list[int], other: list[int], seed: int) -> None:
    assert sorted(order_crossover(one, other, Random(seed))) == list(range(7))


def test_decoding_is_what_the_heuristics_do() -> None:
    for seed in range(200):
        problem = any_problem(seed)
        made = some(decoder(problem, 10**9))
        by_size = sorted(made.solid, key=lambda i: -problem.buffers[i].bytes)
        lowest, tightest = made.ends(by_size, "lowest fit"), made.ends(by_size, "best fit")
        assert lowest is not None
        assert made.plan(lowest) == first_fit(problem, ORDERS["large-first"]), seed
        assert made.plan(some(tightest)) == greedy_best_fit(problem), seed
        peak = max(lowest, default=0)
        assert made.ends(by_size, "lowest fit", peak) == lowest
        assert peak == 0 or made.ends(by_size, "lowest fit", peak - 1) is None


@given(simple_problems(), st.integers(0, 9))
def test_never_above_its_seeds(problem: Problem, seed: int) -> None:
    outcome = evolve(problem, Limits(nodes=10, seed=seed))
    assert outcome.plan is not None
    assert check(problem, outcome.plan) == ()
    seeds = [first_fit(problem, key).peak(problem) for key in ORDERS.values()]
    assert outcome.plan.peak(problem) <= min([*seeds, greedy_best_fit(problem).peak(problem)])


def test_more_children_are_never_worse_and_make_it_better() -> None:
    peaks = [some(evolve(HARD, Limits(nodes=n)).plan).peak(HARD) for n in (0, 10, 100, 400, 1600)]
    assert peaks == sorted(peaks, reverse=True)
    assert peaks[-1] < 0.97 * peaks[0]
