"""The problem of ordering ops: which op must follow which, and the buffers that an order keeps alive.

A buffer is alive from the first op that uses it to the last. So what is alive before an op depends on the
*set* of ops that have run, not on their order, which makes dynamic programming over sets exact.

* Ahn et al. 2020, "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge
  Devices", arXiv:2003.02369
* Liberis and Lane 2019, "Neural networks on microcontrollers: saving memory at inference via operator
  reordering", arXiv:1910.05110
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from chipmodel.model.plan import Status
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class LiveBuffer:
    """A buffer of ``bytes`` that the ops ``users`` read or write."""

    bytes: int
    users: tuple[int, ...]
    at_start: bool = False
    """Whether it is alive before the first op."""
    at_end: bool = False
    """Whether it stays alive after the last op."""


@dataclass(frozen=True, slots=True)
class InPlaceWrite:
    """``op`` may write buffer ``new`` over buffer ``old`` of the same size, if no later op needs ``old``."""

    op: int
    new: int
    old: int


@dataclass(frozen=True, slots=True)
class OrderProblem:
    """Ops are numbered in the given order; ``after[op]`` lists those that ``op`` must follow."""

    after: tuple[tuple[int, ...], ...]
    buffers: tuple[LiveBuffer, ...]
    overlays: tuple[InPlaceWrite, ...] = ()
    workspace: tuple[int, ...] = ()
    """Bytes that each op takes while it runs; none where empty."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """An order, its peak of live bytes, and a lower bound for all orders; ``states`` were examined."""

    order: tuple[int, ...]
    peak: int
    lower_bound: int
    states: int = 0

    @property
    def status(self) -> Status:
        """``optimal`` where the bound proves it, else ``unknown``: the limit was reached first."""
        return "optimal" if self.peak == self.lower_bound else "unknown"


_Use = tuple[int, int, bool, bool]
"""A buffer from the view of one of its ops: the other ops as bits, its bytes, ``at_start``, ``at_end``. A
plain tuple for speed: the search spends its time on these."""


OpPath = tuple["OpPath", int] | None
"""The ops up to a state, the latest first."""


@dataclass(frozen=True, slots=True)
class OrderState:
    """The set of ops that have run, those that may run next, the live bytes, and an order that leads here."""

    done: int
    ready: tuple[int, ...]
    live: int
    path: OpPath = None

    @property
    def order(self) -> tuple[int, ...]:
        """The ops run so far, in order."""
        ops: list[int] = []
        path = self.path
        while path is not None:
            path, op = path
            ops.append(op)
        return tuple(reversed(ops))


class OrderTables:
    """An ``OrderProblem`` as bit masks: a set of ops is an integer with their bits."""

    def __init__(self, problem: OrderProblem) -> None:
        self.count = len(problem.after)
        self.everything = (1 << self.count) - 1
        self.needs = [mask(ops) for ops in problem.after]
        self.next: list[list[int]] = [[] for _ in range(self.count)]
        for op, after in enumerate(problem.after):
            for earlier in after:
                self.next[earlier].append(op)
        self.workspace = problem.workspace or (0,) * self.count
        self.at_start = sum(b.bytes for b in problem.buffers if b.at_start)
        self.uses: list[list[_Use]] = [[] for _ in range(self.count)]
        seen = {(op, index): self._use(op, b) for index, b in enumerate(problem.buffers) for op in b.users}
        for (op, _), use in seen.items():
            self.uses[op].append(use)
        self.overlays: list[list[tuple[_Use, _Use]]] = [[] for _ in range(self.count)]
        for each in problem.overlays:
            self.overlays[each.op].append((seen[each.op, each.new], seen[each.op, each.old]))

    @staticmethod
    def _use(op: int, buffer: LiveBuffer) -> _Use:
        return mask(buffer.users) & ~(1 << op), buffer.bytes, buffer.at_start, buffer.at_end

    def step(self, done: int, live: int, op: int) -> tuple[int, int]:
        """Live bytes while ``op`` runs, and after it, if ``live`` bytes are alive after the ops ``done``."""
        during, after = live + self.workspace[op], live
        for others, size, at_start, at_end in self.uses[op]:
            ends = not at_end and not others & ~done
            if at_start or others & done:
                if ends:
                    after -= size
            else:
                during += size
                if not ends:
                    after += size
        return (during - self.overlaid(done, op) if self.overlays[op] else during), after

    def overlaid(self, done: int, op: int) -> int:
        """Bytes that ``op`` saves by overwriting a buffer that no later op needs."""
        for (begun, size, at_start, _), (to_come, _, _, at_end) in self.overlays[op]:
            if not at_start and not begun & done and not at_end and not to_come & ~done:
                return size
        return 0

    def begin(self, ops: Iterable[int], done: int, live: int) -> OrderState:
        """The state after the ops ``done``, before any of ``ops``."""
        return OrderState(done, tuple(op for op in ops if not self.needs[op] & ~done), live)

    def run(self, state: OrderState, op: int, live: int, inside: int) -> OrderState:
        """The state after ``op``, which leaves ``live`` bytes; only ops ``inside`` become ready."""
        done = state.done | 1 << op
        new = [n for n in self.next[op] if inside >> n & 1 and not self.needs[n] & ~done]
        return OrderState(done, (*(each for each in state.ready if each != op), *new), live, (state.path, op))

    def run_free(self, state: OrderState, inside: int, level: int) -> OrderState:
        """The state after running every op that fits under ``level`` and leaves no more alive than before."""
        while True:
            for op in state.ready:
                during, after = self.step(state.done, state.live, op)
                if during <= level and after <= state.live:
                    state = self.run(state, op, after, inside)
                    break
            else:
                return state

    def alone(self, op: int) -> int:
        """Bytes that ``op`` needs in any order: its operands, less the largest one it may overwrite."""
        sizes = sum(size for _, size, _, _ in self.uses[op])
        return sizes + self.workspace[op] - max((new[1] for new, _ in self.overlays[op]), default=0)

    def peak(self, order: Sequence[int], done: int = 0, live: int | None = None) -> int:
        """The most bytes alive while the ops of ``order`` run one after another, after the ops ``done``."""
        live = self.at_start if live is None else live
        peak = 0
        for op in order:
            during, live = self.step(done, live, op)
            done |= 1 << op
            peak = max(peak, during)
        return peak

    def live_after(self, order: Sequence[int], done: int, live: int) -> int:
        """Live bytes after ``order``, run after the ops ``done``."""
        for op in order:
            live = self.step(done, live, op)[1]
            done |= 1 << op
        return live


def mask(ops: Iterable[int]) -> int:
    """Return the set of ``ops`` as bits."""
    result = 0
    for op in ops:
        result |= 1 << op
    return result


def peak_of(problem: OrderProblem, order: Sequence[int]) -> int:
    """Return the most bytes alive at any op of ``order``, which must keep all precedences."""
    return OrderTables(problem).peak(order)
