"""The smallest peak by trying every offset of every buffer; only ``check`` says what is allowed."""

from dataclasses import replace

from chipmodel.model.plan import Buffer, Plan, Problem
from tests.support.plain_check import check


def smallest_peak(problem: Problem) -> int | None:
    """Of any plan that satisfies all constraints, capacity included; None where there is none.

    Offsets are tried byte by byte, so numbers must be small.
    """
    top = _highest(problem) if problem.capacity is None else problem.capacity
    table = _Table(problem, top)
    return next((limit for limit in range(top + 1) if table.fits(limit)), None)


def _highest(problem: Problem) -> int:
    """An end that some best plan stays below: all buffers above one another, above the last pin."""
    if problem.memories:
        return max(m.stop for m in problem.memories)
    widest = max((b.alignment for b in problem.buffers), default=1)
    groups = bool(problem.colocated)
    pins = max((b.pinned or 0 for b in problem.buffers), default=0)
    return pins + sum(b.bytes + widest * (2 if groups else 1) - 1 for b in problem.buffers)


class _Table:
    """For every pair of buffers and offset of the first, a bit set of the offsets of the second."""

    def __init__(self, problem: Problem, top: int) -> None:
        self.problem = replace(problem, capacity=None)
        self.buffers = problem.buffers
        self.top = top
        self.alone = [
            {o for o in range(top - b.bytes + 1) if not check(self._with(b), Plan({b.name: o}))}
            for b in self.buffers
        ]
        self.known: dict[tuple[int, int, int], int] = {}

    def _with(self, *buffers: Buffer) -> Problem:
        return replace(self.problem, buffers=buffers)

    def offsets_with(self, i: int, offset: int, j: int) -> int:
        """The offsets of buffer ``j``, as bits, that go with buffer ``i`` at ``offset``."""
        key = (i, offset, j)
        if key not in self.known:
            a, b = self.buffers[i], self.buffers[j]
            both = self._with(*(self.buffers[k] for k in sorted((i, j))))
            good = (o for o in self.alone[j] if not check(both, Plan({a.name: offset, b.name: o})))
            self.known[key] = sum(1 << o for o in good)
        return self.known[key]

    def fits(self, limit: int) -> bool:
        masks = [
            sum(1 << o for o in own if o + b.bytes <= limit)
            for own, b in zip(self.alone, self.buffers, strict=True)
        ]
        return self._place(dict(enumerate(masks)))

    def _place(self, masks: dict[int, int]) -> bool:
        if not masks:
            return True
        if not all(masks.values()):
            return False
        i = min(masks, key=lambda k: masks[k].bit_count())
        rest = {k: m for k, m in masks.items() if k != i}
        offsets = (o for o in range(self.top + 1) if masks[i] >> o & 1)
        return any(self._place({k: m & self.offsets_with(i, o, k) for k, m in rest.items()}) for o in offsets)
