"""The look-ahead against every combination there is."""

from itertools import product

from hypothesis import given, strategies as st

from chipmodel.model.plan import Problem
from solvers.context.live_blocks import AllocationRequest, alive, places, put, requests
from solvers.context.look_ahead import look_ahead
from solvers.context.place import in_memory
from solvers.context.pool import context_pool_nodes
from solvers.core.bounds import contention
from tests.solvers.many_problems import odd_problems, simple_problems

Cost = tuple[int, int]
NONE: tuple[int, ...] = ()


def digits(state: tuple[int, ...], item: int) -> list[tuple[int, int, int]]:
    """A made-up game: the digits 0 to 2; a digit costs by ``item``, and 5 more after the same digit."""
    last = state[-1] if state else -1
    return [(0, (item * (d + 1)) % 7 + 5 * (d == last), d) for d in range(3)]


def after(state: tuple[int, ...], item: int, digit: int) -> tuple[int, ...]:
    return (digit,)


def price(items: tuple[int, ...], chosen: tuple[int, ...]) -> int:
    state: tuple[int, ...] = ()
    total = 0
    for item, digit in zip(items, chosen, strict=True):
        total += {d: cost for _, cost, d in digits(state, item)}[digit]
        state = after(state, item, digit)
    return total


@given(st.lists(st.integers(0, 20), max_size=6), st.integers(0, 6))
def test_the_first_place_is_that_of_a_best_combination(items: list[int], context: int) -> None:
    """By all of them: with no bound on the combinations, each place begins a best one of its context."""
    chosen = tuple(look_ahead(items, NONE, digits, after, context, None))
    for at in range(len(items)):
        window = tuple(items[: at + context + 1])
        left = len(window) - at - 1
        prices = {
            digit: min(price(window, (*chosen[:at], digit, *rest)) for rest in product(range(3), repeat=left))
            for digit in range(3)
        }
        assert prices[chosen[at]] == min(prices.values())


def best_of_all(order: list[AllocationRequest], memory: int) -> Cost:
    """The least memory, then the least external fragmentation summed over all placements, of every
    combination of places."""

    def go(number: int, size: int, blocks: tuple[tuple[int, int, int], ...], scattered: int) -> Cost:
        if number == len(order):
            return size, scattered
        request = order[number]
        live = alive(blocks, request.start)
        return min(
            go(
                number + 1,
                max(size, place.offset + request.size),
                put(live, request, place.offset),
                scattered + place.scattered,
            )
            for place in places(live, size, request)
        )

    return go(0, memory, (), 0)


@given(simple_problems().filter(lambda problem: len(problem.buffers) <= 6), st.sampled_from((0, 1, 3)))
def test_context_finds_the_best_of_all_combinations(problem: Problem, more: int) -> None:
    order = requests(problem)
    memory = contention(problem) + more
    plan = in_memory(problem, order, memory, len(order), None)
    assert max(memory, plan.peak(problem)) == best_of_all(order, memory)[0]


@given(odd_problems().filter(lambda problem: len(problem.buffers) <= 6))
def test_the_pool_finds_the_best_of_all_choices_of_nodes(problem: Problem) -> None:
    order = requests(problem)

    def least(number: int, sizes: tuple[int, ...], free_from: tuple[int, ...]) -> int:
        if number == len(order):
            return sum(sizes)
        request = order[number]
        totals: list[int] = []
        for node in range(len(sizes) + 1):
            if node < len(sizes) and free_from[node] > request.start:
                continue
            grown, freed = [*sizes, 0], [*free_from, 0]
            grown[node], freed[node] = max(grown[node], request.size), request.stop
            used = len(sizes) + (node == len(sizes))
            totals.append(least(number + 1, tuple(grown[:used]), tuple(freed[:used])))
        return min(totals)

    nodes = context_pool_nodes(problem, len(order), 10**9)
    assert sum(nodes.sizes) == least(0, (), ())
