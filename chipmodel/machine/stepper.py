"""The same machine as ``simulate.py``, one cycle at a time: slow, plain, and the oracle.

It shares only the vocabulary with the event-driven simulator: what a transfer does (``dma.timing.shape``),
what an op accesses (``chipmodel.machine.npu_accesses``), who goes first on a bank
(``chipmodel.machine.banks``), and when the Psram is interrupted (``dma.timing.interruptions``). Each cycle
the sequencer runs commands until it must wait, free channels take transfers, the engine takes a burst, and
then every unit does one cycle of what it does. Of several cores the one with the lower number goes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from chipmodel.chip.chip import Chip
from chipmodel.machine.banks import bank_map
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
from chipmodel.model.trace import Cause, Event, Hold, Kind, Trace, Wait
from dma.timing.interruptions import Interruption, interruptions
from dma.timing.shape import TransferShape, shape_of

Held = tuple[Hold, str]


@dataclass(frozen=True)
class _Tick:
    """One cycle of a unit: the serial number of what it does (so that two alike are told apart), and why
    it stood still, if it did."""

    serial: int
    event: Event
    held: Held | None = None


@dataclass
class _Transfer:
    serial: int
    core: int
    command: DmaStart
    shape: TransferShape
    setup_left: int
    done: int = 0
    """Cycles of its data."""


@dataclass
class _Core:
    """A sequencer with the number of its next command, and the NPU beside it."""

    number: int
    program: list[Plain]
    counter: int = 0
    computed: int = 0
    """Cycles that its op got on."""
    streams: tuple[Stream, ...] = ()
    dma_turn: bool = False
    latest: dict[str, DmaStart] = field(default_factory=dict[str, DmaStart])
    ticks: list[_Tick] = field(default_factory=list[_Tick])

    @property
    def command(self) -> Plain | None:
        return self.program[self.counter] if self.counter < len(self.program) else None

    @property
    def compute(self) -> Compute | None:
        command = self.command
        return command if isinstance(command, Compute) else None


@dataclass
class _Engine:
    """What the DMA engine is at: a burst of ``channel`` that ends ``until`` so many cycles of its data."""

    channel: int | None = None
    until: int = 0
    held: list[Held] = field(default_factory=list[Held])
    """One for each cycle that its burst has yet to wait before it starts."""
    last_channel: int = -1
    free_since: int = 0


def step_through(
    commands: tuple[Command, ...], chip: Chip, choices: Mapping[str, str] | None = None
) -> Trace:
    """The trace of ``commands`` on core 0 of ``chip``: must equal ``simulate``'s, event for event."""
    return step_through_cores((commands,), chip, choices)


def step_through_cores(
    cores: Sequence[tuple[Command, ...]], chip: Chip, choices: Mapping[str, str] | None = None
) -> Trace:
    """The trace of a stream of commands on each of so many cores: must equal ``simulate_cores``'s. Raises
    Deadlock where it does."""
    path = resolve_path(tuple(command for commands in cores for command in commands), choices or {})
    return _Stepper(chip, [_unrolled(commands, path) for commands in cores]).run(path)


