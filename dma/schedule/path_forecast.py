"""The cycles of a schedule along one path through its branches and loops, without contention.

The machine is that of ``dma.schedule.forecast``. A loop whose iteration leaves the machine as it was is not
walked further: the other iterations take as long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from chipmodel.hardware.chip import Chip
from chipmodel.model.nesting import Section, waits_after
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule, steps
from chipmodel.passes.liveness import scopes
from dma.schedule.forecast import ChainTransfer, ForecastWalk, TransferTimes
from dma.schedule.probabilities import numbers_along
from dma.schedule.streamer import IssuedTransfer, queue_order


def path_cycles(
    root: Section, computes: Sequence[int], path: Mapping[str, int], transfers: Sequence[ChainTransfer]
) -> int:
    """Return the core cycles of one run of the steps of ``root``, which compute for so long.

    ``path`` has the number of the arm or the iterations of each fork; ``transfers`` are in the order of
    ``Schedule.transfers``.
    """
    walk = _PathWalk(root, computes, path, transfers)
    walk.section(root)
    return max(walk.clock, walk.dma_free)


class _PathWalk(ForecastWalk):
    def __init__(
        self,
        root: Section,
        computes: Sequence[int],
        path: Mapping[str, int],
        transfers: Sequence[ChainTransfer],
    ) -> None:
        super().__init__(transfers)
        self.computes, self.path = computes, path
        self.after_fork: dict[str, list[int]] = defaultdict(list)
        """The loads that are waited for after each branch or loop."""
        for index, transfer in enumerate(transfers):
            if transfer.direction == "load" and (fork := waits_after(root, transfer.issue, transfer.due)):
                self.after_fork[fork].append(index)

    def section(self, section: Section) -> None:
        at = section.extent.start
        for fork in section.forks:
            self.straight(at, fork.extent.start)
            if fork.repeats:
                self.loop(fork.arms[0], self.path[fork.name])
            else:
                self.section(fork.arms[self.path[fork.name]])
            self.wait(self.after_fork.get(fork.name, ()))
            at = fork.extent.stop
        self.straight(at, section.extent.stop)

    def straight(self, start: int, stop: int) -> None:
        for here in range(start, stop):
            self.step(here, self.computes[here])

    def loop(self, body: Section, iterations: int) -> None:
        for made in range(1, iterations + 1):
            began, state = self.clock, self.state()
            self.section(body)
            if self.state() == state:
                left = (iterations - made) * (self.clock - began)
                self.clock, self.dma_free = self.clock + left, self.dma_free + left
                self.ends = [end + left for end in self.ends]
                return

    def state(self) -> tuple[int, ...]:
        """The cycles until the DMA engine is idle, and until each transfer ends."""
        return tuple(max(0, end - self.clock) for end in (self.dma_free, *self.ends))


class ScheduleForecast:
    """Forecasts for all schedules of one program on one chip along ``path``; None: the likeliest one."""

    def __init__(self, program: Program, chip: Chip, path: Mapping[str, str] | None = None) -> None:
        self.path = numbers_along(program, path)
        self.cycles_of = TransferTimes(chip)

    def cycles(self, schedule: Schedule) -> int:
        """The core cycles of a run: without contention what the simulator measures."""
        computes = [step.cycles for step in steps(schedule.body)]
        times = self.cycles_of
        moves = [ChainTransfer("load", m.issue, m.due, times(m.traffic, m.bytes)) for m in schedule.moves]
        transfers = [ChainTransfer(t.direction, t.issue, t.due, times.of(t)) for t in schedule.transfers]
        return path_cycles(scopes(schedule.body).section, computes, self.path, (*moves, *transfers))


def path_transfers(issued: Iterable[IssuedTransfer], cycles_of: TransferTimes) -> Iterator[ChainTransfer]:
    """Yield the transfers in the order of ``Schedule.transfers``, with their cycles."""
    for transfer in sorted(issued, key=queue_order):
        need = transfer.need
        yield ChainTransfer(need.direction, transfer.issue, transfer.due, cycles_of.of(need))
