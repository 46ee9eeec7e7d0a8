"""Simulate commands on a chip, event by event, in integer cycles.

Each core's sequencer runs its commands in order: a compute blocks it until its NPU is done, a wait until the
transfer has ended, an acquire until another core's tensor is in Psram; to start a transfer takes no time, it
only joins the queue. One DMA engine serves one queue for all cores (``chipmodel.machine.dma_engine``). In one
cycle the core with the lower number goes first. An op and a transfer that access the SharedMemory of one core
at once may have bank conflicts (``chipmodel.machine.bank_conflicts``); the CPU accesses that of core 0.
``tests/support/stepper.py`` is the same machine one cycle at a time, and must give the same trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import count

from chipmodel.hardware.chip import Chip
from chipmodel.machine.bank_conflicts import (
    BankConflicts,
    JointProgress,
    OpAndTransfer,
    ProgressLimits,
    bank_conflicts_on,
)
from chipmodel.machine.banks import BankMap, bank_map
from chipmodel.machine.dma_engine import ChannelTransfer, DmaEngine
from chipmodel.machine.npu_accesses import AccessStream, access_streams
from chipmodel.model.commands import (
    Acquire,
    AnyTransfer,
    Command,
    Compute,
    Deadlock,
    DmaMove,
    DmaStart,
    DmaWait,
    Plain,
    Release,
    along,
    resolve_path,
)
from chipmodel.model.trace import Cause, Event, Hold, Trace, Wait


def simulate(commands: tuple[Command, ...], chip: Chip, choices: Mapping[str, str] | None = None) -> Trace:
    """Simulate ``commands`` on core 0 of ``chip`` along the path that ``choices`` select (see
    ``resolve_path``). The trace accounts for every cycle of every unit, which is asserted."""
    return simulate_cores((commands,), chip, choices)


def simulate_cores(
    cores: Sequence[tuple[Command, ...]], chip: Chip, choices: Mapping[str, str] | None = None
) -> Trace:
    """Simulate the commands of each core. Raises Deadlock where cores wait for one another forever."""
    path = resolve_path(tuple(command for commands in cores for command in commands), choices or {})
    simulator = EventSimulator(chip, len(cores))
    if len(cores) == 1:
        for command in along(cores[0], path):
            simulator.run(command)
    else:
        simulator.run_together([along(commands, path) for commands in cores])
    trace = simulator.finish(path)
    if faults := trace.unaccounted():
        raise AssertionError(f"cycles unaccounted for: {faults[0]}")
    return trace


def cause_of_wait(start: AnyTransfer) -> Cause:
    """The cause of the NPU's stall while it waits for this transfer."""
    if isinstance(start, DmaStart) and start.direction == "store":
        return "output"
    return "weights" if start.part.weights else "input"


@dataclass
class _RunningOp:
    """An op on an NPU."""

    command: Compute
    streams: tuple[AccessStream, ...]
    done: int = 0
    """Cycles in which it made progress."""
    waits: Counter[tuple[Hold, str]] = field(default_factory=Counter[tuple[Hold, str]])


@dataclass
class _CoreState:
    """The state of a sequencer and its NPU."""

    number: int
    dma_first: bool
    """Whether the DMA engine is served first at the next bank conflict in its SharedMemory."""
    current: Plain | None = None
    """The command that it runs; None where it is free."""
    since: int = 0
    """The cycle in which that command began."""
    running: _RunningOp | None = None
    started: dict[str, AnyTransfer] = field(default_factory=dict[str, AnyTransfer])
    """The latest transfer of each name."""


