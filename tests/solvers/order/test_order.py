import pytest
from hypothesis import given, strategies as st

from solvers.order import exact as order_exact
from solvers.order.exact import least_peak_order, segments
from solvers.order.problem import LiveBuffer, Ordered, OrderProblem, OrderTables
from tests.solvers.order.oracle import all_orders, keeps, oracle_peak, order_problems


def chain_of_branches(*branches: tuple[int, int]) -> OrderProblem:
    """An input, then branches of two ops (a wide tensor, then a narrow one), all joined by a last op."""
    after: list[tuple[int, ...]] = []
    buffers: list[LiveBuffer] = []
    wide = range(len(branches))
    for _ in branches:
        after.append(())
    for op in wide:
        after.append((op,))
    join = len(after)
    after.append(tuple(range(len(branches), join)))
    for op, (large, small) in enumerate(branches):
        buffers.append(LiveBuffer(large, (op, op + len(branches))))
        buffers.append(LiveBuffer(small, (op + len(branches), join)))
    return OrderProblem(tuple(after), tuple(buffers))


def test_an_optimal_given_order_is_kept() -> None:
    problem = chain_of_branches((5, 5), (5, 5))
    found = least_peak_order(problem)
    assert found.order == (0, 1, 2, 3, 4)
    assert found.status == "optimal"


def test_segments_end_at_articulation_points() -> None:
    """0 -> (1, 2) -> 3 -> 4 -> (5, 6)"""
    problem = OrderProblem(((), (0,), (0,), (1, 2), (3,), (4,), (4,)), ())
    assert list(segments(problem)) == [(0,), (1, 2), (3,), (4,), (5, 6)]


def test_a_search_stopped_by_its_limit_still_gives_a_bound() -> None:
    branches = [(20 + 3 * i, 9 - i) for i in range(7)]
    best = least_peak_order(chain_of_branches(*branches))
    stopped = least_peak_order(chain_of_branches(*branches), states=0)
    assert best.status == "optimal"
    assert stopped.lower_bound <= best.peak <= stopped.peak
    assert stopped.status == ("optimal" if stopped.peak == stopped.lower_bound else "unknown")


@pytest.mark.slow
@given(order_problems())
def test_no_order_has_a_lower_peak(problem: OrderProblem) -> None:
    found = least_peak_order(problem)
    assert keeps(problem, found.order)
    assert found.peak == oracle_peak(problem, found.order)
    assert found.peak == min(oracle_peak(problem, order) for order in all_orders(problem))
    assert found.status == "optimal"


def by_search_alone(problem: OrderProblem, states: int = order_exact.MAX_STATES) -> Ordered:
    """The search alone, from the given order, without heuristics."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(order_exact, "depth_first", _as_given)
        return least_peak_order(problem, states)


def _as_given(_: OrderTables, ops: tuple[int, ...], *__: int) -> tuple[int, ...]:
    return ops


@pytest.mark.slow
@given(order_problems())
def test_the_search_needs_no_heuristic(problem: OrderProblem) -> None:
    found = by_search_alone(problem)
    assert keeps(problem, found.order)
    assert found.status == "optimal"
    assert found.peak == oracle_peak(problem, found.order)
    assert found.peak == min(oracle_peak(problem, order) for order in all_orders(problem))


@pytest.mark.slow
@given(order_problems(most_ops=9), st.integers(0, 40))
def test_a_stopped_search_proves_nothing_false(problem: OrderProblem, states: int) -> None:
    found, best = by_search_alone(problem, states), least_peak_order(problem)
    assert keeps(problem, found.order)
    assert found.lower_bound <= best.peak <= found.peak == oracle_peak(problem, found.order)
