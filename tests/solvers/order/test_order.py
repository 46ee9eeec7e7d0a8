import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from solvers.order import exact as order_exact
from solvers.order.exact import depth_first_order, least_peak_order, parts
from solvers.order.heuristics import beam, depth_first, least_live
from solvers.order.problem import InPlaceWrite, LiveBuffer, Ordered, OrderProblem, OrderTables, peak_of
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


WORKED = OrderProblem(
    after=((), (0,), (1,), (0,), (2,), (3,), (4, 5)),
    buffers=(
        LiveBuffer(1568, (0,)),
        LiveBuffer(3136, (0, 1, 3)),
        LiveBuffer(1568, (1, 2)),
        LiveBuffer(512, (2, 4)),
        LiveBuffer(512, (3, 5)),
        LiveBuffer(256, (4, 6)),
        LiveBuffer(256, (5, 6)),
        LiveBuffer(512, (6,)),
    ),
)
"""A fork whose two branches are joined at the end, the first of them given first."""


def test_the_branch_that_shrinks_most_comes_first() -> None:
    """By hand: op 2 finds 3136 + 1568 beside its 512. With the other branch (ops 3 and 5) first, 256 are left
    of that when op 1 has 3136 + 1568, and the 3136 are gone behind it."""
    assert peak_of(WORKED, range(7)) == 3136 + 1568 + 512
    found = least_peak_order(WORKED)
    assert (found.peak, found.status) == (3136 + 1568 + 256, "optimal")
    assert peak_of(WORKED, found.order) == found.peak


def test_branches_one_after_another() -> None:
    """Three branches of 10 B that end in 1 B: side by side 30 B wait and the first small one comes to them;
    one after another the third runs beside the 1 B of each of the others, 10 + 1 + 1 + 1."""
    problem = chain_of_branches((10, 1), (10, 1), (10, 1))
    assert peak_of(problem, range(7)) == 31
    found = least_peak_order(problem)
    assert (found.peak, found.lower_bound) == (13, 13)
    assert peak_of(problem, depth_first_order(problem)) == 13


def test_the_greatest_drop_comes_first() -> None:
    """Branches (10 -> 6) and (7 -> 1): 10 + 6 = 16, then 6 + 7 + 1; the other way round 1 + 10 + 6 = 17."""
    problem = chain_of_branches((7, 1), (10, 6))
    assert peak_of(problem, (0, 2, 1, 3, 4)) == 17
    assert peak_of(problem, (1, 3, 0, 2, 4)) == 16
    assert least_peak_order(problem).order == (1, 3, 0, 2, 4)


def test_a_given_order_that_is_as_good_stays() -> None:
    problem = chain_of_branches((5, 5), (5, 5))
    found = least_peak_order(problem)
    assert found.order == (0, 1, 2, 3, 4)
    assert found.status == "optimal"


def test_an_output_over_its_dying_input_counts_once() -> None:
    """One tensor of 8 B read by a pool (2 B) and by a relu that may write over it: only where the pool comes
    first."""
    buffers = (LiveBuffer(8, (0, 1, 2)), LiveBuffer(8, (1, 3)), LiveBuffer(2, (2, 3)))
    problem = OrderProblem(((), (0,), (0,), (1, 2)), buffers, (InPlaceWrite(1, 1, 0),))
    assert peak_of(problem, (0, 1, 2, 3)) == 18
    assert peak_of(problem, (0, 2, 1, 3)) == 10
    assert least_peak_order(problem).order == (0, 2, 1, 3)


def test_what_is_alive_around_counts() -> None:
    problem = OrderProblem(
        ((),), (LiveBuffer(3, (0,), at_start=True), LiveBuffer(4, (), at_start=True, at_end=True))
    )
    assert peak_of(problem, (0,)) == 7
    assert least_peak_order(OrderProblem((), problem.buffers[1:])).peak == 4


def test_parts_end_at_articulation_points() -> None:
    """0 -> (1, 2) -> 3 -> 4 -> (5, 6)"""
    problem = OrderProblem(((), (0,), (0,), (1, 2), (3,), (4,), (4,)), ())
    assert list(parts(problem)) == [(0,), (1, 2), (3,), (4,), (5, 6)]


def test_a_limit_leaves_a_bound() -> None:
    branches = [(20 + 3 * i, 9 - i) for i in range(7)]
    best = least_peak_order(chain_of_branches(*branches))
    stopped = least_peak_order(chain_of_branches(*branches), states=0)
    assert best.status == "optimal"
    assert stopped.lower_bound <= best.peak <= stopped.peak
    assert stopped.status == ("optimal" if stopped.peak == stopped.lower_bound else "unknown")


@settings(max_examples=400, deadline=None)
@given(order_problems())
def test_no_order_has_a_lower_peak(problem: OrderProblem) -> None:
    found = least_peak_order(problem)
    assert keeps(problem, found.order)
    assert found.peak == oracle_peak(problem, found.order)
    assert found.peak == min(oracle_peak(problem, order) for order in all_orders(problem))
    assert found.status == "optimal"


def by_search_alone(problem: OrderProblem, states: int = order_exact.MAX_STATES) -> Ordered:
    """What the search makes of the order given, without a heuristic to begin with."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("beam", "depth_first", "least_live"):
            patch.setattr(order_exact, name, _as_given)
        return least_peak_order(problem, states)


def _as_given(_: OrderTables, ops: tuple[int, ...], *__: int) -> tuple[int, ...]:
    return ops


@settings(max_examples=300, deadline=None)
@given(order_problems())
def test_the_search_needs_no_heuristic(problem: OrderProblem) -> None:
    found = by_search_alone(problem)
    assert keeps(problem, found.order)
    assert found.status == "optimal"
    assert found.peak == oracle_peak(problem, found.order)
    assert found.peak == min(oracle_peak(problem, order) for order in all_orders(problem))


@settings(max_examples=400, deadline=None)
@given(order_problems(most_ops=9), st.integers(0, 40))
def test_a_search_that_is_cut_short_proves_nothing_wrong(problem: OrderProblem, states: int) -> None:
    found, best = by_search_alone(problem, states), least_peak_order(problem)
    assert keeps(problem, found.order)
    assert found.lower_bound <= best.peak <= found.peak == oracle_peak(problem, found.order)


@settings(max_examples=200, deadline=None)
@given(order_problems())
def test_heuristics_keep_the_order_of_the_graph(problem: OrderProblem) -> None:
    tables = OrderTables(problem)
    ops, live = range(len(problem.after)), tables.at_start
    for order in (
        depth_first(tables, ops, 0, live),
        least_live(tables, ops, 0, live),
        beam(tables, ops, 0, live),
        beam(tables, ops, 0, live, width=1),
    ):
        assert keeps(problem, order)
        assert tables.peak(order) == oracle_peak(problem, order)


@settings(max_examples=100, deadline=None)
@given(order_problems(most_ops=5))
def test_a_wide_beam_leaves_nothing_out(problem: OrderProblem) -> None:
    """Of the orders to one set of ops the one with the least peak is all that counts."""
    tables = OrderTables(problem)
    order = beam(tables, range(len(problem.after)), 0, tables.at_start, width=1 << 5)
    assert tables.peak(order) == min(oracle_peak(problem, each) for each in all_orders(problem))