class EventSimulator:
    """The state of a chip at cycle ``clock``. Commands come one at a time to a single core (``run``), or as
    streams to all cores (``run_together``)."""

    def __init__(self, chip: Chip, cores: int = 1) -> None:
        self.chip = chip
        self.banks = bank_map(chip.shared_memory)
        self.bank_conflicts = None if self.banks is None else bank_conflicts_on(self.banks)
        self.dma = DmaEngine(chip)
        self.clock = 0
        self.passes = 0
        """How often time has passed: the cost of the simulation."""
        self.events: list[Event] = []
        self.serials = count()
        dma_first = self.banks is not None and self.banks.arbitration == "dma first"
        self.cores = [_CoreState(number, dma_first) for number in range(cores)]
        self.released: set[tuple[int, str]] = set()

    def run(self, command: Plain) -> None:
        """Run ``command`` to its end on core 0."""
        core = self.cores[0]
        self.begin(core, command)
        while not self.try_end(core):
            self.pass_time()

    def run_together(self, streams: Sequence[Iterator[Plain]]) -> None:
        """Run one stream of commands on each core to its end."""
        left = list(zip(self.cores, streams, strict=True))
        while left:
            known = -1
            while known < len(self.released):  # a release may let a core with a lower number continue
                known = len(self.released)
                left = [(core, stream) for core, stream in left if not self.run_until_blocked(core, stream)]
            if left:
                self.pass_time()

    def run_until_blocked(self, core: _CoreState, stream: Iterator[Plain]) -> bool:
        """Run all commands that take no more time; whether ``core`` is at the end of its stream."""
        while self.try_end(core):
            command = next(stream, None)
            if command is None:
                core.since = self.clock
                return True
            self.begin(core, command)
        return False

    def begin(self, core: _CoreState, command: Plain) -> None:
        """Begin ``command`` on ``core``, which is free."""
        core.current, core.since = command, self.clock
        match command:
            case DmaStart() | DmaMove():
                core.started[command.name] = command
                self.dma.issue(next(self.serials), command, core.number)
            case Compute():
                accesses = access_streams(command, self.chip.npu) if self.banks else ()
                core.running = _RunningOp(command, accesses)
            case Release():
                self.released.add((core.number, command.tensor))
            case DmaWait() | Acquire():
                pass

    def try_end(self, core: _CoreState) -> bool:
        """End the command of ``core`` if it is done, and record its event; whether ``core`` is free."""
        command = core.current
        if command is None:
            return True
        match command:
            case DmaWait():
                if self.dma.ends[core.number, command.name] is None:
                    return False
                self.record_wait(core, cause_of_wait(core.started[command.name]), command.name, command.op)
            case Acquire():
                key = command.core, command.tensor
                if key not in self.released or self.dma.has_store(*key):
                    return False
                self.record_wait(core, "core", f"{command.tensor} of core {command.core}", command.op)
            case Compute():
                if core.running and core.running.done < command.cycles:
                    return False
                self.record_compute(core, command)
            case DmaStart() | DmaMove() | Release():
                pass
        core.current = None
        return True

    def record_wait(self, core: _CoreState, cause: Cause, name: str, op: str) -> None:
        if core.since < self.clock:
            span = core.since, self.clock
            self.events.append(Event("npu", *span, cause, name, op, "wait", core=core.number))

    def record_compute(self, core: _CoreState, command: Compute) -> None:
        running, core.running = core.running, None
        if not command.cycles or running is None:
            return
        self.events.append(
            Event(
                "npu",
                core.since,
                self.clock,
                "",
                command.label,
                command.op,
                "compute",
                0,
                command.position,
                waits=tuple(sorted(Wait(cause, by, n) for (cause, by), n in running.waits.items())),
                core=core.number,
            )
        )

    def fork(self) -> EventSimulator:
        """An independent copy in the same state, between two commands of the only core."""
        (core,) = self.cores
        other = copy(self)
        other.dma = self.dma.fork()
        other.events = []
        other.cores = [replace(core, started=dict(core.started))]
        return other

    def key(self) -> tuple[object, ...]:
        """All that the times of further commands depend on, relative to the clock; for a single core."""
        (core,) = self.cores
        every = self.chip.cpu.shared_every if self.banks else 0
        turn = self.clock % (every * self.banks.count) if self.banks and every else 0
        return core.dma_first, turn, *self.dma.key(self.clock)

    def drain(self) -> None:
        """Let time pass until the DMA engine is idle."""
        while self.dma.busy:
            self.pass_time()

    def finish(self, path: Mapping[str, str]) -> Trace:
        """The trace, once every core is at the end of its commands."""
        if len(self.cores) == 1:
            self.cores[0].since = self.clock
        self.drain()
        for core in self.cores:
            self.record_wait(core, "finished", "", "")
        events = [*self.events, *self.dma.finish(self.clock)]
        events.sort(key=lambda e: (e.start, e.unit, e.channel, e.core))
        return Trace(tuple(events), self.clock, dict(path), self.chip.dma.channels.count, len(self.cores))

    def pass_time(self) -> None:
        """Let time pass to the next decision of a unit or access of the CPU. Raises Deadlock for none."""
        self.passes += 1
        self.dma.settle(self.clock)
        waits, data = self.dma.horizon(self.clock)
        for core in self.cores:
            if core.running:
                waits.append(core.running.command.cycles - core.running.done)
        if data is not None:
            waits.append(data)
        if not waits:
            raise Deadlock("; ".join(_waits_for(core) for core in self.cores if core.current))
        cycles = min(waits)
        transfer = self.dma.moving()
        if self.banks and (self.cores[0].running or (transfer and transfer.core == 0)):
            every = self.chip.cpu.shared_every
            if every and self.clock % every == 0:
                self.pass_cpu_access(self.banks, transfer)
                return
            cycles = min(cycles, -self.clock % every) if every else cycles
        running = self.cores[transfer.core].running if transfer else None
        on_banks = transfer and isinstance(transfer.command, DmaStart)
        if self.bank_conflicts and transfer and on_banks and running and running.streams:
            self.pass_with_conflicts(self.bank_conflicts, running, transfer, cycles)
        else:
            self.advance(cycles, cycles)

    def pass_with_conflicts(
        self, conflicts: BankConflicts, running: _RunningOp, transfer: ChannelTransfer, cycles: int
    ) -> None:
        """Let up to ``cycles`` pass, in which ``transfer`` and the op of its core may have bank conflicts."""
        core = self.cores[transfer.core]
        pair = OpAndTransfer(running.streams, transfer.shape, transfer.command.near.start)
        start = JointProgress(0, running.done, transfer.done, core.dma_first)
        limits = ProgressLimits(cycles, running.command.cycles, transfer.shape.data)
        end = conflicts.run(pair, start, limits)
        op, data = end.op - start.op, end.data - start.data
        core.dma_first = end.dma_first
        self.count_conflicts(running.waits, transfer.command.name, end.cycles - op)
        self.count_conflicts(transfer.waits, running.command.label, end.cycles - data)
        self.advance(end.cycles, data, {core.number: op})
        if not end.moved:
            self.dma.mark_begun()

    def count_conflicts(self, waits: Counter[tuple[Hold, str]], by: str, cycles: int) -> None:
        if cycles:
            waits["bank", by] += cycles

    def pass_cpu_access(self, banks: BankMap, transfer: ChannelTransfer | None) -> None:
        """Let the cycle pass in which the CPU accesses core 0's SharedMemory."""
        computed: dict[int, int] = {}
        moved = 1
        for number in dict.fromkeys((0, transfer.core if transfer else 0)):
            own = transfer if transfer and transfer.core == number else None
            computed[number], served = self.serve(banks, self.cores[number], own)
            moved = served if own else moved
        self.advance(1, moved, computed)
        if not moved:
            self.dma.mark_begun()

    def serve(self, banks: BankMap, core: _CoreState, transfer: ChannelTransfer | None) -> tuple[int, int]:
        """Whether (1 or 0) the op and the transfer of one core make progress in this cycle."""
        running = core.running
        cpu = self.cpu_mask(banks) if core.number == 0 else 0
        npu = self.npu_mask(banks, running)
        dma = self.dma_mask(banks, transfer)
        npu_goes, dma_goes = banks.grants(cpu, npu, dma, core.dma_first)
        if npu and dma and npu_goes != dma_goes and banks.arbitration == "round robin":
            core.dma_first = npu_goes
        if running and not npu_goes:
            by = "CPU" if npu & cpu else transfer.command.name if transfer else ""
            self.count_conflicts(running.waits, by, 1)
        if transfer and not dma_goes:
            by = "CPU" if dma & cpu else running.command.label if running else ""
            self.count_conflicts(transfer.waits, by, 1)
        return int(npu_goes), int(dma_goes)

    def advance(self, cycles: int, moved: int, computed: Mapping[int, int] | None = None) -> None:
        """Let ``cycles`` pass; data move in ``moved`` of them, and the op of each core makes progress in
        ``computed[core]``, or in all where that is not given."""
        for core in self.cores:
            if core.running:
                core.running.done += (computed or {}).get(core.number, cycles)
        self.dma.advance(self.clock, cycles, moved)
        self.clock += cycles

    def cpu_mask(self, banks: BankMap) -> int:
        every = self.chip.cpu.shared_every
        return 0 if not every or self.clock % every else 1 << self.clock // every % banks.count

    def npu_mask(self, banks: BankMap, running: _RunningOp | None) -> int:
        mask = 0
        for stream in running.streams if running else ():
            address = stream.address_in(running.done) if running else None
            if address is not None:
                mask |= banks.mask(address, stream.width)
        return mask

    def dma_mask(self, banks: BankMap, transfer: ChannelTransfer | None) -> int:
        beat = transfer.shape.beat(transfer.done) if transfer else None
        if transfer is None or beat is None or isinstance(transfer.command, DmaMove):
            return 0
        return banks.mask(transfer.command.near.start + beat[0], beat[1])


def _waits_for(core: _CoreState) -> str:
    command = core.current
    return f"core {core.number} waits for {command.wanted if isinstance(command, Acquire) else command!r}"
