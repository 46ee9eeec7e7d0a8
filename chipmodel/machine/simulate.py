"""Commands and Chip to Trace, in integer cycles, event by event.

Each core's sequencer runs its commands in order: a compute blocks it until its NPU is done, a wait until
the transfer has ended, an acquire until another core's tensor is in Psram; starting a transfer costs
nothing here but queues it. One DMA engine serves one queue for all cores (``chipmodel.machine.dma_engine``).
In one cycle the core with the lower number goes first. Where an op and a transfer access the SharedMemory of
one core at once, they may meet on a bank (``chipmodel.machine.bank_conflicts``); the CPU accesses that of
core 0. ``stepper.py`` is the same machine one cycle at a time, and must give the same trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import count

from chipmodel.chip.chip import Chip
from chipmodel.machine.bank_conflicts import BankConflicts, Ends, Pair, Passage
from chipmodel.machine.banks import BankMap, bank_map
from chipmodel.machine.dma_engine import DmaEngine, Transfer
from chipmodel.machine.npu_accesses import Stream, streams
from chipmodel.model.commands import (
    Acquire,
    Branch,
    Command,
    Compute,
    Deadlock,
    DmaStart,
    DmaWait,
    Plain,
    Release,
    Repeat,
    resolve_path,
)
from chipmodel.model.trace import Cause, Event, Hold, Trace, Wait


def simulate(commands: tuple[Command, ...], chip: Chip, choices: Mapping[str, str] | None = None) -> Trace:
    """Run ``commands`` on core 0 of ``chip`` along the path that ``choices`` select (see ``resolve_path``).

    Every cycle of every unit is accounted for, and the sum is checked.
    """
    return simulate_cores((commands,), chip, choices)


def simulate_cores(
    cores: Sequence[tuple[Command, ...]], chip: Chip, choices: Mapping[str, str] | None = None
) -> Trace:
    """Run one stream of commands on each of so many cores. Raises Deadlock where they wait for one another
    for ever."""
    path = resolve_path(tuple(command for commands in cores for command in commands), choices or {})
    machine = Machine(chip, len(cores))
    if len(cores) == 1:
        for command in _along(cores[0], path):
            machine.run(command)
    else:
        machine.run_together([_along(commands, path) for commands in cores])
    trace = machine.finish(path)
    faults = trace.unaccounted()
    if faults:
        raise AssertionError(f"cycles unaccounted for: {faults[0]}")
    return trace


def _along(commands: tuple[Command, ...], path: Mapping[str, str]) -> Iterator[Plain]:
    for command in commands:
        match command:
            case Branch():
                taken = next(arm for arm in command.arms if arm.name == path[command.name])
                yield from _along(taken.body, path)
            case Repeat():
                for _ in range(int(path[command.name])):
                    yield from _along(command.body, path)
            case _:
                yield command


def cause_of_wait(start: DmaStart) -> Cause:
    """Why the NPU stands still while it waits for this transfer."""
    if start.direction == "store":
        return "output"
    return "weights" if start.at.part.weights else "input"


@dataclass
class _Running:
    """An op on the NPU; ``done`` counts the cycles in which it got on."""

    command: Compute
    streams: tuple[Stream, ...]
    done: int = 0
    waits: Counter[tuple[Hold, str]] = field(default_factory=Counter[tuple[Hold, str]])


@dataclass
class _Core:
    """A sequencer and its NPU: the command that it is at and since when; none where it is free."""

    number: int
    dma_first: bool
    """Whose turn it is at the next meeting on a bank of its SharedMemory."""
    current: Plain | None = None
    since: int = 0
    running: _Running | None = None
    started: dict[str, DmaStart] = field(default_factory=dict[str, DmaStart])


class Machine:
    """``clock`` is everybody's time. Commands come one at a time to a single core (``run``), or as streams
    to all of them (``run_together``)."""

    def __init__(self, chip: Chip, cores: int = 1) -> None:
        self.chip = chip
        self.banks = bank_map(chip.shared_memory)
        self.meetings = None if self.banks is None else BankConflicts(self.banks)
        self.dma = DmaEngine(chip)
        self.clock = 0
        self.passes = 0
        """How often time has passed: what the simulation costs."""
        self.events: list[Event] = []
        self.serials = count()
        dma_first = self.banks is not None and self.banks.arbitration == "dma first"
        self.cores = [_Core(number, dma_first) for number in range(cores)]
        self.released: set[tuple[int, str]] = set()

    def run(self, command: Plain) -> None:
        """Core 0 alone runs ``command`` to its end."""
        core = self.cores[0]
        self.take(core, command)
        while not self.free(core):
            self.pass_time()

    def run_together(self, feeds: Sequence[Iterator[Plain]]) -> None:
        """Every core runs its stream, until all are at their ends."""
        left = list(zip(self.cores, feeds, strict=True))
        while left:
            known = -1
            while known < len(self.released):  # a release may let a core before it go on
                known = len(self.released)
                left = [(core, feed) for core, feed in left if not self.exhausted(core, feed)]
            if left:
                self.pass_time()

    def exhausted(self, core: _Core, feed: Iterator[Plain]) -> bool:
        """Let ``core`` run all commands that take no time; whether it is at the end of its stream."""
        while self.free(core):
            command = next(feed, None)
            if command is None:
                core.since = self.clock
                return True
            self.take(core, command)
        return False

    def take(self, core: _Core, command: Plain) -> None:
        """``core``, which is free, begins ``command``."""
        core.current, core.since = command, self.clock
        match command:
            case DmaStart():
                core.started[command.name] = command
                self.dma.issue(next(self.serials), command, core.number)
            case Compute():
                core.running = _Running(command, streams(command, self.chip.npu) if self.banks else ())
            case Release():
                self.released.add((core.number, command.tensor))
            case DmaWait() | Acquire():
                pass

    def free(self, core: _Core) -> bool:
        """Whether ``core`` is done with its command, which then becomes an event."""
        command = core.current
        if command is None:
            return True
        match command:
            case DmaWait():
                if self.dma.ends[core.number, command.name] is None:
                    return False
                self.waited(core, cause_of_wait(core.started[command.name]), command.name, command.op)
            case Acquire():
                key = command.core, command.tensor
                if key not in self.released or self.dma.stores(*key):
                    return False
                self.waited(core, "core", f"{command.tensor} of core {command.core}", command.op)
            case Compute():
                if core.running and core.running.done < command.cycles:
                    return False
                self.computed(core, command)
            case DmaStart() | Release():
                pass
        core.current = None
        return True

    def waited(self, core: _Core, cause: Cause, name: str, op: str) -> None:
        if core.since < self.clock:
            span = core.since, self.clock
            self.events.append(Event("npu", *span, cause, name, op, "wait", core=core.number))

    def computed(self, core: _Core, command: Compute) -> None:
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

    def fork(self) -> Machine:
        """A machine that goes on from here on its own, between two commands of its only core."""
        (core,) = self.cores
        other = copy(self)
        other.dma = self.dma.fork()
        other.events = []
        other.cores = [replace(core, started=dict(core.started))]
        return other

    def key(self) -> tuple[object, ...]:
        """All that the times of its only core's further commands depend on, relative to the clock."""
        (core,) = self.cores
        every = self.chip.cpu.shared_every if self.banks else 0
        turn = self.clock % (every * self.banks.count) if self.banks and every else 0
        return core.dma_first, turn, *self.dma.key(self.clock)

    def drain(self) -> None:
        """Until the DMA engine has nothing left to do."""
        while self.dma.at_work:
            self.pass_time()

    def finish(self, path: Mapping[str, str]) -> Trace:
        """The trace, once every core is at the end of its commands."""
        if len(self.cores) == 1:
            self.cores[0].since = self.clock
        self.drain()
        for core in self.cores:
            self.waited(core, "finished", "", "")
        events = [*self.events, *self.dma.finish(self.clock)]
        events.sort(key=lambda e: (e.start, e.unit, e.channel, e.core))
        return Trace(tuple(events), self.clock, dict(path), self.chip.dma.channels.count, len(self.cores))

    def pass_time(self) -> None:
        """Up to the next decision of anybody, or the CPU's next access of a bank."""
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
                self.meet(self.banks, transfer)
                return
            cycles = min(cycles, -self.clock % every) if every else cycles
        beside = self.cores[transfer.core] if transfer else None
        if self.meetings and transfer and beside and beside.running and beside.running.streams:
            self.run_beside(self.meetings, beside, beside.running, transfer, cycles)
        else:
            self.advance(cycles, cycles)

    def run_beside(
        self, meetings: BankConflicts, core: _Core, running: _Running, transfer: Transfer, cycles: int
    ) -> None:
        """``cycles``, of an op and of data of one core, in which the two may meet."""
        pair = Pair(running.streams, transfer.shape, transfer.command.at.offset)
        start = Passage(0, running.done, transfer.done, core.dma_first)
        end = meetings.run(pair, start, Ends(cycles, running.command.cycles, transfer.shape.data))
        op, data = end.op - start.op, end.data - start.data
        core.dma_first = end.dma_first
        self.count(running.waits, transfer.command.name, end.cycles - op)
        self.count(transfer.waits, running.command.label, end.cycles - data)
        self.advance(end.cycles, data, {core.number: op})
        if not end.moved:
            self.dma.begun()

    def count(self, waits: Counter[tuple[Hold, str]], met: str, cycles: int) -> None:
        if cycles:
            waits["bank", met] += cycles

    def meet(self, banks: BankMap, transfer: Transfer | None) -> None:
        """One cycle, in which the CPU accesses core 0's SharedMemory and not everybody may be served."""
        computed: dict[int, int] = {}
        moved = 1
        for number in dict.fromkeys((0, transfer.core if transfer else 0)):
            own = transfer if transfer and transfer.core == number else None
            computed[number], served = self.serve(banks, self.cores[number], own)
            moved = served if own else moved
        self.advance(1, moved, computed)
        if not moved:
            self.dma.begun()

    def serve(self, banks: BankMap, core: _Core, transfer: Transfer | None) -> tuple[int, int]:
        """Cycles by which the op and the transfer of one core get on in this one."""
        running = core.running
        cpu = self.cpu_mask(banks) if core.number == 0 else 0
        npu = self.npu_mask(banks, running)
        dma = self.dma_mask(banks, transfer)
        npu_goes, dma_goes = banks.grants(cpu, npu, dma, core.dma_first)
        if npu and dma and npu_goes != dma_goes and banks.arbitration == "round robin":
            core.dma_first = npu_goes
        if running and not npu_goes:
            self.count(running.waits, "CPU" if npu & cpu else transfer.command.name if transfer else "", 1)
        if transfer and not dma_goes:
            self.count(transfer.waits, "CPU" if dma & cpu else running.command.label if running else "", 1)
        return int(npu_goes), int(dma_goes)

    def advance(self, cycles: int, moved: int, computed: Mapping[int, int] | None = None) -> None:
        """``cycles`` pass, in which data move for ``moved`` of them and each op gets on, for as many as
        ``computed`` says of its core."""
        for core in self.cores:
            if core.running:
                core.running.done += (computed or {}).get(core.number, cycles)
        self.dma.advance(self.clock, cycles, moved)
        self.clock += cycles

    def cpu_mask(self, banks: BankMap) -> int:
        every = self.chip.cpu.shared_every
        return 0 if not every or self.clock % every else 1 << self.clock // every % banks.count

    def npu_mask(self, banks: BankMap, running: _Running | None) -> int:
        mask = 0
        for stream in running.streams if running else ():
            address = stream.at(running.done) if running else None
            if address is not None:
                mask |= banks.mask(address, stream.width)
        return mask

    def dma_mask(self, banks: BankMap, transfer: Transfer | None) -> int:
        beat = transfer.shape.beat(transfer.done) if transfer else None
        if transfer is None or beat is None:
            return 0
        return banks.mask(transfer.command.at.offset + beat[0], beat[1])


def _waits_for(core: _Core) -> str:
    command = core.current
    wanted = f"{command.tensor!r} of core {command.core}" if isinstance(command, Acquire) else repr(command)
    return f"core {core.number} waits for {wanted}"
