"""Simulate commands one cycle at a time: slow and plain, the oracle of ``chipmodel.machine.simulate``.

It shares with the event-driven simulator only what describes the hardware: the cycles of a transfer
(``chipmodel.timing.shape``), the accesses of an op (``chipmodel.machine.npu_accesses``), the arbitration of
banks (``chipmodel.machine.banks``), and interruptions of the Psram (``chipmodel.timing.interruptions``).
In each cycle the sequencers run commands until each must wait, free channels take transfers, the engine
takes a burst, and then every unit does one cycle of its work. Of several cores the one with the lower number
goes first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, repeat
from typing import NamedTuple

from chipmodel.hardware.chip import Chip
from chipmodel.machine.banks import bank_map
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
    clash,
    resolve_path,
)
from chipmodel.model.trace import Cause, Event, Hold, Kind, Trace, Wait
from chipmodel.timing.interruptions import interruptions
from chipmodel.timing.shape import TransferShape, shape_of
from tests.support.every_path import along
from tests.support.narrowed import some

Stall = tuple[Hold, str]
"""Why a unit makes no progress in a cycle, and the op, transfer or CPU that is served instead."""


class _UnitCycle(NamedTuple):
    """One cycle of a unit: a serial number of its activity, an event of this cycle alone, and its stall."""

    serial: int
    event: Event
    stall: Stall | None = None


@dataclass
class _SteppedTransfer:
    serial: int
    core: int
    command: AnyTransfer
    shape: TransferShape
    setup_left: int
    done: int = 0
    """Cycles of its data that have passed."""


@dataclass
class _SteppedCore:
    """A sequencer and its NPU."""

    number: int
    program: list[Plain]
    counter: int = 0
    """The index of the sequencer's current command."""
    computed: int = 0
    """Cycles in which its op made progress."""
    streams: tuple[AccessStream, ...] = ()
    dma_turn: bool = False
    """With round-robin arbitration, whether the DMA engine is served first at the next bank conflict."""
    latest: dict[str, AnyTransfer] = field(default_factory=dict[str, AnyTransfer])
    """The latest transfer of each name."""
    cycles: list[_UnitCycle] = field(default_factory=list[_UnitCycle])

    @property
    def command(self) -> Plain | None:
        return self.program[self.counter] if self.counter < len(self.program) else None

    @property
    def compute(self) -> Compute | None:
        command = self.command
        return command if isinstance(command, Compute) else None


@dataclass
class _SteppedEngine:
    """The DMA engine, with the burst that is in flight."""

    channel: int | None = None
    """The burst's channel; None where no burst is in flight."""
    until: int = 0
    """Cycles of the transfer's data at which the burst ends."""
    stalls: list[Stall] = field(default_factory=list[Stall])
    """One for each cycle that the burst still waits before it starts."""
    last_channel: int = -1
    free_since: int = 0


def step_through(
    commands: tuple[Command, ...], chip: Chip, choices: Mapping[str, str] | None = None
) -> Trace:
    """Simulate ``commands`` on core 0 of ``chip``; the trace must equal that of ``simulate``."""
    return step_through_cores((commands,), chip, choices)


def step_through_cores(
    cores: Sequence[tuple[Command, ...]], chip: Chip, choices: Mapping[str, str] | None = None
) -> Trace:
    """Simulate the commands of each core; the trace must equal that of ``simulate_cores``. Raises Deadlock
    where cores wait for one another forever."""
    path = resolve_path(tuple(command for commands in cores for command in commands), choices or {})
    taken = {name: repeat(choice) for name, choice in path.items()}
    return _Stepper(chip, [[*along(commands, taken)] for commands in cores]).run(path)


