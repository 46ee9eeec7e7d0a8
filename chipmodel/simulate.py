"""Commands and Chip to Trace, in integer cycles, event by event.

The sequencer runs commands in order: a compute blocks it until the NPU is done, a wait until the
transfer has ended; starting a transfer costs nothing here but queues it. The DMA engine serves its
queue (``chipmodel.dma_engine``). Where both access SharedMemory at once, they may meet on a bank
(``chipmodel.meetings``). ``stepper.py`` is the same machine one cycle at a time, and must give the same
trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from chipmodel.banks import BankMap, bank_map
from chipmodel.chip import Chip
from chipmodel.commands import Branch, Command, Compute, DmaStart, DmaWait, Repeat, resolve_path
from chipmodel.dma_engine import DmaEngine, Transfer
from chipmodel.meetings import Ends, Meetings, Pair, Passage
from chipmodel.trace import Cause, Event, Hold, Trace, Wait
from chipmodel.traffic import Stream, streams


def simulate(commands: tuple[Command, ...], chip: Chip, choices: Mapping[str, str] | None = None) -> Trace:
    """Run ``commands`` on ``chip`` along the path that ``choices`` select (see ``resolve_path``).

    Every cycle of every unit is accounted for, and the sum is checked.
    """
    path = resolve_path(commands, choices or {})
    machine = _Machine(chip)
    for command in _along(commands, path):
        machine.run(command)
    trace = machine.finish(path)
    faults = trace.unaccounted()
    if faults:
        raise AssertionError(f"cycles unaccounted for: {faults[0]}")
    return trace


def _along(commands: tuple[Command, ...], path: Mapping[str, str]) -> Iterator[DmaStart | DmaWait | Compute]:
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


class _Machine:
    """``clock`` is the sequencer's time, and so the NPU's; the DMA engine is never behind it."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.banks = bank_map(chip.shared_memory)
        self.meetings = None if self.banks is None else Meetings(self.banks)
        self.dma = DmaEngine(chip)
        self.clock = 0
        self.events: list[Event] = []
        self.started: dict[str, DmaStart] = {}
        self.serials = count()
        self.dma_first = self.banks is not None and self.banks.arbitration == "dma first"

    def run(self, command: DmaStart | DmaWait | Compute) -> None:
        match command:
            case DmaStart():
                self.started[command.name] = command
                self.dma.issue(next(self.serials), command)
            case DmaWait():
                self.wait(command)
            case Compute():
                self.compute(command)

    def wait(self, command: DmaWait) -> None:
        begin = self.clock
        while self.dma.ends[command.name] is None:
            self.pass_time(None)
        if self.clock > begin:
            cause = cause_of_wait(self.started[command.name])
            self.events.append(Event("npu", begin, self.clock, cause, command.name, command.op, "wait"))

    def compute(self, command: Compute) -> None:
        begin = self.clock
        accesses = streams(command, self.chip.npu) if self.banks else ()
        running = _Running(command, accesses)
        while running.done < command.cycles:
            self.pass_time(running)
        if command.cycles:
            waits = tuple(sorted(Wait(cause, by, n) for (cause, by), n in running.waits.items()))
            self.events.append(
                Event(
                    "npu",
                    begin,
                    self.clock,
                    "",
                    command.label,
                    command.op,
                    "compute",
                    0,
                    command.position,
                    waits=waits,
                )
            )

    def finish(self, path: Mapping[str, str]) -> Trace:
        begin = self.clock
        while self.dma.at_work:
            self.pass_time(None)
        if begin < self.clock:
            self.events.append(Event("npu", begin, self.clock, "finished", "", "", "wait"))
        events = [*self.events, *self.dma.finish(self.clock)]
        events.sort(key=lambda e: (e.start, e.unit, e.channel))
        return Trace(tuple(events), self.clock, dict(path), self.chip.dma.channels.count)

    def pass_time(self, running: _Running | None) -> None:
        """Up to the next decision of anybody, or the CPU's next access of a bank."""
        self.dma.settle(self.clock)
        waits, data = self.dma.horizon(self.clock)
        if running:
            waits.append(running.command.cycles - running.done)
        if data is not None:
            waits.append(data)
        cycles = min(waits)
        transfer = self.dma.moving()
        if self.banks and (running or transfer):
            every = self.chip.cpu.shared_every
            if every and self.clock % every == 0:
                self.meet(self.banks, running, transfer)
                return
            cycles = min(cycles, -self.clock % every) if every else cycles
        if self.meetings and running and transfer and running.streams:
            self.run_beside(self.meetings, running, transfer, cycles)
        else:
            self.advance(cycles, running, cycles, cycles)

    def run_beside(self, meetings: Meetings, running: _Running, transfer: Transfer, cycles: int) -> None:
        """``cycles``, of an op and of data, in which the two may meet."""
        pair = Pair(running.streams, transfer.shape, transfer.command.at.offset)
        start = Passage(0, running.done, transfer.done, self.dma_first)
        end = meetings.run(pair, start, Ends(cycles, running.command.cycles, transfer.shape.data))
        op, data = end.op - start.op, end.data - start.data
        self.dma_first = end.dma_first
        self.count(running.waits, transfer.command.name, end.cycles - op)
        self.count(transfer.waits, running.command.label, end.cycles - data)
        self.advance(end.cycles, running, op, data)
        if not end.moved:
            self.dma.begun()

    def count(self, waits: Counter[tuple[Hold, str]], met: str, cycles: int) -> None:
        if cycles:
            waits["bank", met] += cycles

    def meet(self, banks: BankMap, running: _Running | None, transfer: Transfer | None) -> None:
        """One cycle in which not everybody may be served."""
        cpu = self.cpu_mask(banks)
        npu = self.npu_mask(banks, running)
        dma = self.dma_mask(banks, transfer)
        npu_goes, dma_goes = banks.grants(cpu, npu, dma, self.dma_first)
        if npu and dma and npu_goes != dma_goes and banks.arbitration == "round robin":
            self.dma_first = npu_goes
        if running and not npu_goes:
            self.count(running.waits, "CPU" if npu & cpu else transfer.command.name if transfer else "", 1)
        if transfer and not dma_goes:
            self.count(transfer.waits, "CPU" if dma & cpu else running.command.label if running else "", 1)
        self.advance(1, running, int(npu_goes), int(dma_goes))
        if not dma_goes:
            self.dma.begun()

    def advance(self, cycles: int, running: _Running | None, computed: int, moved: int) -> None:
        if running:
            running.done += computed
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
