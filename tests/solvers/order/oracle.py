"""Peaks of orders by definition, all orders, and random problems: no code is shared with the solvers."""

from collections.abc import Iterator, Sequence
from itertools import permutations

from hypothesis import strategies as st

from solvers.order.problem import InPlaceWrite, LiveBuffer, OrderProblem


def keeps(problem: OrderProblem, order: Sequence[int]) -> bool:
    """Whether every op runs once, after all that it must follow."""
    place = {op: index for index, op in enumerate(order)}
    once = sorted(order) == list(range(len(problem.after)))
    return once and all(place[a] < place[op] for op, after in enumerate(problem.after) for a in after)


def all_orders(problem: OrderProblem) -> Iterator[tuple[int, ...]]:
    return (order for order in permutations(range(len(problem.after))) if keeps(problem, order))


def oracle_peak(problem: OrderProblem, order: Sequence[int]) -> int:
    """The largest sum, over the ops in ``order``, of the buffers whose span covers it."""
    spans = [_span(buffer, order) for buffer in problem.buffers]
    peak = 0 if order else sum(b.bytes for b in problem.buffers if b.at_start)
    for index, op in enumerate(order):
        alive = [
            b.bytes for b, (first, last) in zip(problem.buffers, spans, strict=True) if first <= index <= last
        ]
        spared = next(
            (
                problem.buffers[each.new].bytes
                for each in problem.overlays
                if each.op == op and spans[each.new][0] == index and spans[each.old][1] == index
            ),
            0,
        )
        extra = problem.workspace[op] if problem.workspace else 0
        peak = max(peak, sum(alive) + extra - spared)
    return peak


def _span(buffer: LiveBuffer, order: Sequence[int]) -> tuple[int, int]:
    """The first and last index at which it is alive; -1 and past the end where it outlives the order."""
    touched = [index for index, op in enumerate(order) if op in buffer.users]
    first = -1 if buffer.at_start else min(touched, default=len(order))
    last = len(order) if buffer.at_end else max(touched, default=-1)
    return first, last


@st.composite
def order_problems(draw: st.DrawFn, most_ops: int = 6) -> OrderProblem:
    """Any graph and any buffers, including some that no network has, with users in no order."""
    count = draw(st.integers(1, most_ops))
    after = tuple(
        tuple(sorted(draw(st.sets(st.integers(0, op - 1), max_size=2)))) if op else () for op in range(count)
    )
    ops = st.sets(st.integers(0, count - 1), min_size=1, max_size=4)
    buffers = tuple(
        LiveBuffer(draw(st.integers(0, 9)), tuple(sorted(draw(ops))), draw(_RARELY), draw(_RARELY))
        for _ in range(draw(st.integers(0, 8)))
    )
    pairs = [
        InPlaceWrite(op, new, old)
        for op in range(count)
        for new, a in enumerate(buffers)
        for old, b in enumerate(buffers)
        if new != old and a.bytes == b.bytes and op in a.users and op in b.users
    ]
    overlays = tuple(draw(st.lists(st.sampled_from(pairs), max_size=2, unique=True))) if pairs else ()
    workspace = tuple(draw(st.integers(0, 5)) for _ in range(count)) if draw(st.booleans()) else ()
    return OrderProblem(after, buffers, overlays, workspace)


_RARELY = st.sampled_from((False, False, False, True))
