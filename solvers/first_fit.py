"""Algorithm 1 of the control-flow paper (S2): place buffers one by one, each at its lowest fit.

The planners differ only in the order in which buffers are placed; ties keep execution order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from chipmodel.plan import Buffer, Plan, Problem

Order = Callable[[Buffer], int]
ORDERS: dict[str, Order] = {
    "sequential": lambda buffer: 0,
    "large-first": lambda buffer: -buffer.bytes,
    "short-first": lambda buffer: sum(map(len, buffer.live)),
}
Ints = npt.NDArray[np.int64]


def first_fit(problem: Problem, key: Order) -> Plan:
    """Offsets (bytes) for ``problem``, buffers placed by ascending ``key``.

    A buffer starts at offset 0 and slides up past every placed buffer that it conflicts with and
    would collide with; the first gap that is large enough is the lowest fit.
    """
    order = sorted(range(len(problem.buffers)), key=lambda i: key(problem.buffers[i]))
    spans = _Spans(problem)
    lows = np.zeros(len(order), dtype=np.int64)
    offsets: dict[str, int] = {}
    placed = np.zeros(len(order), dtype=bool)
    sizes = np.array([b.bytes for b in problem.buffers], dtype=np.int64)
    for index in order:
        buffer = problem.buffers[index]
        rivals = np.flatnonzero(spans.conflicting(index) & placed)
        offset = _lowest_fit(buffer, lows[rivals], sizes[rivals])
        offsets[buffer.name] = offset
        lows[index] = offset
        placed[index] = True
    return Plan({b.name: offsets[b.name] for b in problem.buffers})


def naive(problem: Problem) -> Plan:
    """Every buffer has memory of its own: the sum of the sizes, the paper's baseline."""
    offset = 0
    offsets: dict[str, int] = {}
    for buffer in problem.buffers:
        offset = _align(offset, buffer.alignment)
        offsets[buffer.name] = offset
        offset += buffer.bytes
    return Plan(offsets)


class _Spans:
    """All lifetimes as flat arrays, so that one buffer meets all others at once."""

    def __init__(self, problem: Problem) -> None:
        self.count = len(problem.buffers)
        spans = [(i, span.start, span.stop) for i, b in enumerate(problem.buffers) for span in b.live]
        table: Ints = np.array(spans, dtype=np.int64).reshape(-1, 3)
        self.owners, self.starts, self.stops = table.T
        self.live = [b.live for b in problem.buffers]

    def conflicting(self, index: int) -> npt.NDArray[np.bool_]:
        """Which buffers are alive at some position where buffer ``index`` is."""
        result = np.zeros(self.count, dtype=bool)
        for interval in self.live[index]:
            meets = (self.starts < interval.stop) & (interval.start < self.stops)
            result[self.owners[meets]] = True
        result[index] = False
        return result


def _lowest_fit(buffer: Buffer, lows: Ints, sizes: Ints) -> int:
    offset = 0
    for position in np.argsort(lows, kind="stable"):
        low = int(lows[position])
        if low - offset >= buffer.bytes:
            return offset
        offset = max(offset, _align(low + int(sizes[position]), buffer.alignment))
    return offset


def _align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment
