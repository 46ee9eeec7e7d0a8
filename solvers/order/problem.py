"""The order of ops as integers: which op must follow which, and the buffers that an order keeps alive.

A buffer is alive from the first op that touches it to the last, whatever the order of those between. So what
is alive before an op depends on the *set* of ops that have run, not on their order: this is what makes
dynamic programming over sets exact.

* Ahn et al. 2020, "Ordering Chaos: Memory-Aware Scheduling of Irregularly Wired Neural Networks for Edge
  Devices", arXiv:2003.02369
* Liberis and Lane 2019, "Neural networks on microcontrollers: saving memory at inference via operator
  reordering", arXiv:1910.05110
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chipmodel.model.plan import Status


@dataclass(frozen=True, slots=True)
class LiveBuffer:
    """A buffer of ``bytes`` that the ops ``touchers`` read or write."""

    bytes: int
    touchers: tuple[int, ...]
    at_start: bool = False
    """Whether it is alive before the first op."""
    at_end: bool = False
    """Whether it stays alive behind the last op."""


@dataclass(frozen=True, slots=True)
class InPlaceWrite:
    """``op`` may write buffer ``new`` over buffer ``old`` of the same size, if none of the ops to come needs
    ``old``."""

    op: int
    new: int
    old: int


@dataclass(frozen=True, slots=True)
class OrderProblem:
    """Ops are 0, 1, ...; ``after[op]`` lists those that it must follow, all smaller: the order given."""

    after: tuple[tuple[int, ...], ...]
    buffers: tuple[LiveBuffer, ...]
    overlays: tuple[InPlaceWrite, ...] = ()
    workspace: tuple[int, ...] = ()
    """Bytes that each op takes while it runs; none where empty."""


@dataclass(frozen=True, slots=True)
class Ordered:
    """An order, its peak of live bytes, and a bound that no order is below; ``states`` were looked at."""

    order: tuple[int, ...]
    peak: int
    lower_bound: int
    states: int = 0

    @property
    def status(self) -> Status:
        """``optimal`` where the bound proves it, else ``unknown``: the limit came first."""
        return "optimal" if self.peak == self.lower_bound else "unknown"


_Touch = tuple[int, int, bool, bool]
"""A buffer as one of its ops sees it: the other ops as bits, its bytes, ``at_start``, ``at_end``. Tuples, for
this is what a search spends its time on."""


OpPath = tuple["OpPath", int] | None
"""The ops up to a state, the latest first."""


@dataclass(frozen=True, slots=True)
class OrderState:
    """The set of ops that have run, those that may run next, the bytes alive, and a way to here."""

    done: int
    ready: tuple[int, ...]
    live: int
    way: OpPath = None

    @property
    def order(self) -> tuple[int, ...]:
        """The ops of the way, the first one first."""
        ops: list[int] = []
        way = self.way
        while way is not None:
            way, op = way
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
        self.touches: list[list[_Touch]] = [[] for _ in range(self.count)]
        seen = {
            (op, index): self._touch(op, b) for index, b in enumerate(problem.buffers) for op in b.touchers
        }
        for (op, _), touch in seen.items():
            self.touches[op].append(touch)
        self.overlays: list[list[tuple[_Touch, _Touch]]] = [[] for _ in range(self.count)]
        for each in problem.overlays:
            self.overlays[each.op].append((seen[each.op, each.new], seen[each.op, each.old]))

    @staticmethod
    def _touch(op: int, buffer: LiveBuffer) -> _Touch:
        return mask(buffer.touchers) & ~(1 << op), buffer.bytes, buffer.at_start, buffer.at_end

    def step(self, done: int, live: int, op: int) -> tuple[int, int]:
        """Bytes alive while ``op`` runs, and behind it, where ``live`` bytes are alive behind ``done``."""
        during, behind = live + self.workspace[op], live
        for others, size, at_start, at_end in self.touches[op]:
            ends = not at_end and not others & ~done
            if at_start or others & done:
                if ends:
                    behind -= size
            else:
                during += size
                if not ends:
                    behind += size
        return (during - self.overlaid(done, op) if self.overlays[op] else during), behind

    def overlaid(self, done: int, op: int) -> int:
        """Bytes that ``op`` spares by writing over what nobody needs behind it."""
        for (begun, size, at_start, _), (to_come, _, _, at_end) in self.overlays[op]:
            if not at_start and not begun & done and not at_end and not to_come & ~done:
                return size
        return 0

    def begin(self, ops: Iterable[int], done: int, live: int) -> OrderState:
        """The state in which of ``ops`` none has run, behind ``done``."""
        return OrderState(done, tuple(op for op in ops if not self.needs[op] & ~done), live)

    def run(self, state: OrderState, op: int, live: int, inside: int) -> OrderState:
        """The state after ``op``, which leaves ``live`` bytes; only ops ``inside`` become ready."""
        done = state.done | 1 << op
        new = [n for n in self.next[op] if inside >> n & 1 and not self.needs[n] & ~done]
        return OrderState(done, (*(each for each in state.ready if each != op), *new), live, (state.way, op))

    def run_free(self, state: OrderState, inside: int, level: int) -> OrderState:
        """The state after every op that fits under ``level`` and leaves no more alive than there was."""
        while True:
            for op in state.ready:
                during, behind = self.step(state.done, state.live, op)
                if during <= level and behind <= state.live:
                    state = self.run(state, op, behind, inside)
                    break
            else:
                return state

    def alone(self, op: int) -> int:
        """Bytes that ``op`` needs in any order: its operands, with all that may be spared."""
        sizes = sum(size for _, size, _, _ in self.touches[op])
        return sizes + self.workspace[op] - max((new[1] for new, _ in self.overlays[op]), default=0)

    def peak(self, order: Sequence[int], done: int = 0, live: int | None = None) -> int:
        """The most bytes alive while the ops of ``order`` run one after another behind ``done``."""
        live = self.at_start if live is None else live
        peak = 0
        for op in order:
            during, live = self.step(done, live, op)
            done |= 1 << op
            peak = max(peak, during)
        return peak

    def live_behind(self, order: Sequence[int], done: int, live: int) -> int:
        """Bytes alive behind ``order``, run behind ``done``."""
        for op in order:
            live = self.step(done, live, op)[1]
            done |= 1 << op
        return live


def mask(ops: Iterable[int]) -> int:
    """The set of ``ops`` as bits."""
    result = 0
    for op in ops:
        result |= 1 << op
    return result


def peak_of(problem: OrderProblem, order: Sequence[int]) -> int:
    """The most bytes alive at any op of ``order``, which must keep the problem's order."""
    return OrderTables(problem).peak(order)