class _Stepper:
    def __init__(self, chip: Chip, programs: list[list[Plain]]) -> None:
        self.chip = chip
        self.cores = [_Core(number, program) for number, program in enumerate(programs)]
        self.banks = bank_map(chip.shared_memory)
        self.interruptions = list(interruptions(chip))
        self.handled = [0 for _ in self.interruptions]
        self.clock = 0
        self.serials = 0
        self.released: set[tuple[int, str]] = set()
        self.queue: list[_Transfer] = []
        self.channels: list[_Transfer | None] = [None] * chip.dma.channels.count
        self.engine = _Engine()
        self.dma: list[list[_Tick]] = [[] for _ in self.channels]

    def run(self, path: Mapping[str, str]) -> Trace:
        while True:
            self.sequence_all()
            self.admit()
            self.take_burst()
            if not any(self.channels):
                if all(core.command is None for core in self.cores):
                    break
                if not any(core.compute for core in self.cores):
                    raise Deadlock(f"in cycle {self.clock} nobody can go on")
            self.cycle()
        for ticks in self.dma:
            _rename_tail(ticks)
        units = [*(core.ticks for core in self.cores), *self.dma]
        events = [event for ticks in units for event in _joined(ticks)]
        events.sort(key=lambda e: (e.start, e.unit, e.channel, e.core))
        return Trace(tuple(events), self.clock, path, len(self.channels), len(self.cores))

    def sequence_all(self) -> None:
        """Run the cores' commands in turn, and again where that let another core go on."""
        while True:
            before = [core.counter for core in self.cores]
            for core in self.cores:
                self.sequence(core)
            if before == [core.counter for core in self.cores]:
                return

    def sequence(self, core: _Core) -> None:
        """Run commands until one takes time."""
        while core.counter < len(core.program):
            command = core.program[core.counter]
            if isinstance(command, DmaStart):
                shape = shape_of(self.chip, command.direction, command.bytes)
                self.queue.append(_Transfer(self.serials, core.number, command, shape, shape.setup))
                self.serials += 1
                core.latest[command.name] = command
            elif isinstance(command, Release):
                self.released.add((core.number, command.tensor))
            elif isinstance(command, Compute):
                if core.computed < command.cycles:
                    core.streams = streams(command, self.chip.npu)
                    return
            elif self.must_wait(core, command):
                return
            core.computed = 0
            core.counter += 1

    def must_wait(self, core: _Core, command: DmaWait | Acquire) -> bool:
        """Whether a transfer is not over, or a tensor of another core not in Psram."""
        unfinished = [*self.queue, *(t for t in self.channels if t)]
        if isinstance(command, DmaWait):
            return any(t.core == core.number and t.command.name == command.name for t in unfinished)
        if (command.core, command.tensor) not in self.released:
            return True
        stores = [t for t in unfinished if t.core == command.core and t.command.direction == "store"]
        return any(t.command.at.part.name == command.tensor for t in stores)

    def admit(self) -> None:
        """The oldest transfers go to free channels, unless they must follow one that is in flight."""
        while self.queue and None in self.channels:
            head = self.queue[0]
            if any(t and head.command.clashes(t.command, t.core == head.core) for t in self.channels):
                return
            self.channels[self.channels.index(None)] = self.queue.pop(0)

    def take_burst(self) -> None:
        """Where no burst is in flight, choose the next among the transfers that are set up."""
        if self.engine.channel is not None:
            return
        ready = [c for c, transfer in enumerate(self.channels) if transfer and not transfer.setup_left]
        if not ready:
            return
        if self.chip.dma.channels.arbitration == "round robin":
            chosen = min(ready, key=lambda c: (c - self.engine.last_channel - 1) % len(self.channels))
        else:
            chosen = min(ready, key=self.serial)
        transfer = self.channels[chosen]
        assert transfer is not None
        self.engine.channel = self.engine.last_channel = chosen
        self.engine.until = transfer.shape.burst_end(transfer.done)
        self.engine.held = self.holds(transfer)

    def serial(self, channel: int) -> int:
        transfer = self.channels[channel]
        assert transfer is not None
        return transfer.serial

    def holds(self, transfer: _Transfer) -> list[Held]:
        """Cycles that the burst which begins now waits for interruptions of the Psram."""
        held: list[Held] = []
        for index, interruption in enumerate(self.interruptions):
            number = interruption.last(self.clock)
            if number > self.handled[index]:
                self.handled[index] = number
                held += self.hold(interruption, number, transfer)
        return held

    def hold(self, interruption: Interruption, number: int, transfer: _Transfer) -> list[Held]:
        direction = transfer.command.direction
        cycles = interruption.delay(number, self.engine.free_since, self.clock, direction)
        return [(interruption.cause, "CPU" if interruption.cause == "cpu" else "")] * cycles

    def cycle(self) -> None:
        """One cycle of every unit."""
        dma_goes, dma_met = True, ""
        npu_goes: list[bool] = []
        for core in self.cores:
            goes, engine_goes, npu_met, engine_met = self.meet(core)
            npu_goes.append(goes)
            if not engine_goes:
                dma_goes, dma_met = False, engine_met
            core.ticks.append(self.npu_tick(core, None if goes else ("bank", npu_met)))
        for channel, transfer in enumerate(self.channels):
            self.dma[channel].append(
                self.dma_tick(channel, transfer, None if dma_goes else ("bank", dma_met))
            )
        for core, goes in zip(self.cores, npu_goes, strict=True):
            core.computed += bool(core.compute) and goes
        self.move(dma_goes)
        self.clock += 1

    def meet(self, core: _Core) -> tuple[bool, bool, str, str]:
        """Whether the NPU of ``core`` and the DMA engine at its memory get on in this cycle, and else whom
        each met."""
        if self.banks is None:
            return True, True, "", ""
        cpu, npu, dma = self.cpu_mask(core), self.npu_mask(core), self.dma_mask(core)
        arbitration = self.banks.arbitration
        dma_first = arbitration == "dma first" or (arbitration == "round robin" and core.dma_turn)
        npu_goes, dma_goes = self.banks.grants(cpu, npu, dma, dma_first)
        if npu and dma and npu_goes != dma_goes:
            core.dma_turn = npu_goes
        npu_met = "CPU" if npu & cpu else self.moving()
        dma_met = "CPU" if dma & cpu else core.compute.label if core.compute else ""
        return npu_goes, dma_goes, npu_met, dma_met

    def cpu_mask(self, core: _Core) -> int:
        every = self.chip.cpu.shared_every
        if core.number or not every or self.clock % every or self.banks is None:
            return 0
        return 1 << self.clock // every % self.banks.count

    def npu_mask(self, core: _Core) -> int:
        mask = 0
        if core.compute and self.banks:
            for stream in core.streams:
                address = stream.at(core.computed)
                if address is not None:
                    mask |= self.banks.mask(address, stream.width)
        return mask

    def dma_mask(self, core: _Core) -> int:
        if self.engine.channel is None or self.engine.held or self.banks is None:
            return 0
        transfer = self.channels[self.engine.channel]
        assert transfer is not None
        if transfer.core != core.number:
            return 0
        beat = transfer.shape.beat(transfer.done)
        return self.banks.mask(transfer.command.at.offset + beat[0], beat[1]) if beat else 0

    def move(self, dma_goes: bool) -> None:
        for channel, transfer in enumerate(self.channels):
            if transfer is None:
                continue
            if transfer.setup_left:
                transfer.setup_left -= 1
            elif channel == self.engine.channel:
                self.serve(channel, transfer, dma_goes)

    def serve(self, channel: int, transfer: _Transfer, dma_goes: bool) -> None:
        if self.engine.held:
            self.engine.held.pop(0)
            return
        transfer.done += dma_goes
        if transfer.done == self.engine.until:
            self.engine.channel = None
            self.engine.free_since = self.clock + 1
            if transfer.done == transfer.shape.data:
                self.channels[channel] = None

    def moving(self) -> str:
        transfer = None if self.engine.channel is None else self.channels[self.engine.channel]
        return transfer.command.name if transfer else ""

    def npu_tick(self, core: _Core, held: Held | None) -> _Tick:
        now, then = self.clock, self.clock + 1
        command, number = core.command, core.number
        if isinstance(command, Compute):
            position = command.position
            event = Event(
                "npu", now, then, "", command.label, command.op, "compute", 0, position, core=number
            )
            return _Tick(core.counter, event, held)
        if isinstance(command, Acquire):
            name = f"{command.tensor} of core {command.core}"
            event = Event("npu", now, then, "core", name, command.op, "wait", core=number)
        elif isinstance(command, DmaWait):
            awaited = core.latest[command.name]
            loaded: Cause = "weights" if awaited.at.part.weights else "input"
            cause: Cause = "output" if awaited.direction == "store" else loaded
            event = Event("npu", now, then, cause, command.name, command.op, "wait", core=number)
        else:
            event = Event("npu", now, then, "finished", "", "", "wait", core=number)
        return _Tick(core.counter, event)

    def dma_tick(self, channel: int, transfer: _Transfer | None, held: Held | None) -> _Tick:
        now, then = self.clock, self.clock + 1
        if transfer is None:
            cause: Cause = "order" if self.queue else "nothing issued"
            return _Tick(-1, Event("dma", now, then, cause, "", "", "wait", channel=channel))
        start = transfer.command
        kind: Kind
        if start.direction == "store":
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
            return _Tick(transfer.serial, event)
        if channel != self.engine.channel:
            return _Tick(transfer.serial, event, ("arbitration", ""))
        return _Tick(transfer.serial, event, self.engine.held[0] if self.engine.held else held)