class _Stepper:
    def __init__(self, chip: Chip, programs: list[list[Plain]]) -> None:
        self.chip = chip
        self.cores = [_SteppedCore(number, program) for number, program in enumerate(programs)]
        self.banks = bank_map(chip.shared_memory)
        self.interruptions = list(interruptions(chip))
        self.handled = [0 for _ in self.interruptions]
        self.clock = 0
        self.serials = 0
        self.released: set[tuple[int, str]] = set()
        self.queue: list[_SteppedTransfer] = []
        self.channels: list[_SteppedTransfer | None] = [None] * chip.dma.channels.count
        self.engine = _SteppedEngine()
        self.channel_cycles: list[list[_UnitCycle]] = [[] for _ in self.channels]

    def run(self, path: Mapping[str, str]) -> Trace:
        while True:
            self.sequence_all()
            self.admit()
            self.take_burst()
            if not any(self.channels):
                if all(core.command is None for core in self.cores):
                    break
                if not any(core.compute for core in self.cores):
                    raise Deadlock(f"in cycle {self.clock} no core can continue")
            self.cycle()
        events = [event for core in self.cores for event in _joined(core.cycles)]
        events += [event for cycles in self.channel_cycles for event in _finished(_joined(cycles))]
        events.sort(key=lambda e: (e.start, e.unit, e.channel, e.core))
        return Trace(tuple(events), self.clock, path, len(self.channels), len(self.cores))

    def sequence_all(self) -> None:
        """Run the commands of all cores that take no time, until no core can continue."""
        while True:
            before = [core.counter for core in self.cores]
            for core in self.cores:
                self.sequence(core)
            if before == [core.counter for core in self.cores]:
                return

    def sequence(self, core: _SteppedCore) -> None:
        """Run commands of one core until one takes time."""
        while core.counter < len(core.program):
            command = core.program[core.counter]
            if isinstance(command, DmaStart | DmaMove):
                runs = 1 if isinstance(command, DmaMove) else command.runs
                shape = shape_of(self.chip, command.traffic, command.bytes, runs)
                transfer = _SteppedTransfer(self.serials, core.number, command, shape, shape.setup)
                self.queue.append(transfer)
                self.serials += 1
                core.latest[command.name] = command
            elif isinstance(command, Release):
                self.released.add((core.number, command.tensor))
            elif isinstance(command, Compute):
                if core.computed < command.cycles:
                    core.streams = access_streams(command, self.chip.npu)
                    return
            elif self.must_wait(core, command):
                return
            core.computed = 0
            core.counter += 1

    def must_wait(self, core: _SteppedCore, command: DmaWait | Acquire) -> bool:
        """Whether the transfer has not ended, or the tensor of another core is not in Psram."""
        unfinished = [*self.queue, *(t for t in self.channels if t)]
        if isinstance(command, DmaWait):
            return any(t.core == core.number and t.command.name == command.name for t in unfinished)
        if (command.core, command.tensor) not in self.released:
            return True
        stores = [t for t in unfinished if t.core == command.core and _stores(t.command)]
        return any(t.command.part.name == command.tensor for t in stores)

    def admit(self) -> None:
        """Move the oldest transfers to free channels, unless they must follow one that is in flight."""
        while self.queue and None in self.channels:
            head = self.queue[0]
            if any(t and clash(head.command, t.command, t.core == head.core) for t in self.channels):
                return
            self.channels[self.channels.index(None)] = self.queue.pop(0)

    def take_burst(self) -> None:
        """Choose the next burst among the transfers that are set up, if none is in flight."""
        if self.engine.channel is not None:
            return
        ready = [c for c, transfer in enumerate(self.channels) if transfer and not transfer.setup_left]
        if not ready:
            return
        if self.chip.dma.channels.arbitration == "round robin":
            chosen = min(ready, key=lambda c: (c - self.engine.last_channel - 1) % len(self.channels))
        else:
            chosen = min(ready, key=self.serial)
        transfer = some(self.channels[chosen])
        self.engine.channel = self.engine.last_channel = chosen
        self.engine.until = transfer.shape.burst_end(transfer.done)
        self.engine.stalls = self.interruption_stalls(transfer)

    def serial(self, channel: int) -> int:
        transfer = some(self.channels[channel])
        return transfer.serial

    def interruption_stalls(self, transfer: _SteppedTransfer) -> list[Stall]:
        """One stall for each cycle that the burst which begins now waits for interruptions of the Psram."""
        stalls: list[Stall] = []
        direction = transfer.command.on_psram
        if direction is None:
            return stalls
        for index, interruption in enumerate(self.interruptions):
            number = interruption.last(self.clock)
            if number > self.handled[index]:
                self.handled[index] = number
                cycles = interruption.delay(number, self.engine.free_since, self.clock, direction)
                stall: Stall = (interruption.cause, "CPU" if interruption.cause == "cpu" else "")
                stalls += [stall] * cycles
        return stalls

    def cycle(self) -> None:
        """Let one cycle pass for every unit."""
        dma_stall: Stall | None = None
        npu_goes: list[bool] = []
        for core in self.cores:
            npu_stall, engine_stall = self.arbitrate(core)
            npu_goes.append(npu_stall is None)
            dma_stall = engine_stall or dma_stall
            core.cycles.append(self.npu_cycle(core, npu_stall))
        for channel, transfer in enumerate(self.channels):
            self.channel_cycles[channel].append(self.channel_cycle(channel, transfer, dma_stall))
        for core, goes in zip(self.cores, npu_goes, strict=True):
            core.computed += bool(core.compute) and goes
        self.move(dma_stall is None)
        self.clock += 1

    def arbitrate(self, core: _SteppedCore) -> tuple[Stall | None, Stall | None]:
        """The stalls on banks of one core's memory in this cycle, of its NPU and of the DMA engine."""
        if self.banks is None:
            return None, None
        cpu, npu, dma = self.cpu_mask(core), self.npu_mask(core), self.dma_mask(core)
        arbitration = self.banks.arbitration
        dma_first = arbitration == "dma first" or (arbitration == "round robin" and core.dma_turn)
        npu_goes, dma_goes = self.banks.grants(cpu, npu, dma, dma_first)
        if npu and dma and npu_goes != dma_goes:
            core.dma_turn = npu_goes
        before_npu = "CPU" if npu & cpu else self.moving()
        before_dma = "CPU" if dma & cpu else core.compute.label if core.compute else ""
        return None if npu_goes else ("bank", before_npu), None if dma_goes else ("bank", before_dma)

    def cpu_mask(self, core: _SteppedCore) -> int:
        every = self.chip.cpu.shared_every
        if core.number or not every or self.clock % every or self.banks is None:
            return 0
        return 1 << self.clock // every % self.banks.count

    def npu_mask(self, core: _SteppedCore) -> int:
        mask = 0
        if core.compute and self.banks:
            for stream in core.streams:
                address = stream.address_in(core.computed)
                if address is not None:
                    mask |= self.banks.mask(address, stream.width)
        return mask

    def dma_mask(self, core: _SteppedCore) -> int:
        if self.engine.channel is None or self.engine.stalls or self.banks is None:
            return 0
        transfer = some(self.channels[self.engine.channel])
        if transfer.core != core.number or isinstance(transfer.command, DmaMove):
            return 0
        beat = transfer.shape.beat(transfer.done)
        return self.banks.mask(transfer.command.near.start + beat[0], beat[1]) if beat else 0

    def move(self, dma_goes: bool) -> None:
        for channel, transfer in enumerate(self.channels):
            if transfer is None:
                continue
            if transfer.setup_left:
                transfer.setup_left -= 1
            elif channel == self.engine.channel:
                self.serve(channel, transfer, dma_goes)

    def serve(self, channel: int, transfer: _SteppedTransfer, dma_goes: bool) -> None:
        if self.engine.stalls:
            self.engine.stalls.pop(0)
            return
        transfer.done += dma_goes
        if transfer.done == self.engine.until:
            self.engine.channel = None
            self.engine.free_since = self.clock + 1
            if transfer.done == transfer.shape.data:
                self.channels[channel] = None

    def moving(self) -> str:
        """The name of the transfer whose burst is in flight."""
        transfer = None if self.engine.channel is None else self.channels[self.engine.channel]
        return transfer.command.name if transfer else ""

    def npu_cycle(self, core: _SteppedCore, stall: Stall | None) -> _UnitCycle:
        now, then = self.clock, self.clock + 1
        command, number = core.command, core.number
        if isinstance(command, Compute):
            position = command.position
            event = Event(
                "npu", now, then, "", command.label, command.op, "compute", 0, position, core=number
            )
            return _UnitCycle(core.counter, event, stall)
        if isinstance(command, Acquire):
            name = f"{command.tensor} of core {command.core}"
            event = Event("npu", now, then, "core", name, command.op, "wait", core=number)
        elif isinstance(command, DmaWait):
            awaited = core.latest[command.name]
            loaded: Cause = "weights" if awaited.part.weights else "input"
            cause: Cause = "output" if _stores(awaited) else loaded
            event = Event("npu", now, then, cause, command.name, command.op, "wait", core=number)
        else:
            event = Event("npu", now, then, "finished", "", "", "wait", core=number)
        return _UnitCycle(core.counter, event)

    def channel_cycle(
        self, channel: int, transfer: _SteppedTransfer | None, stall: Stall | None
    ) -> _UnitCycle:
        now, then = self.clock, self.clock + 1
        if transfer is None:
            cause: Cause = "order" if self.queue else "nothing issued"
            return _UnitCycle(-1, Event("dma", now, then, cause, "", "", "wait", channel=channel))
        start = transfer.command
        kind: Kind
        if isinstance(start, DmaMove):
            kind = "move"
        elif start.direction == "store":
            kind = "store tensor"
        elif start.at.part.weights:
            kind = "load weights"
        else:
            kind = "load tensor"
        core = transfer.core
        event = Event(
            "dma", now, then, "", start.name, start.op, kind, start.bytes, channel=channel, core=core
        )
        if transfer.setup_left:
            return _UnitCycle(transfer.serial, event)
        if channel != self.engine.channel:
            return _UnitCycle(transfer.serial, event, ("arbitration", ""))
        return _UnitCycle(transfer.serial, event, self.engine.stalls[0] if self.engine.stalls else stall)


def _stores(transfer: AnyTransfer) -> bool:
    return isinstance(transfer, DmaStart) and transfer.direction == "store"


def _joined(cycles: list[_UnitCycle]) -> list[Event]:
    """Join consecutive cycles of one activity to one event."""
    events: list[Event] = []
    for _, same in groupby(cycles, key=_activity):
        joined = [*same]
        waits = _waits(Counter(cycle.stall for cycle in joined if cycle.stall))
        events.append(replace(joined[0].event, stop=joined[-1].event.stop, waits=waits))
    return events


def _activity(cycle: _UnitCycle) -> tuple[int, str]:
    return cycle.serial, cycle.event.cause


def _finished(events: list[Event]) -> list[Event]:
    """After its last transfer a channel is finished; it does not wait for the next one to be issued."""
    if events and events[-1].cause == "nothing issued":
        events[-1] = replace(events[-1], cause="finished")
    return events


def _waits(stalls: Counter[Stall]) -> tuple[Wait, ...]:
    return tuple(sorted(Wait(cause, by, cycles) for (cause, by), cycles in stalls.items()))