def _rename_tail(ticks: list[_Tick]) -> None:
    """After its last transfer a channel is finished, not waiting for somebody to issue."""
    for index in range(len(ticks) - 1, -1, -1):
        tick = ticks[index]
        if tick.event.cause != "nothing issued":
            return
        ticks[index] = replace(tick, event=replace(tick.event, cause="finished"))


def _joined(ticks: list[_Tick]) -> list[Event]:
    """Consecutive cycles of one activity as one event."""
    events: list[Event] = []
    waits: list[Counter[Held]] = []
    before: tuple[int, str] | None = None
    for tick in ticks:
        if before == (tick.serial, tick.event.cause):
            events[-1] = replace(events[-1], stop=tick.event.stop)
        else:
            events.append(tick.event)
            waits.append(Counter())
        if tick.held:
            waits[-1][tick.held] += 1
        before = (tick.serial, tick.event.cause)
    return [replace(event, waits=_waits(held)) for event, held in zip(events, waits, strict=True)]


def _waits(held: Counter[Held]) -> tuple[Wait, ...]:
    return tuple(sorted(Wait(cause, by, cycles) for (cause, by), cycles in held.items()))


def _unrolled(commands: tuple[Command, ...], path: Mapping[str, str]) -> list[Plain]:
    result: list[Plain] = []
    for command in commands:
        if isinstance(command, Branch):
            for arm in command.arms:
                if arm.name == path[command.name]:
                    result += _unrolled(arm.body, path)
        elif isinstance(command, Repeat):
            result += _unrolled(command.body, path) * int(path[command.name])
        else:
            result.append(command)
    return result
