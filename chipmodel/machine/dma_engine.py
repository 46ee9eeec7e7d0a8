"""The DMA engine of the event-driven simulator: channels, and whose burst is in flight.

Time jumps from decision to decision. While a transfer has the engine to itself its bursts follow one
another without one, and nothing here grows with its bytes.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace

from chipmodel.chip.chip import Chip
from chipmodel.model.commands import DmaStart
from chipmodel.model.trace import Cause, Event, Hold, Kind, Wait
from dma.timing.interruptions import Interruption, interruptions
from dma.timing.shape import TransferShape, shape_of
from dma.timing.transfer import assert_legal


@dataclass(eq=False)
class Transfer:
    """A transfer in a channel; ``done`` counts cycles of its data."""

    serial: int
    command: DmaStart
    shape: TransferShape
    begin: int
    ready: int
    core: int = 0
    """Whose SharedMemory it moves bytes of."""
    done: int = 0
    waits: Counter[tuple[Hold, str]] = field(default_factory=Counter[tuple[Hold, str]])

    def starts_burst(self) -> bool:
        """Whether a burst begins with the next cycle of its data."""
        shape = self.shape
        burst = shape.line_at(self.done) // shape.burst_lines
        return shape.line_start(burst * shape.burst_lines) == self.done

    def left(self, clock: int) -> tuple[object, ...]:
        """What it moves, how much of it is done, and the cycles until it is set up."""
        return self.core, *_what(self.command), self.done, max(0, self.ready - clock)

    def event(self, channel: int, end: int) -> Event:
        """Its whole time in the channel; what is not accounted for went to other transfers."""
        lost = end - self.begin - self.shape.setup - self.shape.data - sum(self.waits.values())
        if lost:
            self.waits["arbitration", ""] += lost
        waits = tuple(sorted(Wait(cause, by, n) for (cause, by), n in self.waits.items()))
        start = self.command
        kind = kind_of(start)
        return Event(
            "dma",
            self.begin,
            end,
            "",
            start.name,
            start.op,
            kind,
            start.bytes,
            channel=channel,
            waits=waits,
            core=self.core,
        )


def _what(start: DmaStart) -> tuple[object, ...]:
    """All of a transfer that its time and those of others depend on."""
    home = start.home
    return (
        start.name,
        start.direction,
        start.bytes,
        start.at.offset,
        start.psram,
        home.start,
        home.stop,
    )


def kind_of(start: DmaStart) -> Kind:
    """What the transfer moves, in a trace's words."""
    if start.direction == "store":
        return "store tensor"
    return "load weights" if start.at.part.weights else "load tensor"


@dataclass
class _Idle:
    """Since when a channel has nothing to do, and why."""

    since: int = 0
    cause: Cause = "nothing issued"


class DmaEngine:
    """Channels, queue and current burst. Call ``settle`` whenever time or the queue has changed."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.round_robin = chip.dma.channels.arbitration == "round robin"
        self.channels: list[Transfer | None] = [None] * chip.dma.channels.count
        self.queue: deque[tuple[int, DmaStart, int]] = deque()
        self.idle = [_Idle() for _ in self.channels]
        self.current: int | None = None
        self.last = -1
        self.free_since = 0
        self.chosen_at = (-1, -1)
        self.held: list[tuple[Hold, str, int]] = []
        self.interruptions = list(interruptions(chip))
        self.handled = [0 for _ in self.interruptions]
        self.ends: dict[tuple[int, str], int | None] = {}
        """By core and name, when its latest transfer has ended; None for one that has not."""
        self.events: list[Event] = []

    def issue(self, serial: int, command: DmaStart, core: int = 0) -> None:
        """Queue a transfer of ``core``."""
        self.queue.append((serial, command, core))
        self.ends[core, command.name] = None

    def stores(self, core: int, tensor: str) -> bool:
        """Whether a store of ``tensor`` by ``core`` has yet to end."""
        return any(
            owner == core and command.direction == "store" and command.at.part.name == tensor
            for command, owner in self._unfinished()
        )

    def fork(self) -> DmaEngine:
        """An engine that goes on from here on its own; it has no events yet."""
        other = copy(self)
        other.channels = [replace(t, waits=Counter(t.waits)) if t else None for t in self.channels]
        other.queue, other.held, other.events = deque(self.queue), list(self.held), []
        other.idle, other.handled, other.ends = list(self.idle), list(self.handled), dict(self.ends)
        return other

    def key(self, clock: int) -> tuple[object, ...]:
        """All that the engine's times from ``clock`` on depend on, and nothing that only the past knows:
        engines of equal keys do the same from there on."""
        serials = sorted(t.serial for t in self.channels if t)
        return (
            tuple(t and (serials.index(t.serial), *t.left(clock)) for t in self.channels),
            tuple((core, *_what(command)) for _, command, core in self.queue),
            self.current,
            self.last % len(self.channels) if self.round_robin else None,
            self._begun_here(),
            tuple(left for _, _, left in self.held),
            tuple(self._due(i, n, clock) for i, n in zip(self.interruptions, self.handled, strict=True)),
        )

    def _begun_here(self) -> bool:
        """Whether the burst that is in flight was chosen, but has not moved anything."""
        transfer = None if self.current is None else self.channels[self.current]
        return transfer is not None and self.chosen_at == (transfer.serial, transfer.done)

    def _due(self, interruption: Interruption, handled: int, clock: int) -> tuple[object, ...]:
        """Where in its period an interruption is, and for how long the latest one will hold a burst up that
        has yet to be chosen; None where a burst is in flight, which ends first."""
        number = interruption.last(clock)
        phase = (clock - number * interruption.period).as_integer_ratio()
        if number <= handled:
            return *phase, 0
        if self.current is not None:
            return *phase, None
        return *phase, max(0, max(interruption.due(number), self.free_since) + interruption.busy - clock)

    @property
    def at_work(self) -> bool:
        """Whether any transfer is in a channel or has yet to come to one."""
        return any(self.channels) or bool(self.queue)

    def moving(self) -> Transfer | None:
        """The transfer whose data move now."""
        return None if self.current is None or self.held else self.channels[self.current]

    def settle(self, clock: int) -> None:
        """Fill free channels, and choose a burst where none is in flight."""
        self._admit(clock)
        transfer = self.moving()
        if transfer and transfer.starts_burst() and self.chosen_at != (transfer.serial, transfer.done):
            self.current, self.free_since = None, clock
        if self.current is None:
            self._choose(clock)

    def horizon(self, clock: int) -> tuple[list[int], int | None]:
        """Cycles until something else than data may need a decision, and cycles of data until they do."""
        waits = [t.ready - clock for t in self.channels if t and t.ready > clock]
        if self.held:
            return [*waits, self.held[0][2]], None
        transfer = self.moving()
        if transfer is None:
            return waits, None
        due = [i.due(n + 1) for i, n in zip(self.interruptions, self.handled, strict=True)]
        waits += [cycle - clock for cycle in due if cycle > clock]
        contested = any(cycle <= clock for cycle in due) or self._rivals(transfer, clock)
        shape = transfer.shape
        return waits, (shape.burst_end(transfer.done) if contested else shape.data) - transfer.done

    def advance(self, clock: int, cycles: int, moved: int) -> None:
        """``cycles`` pass from ``clock`` on, in which the current transfer moves data in ``moved``."""
        if self.held:
            cause, by, left = self.held[0]
            assert self.current is not None
            transfer = self.channels[self.current]
            assert transfer is not None
            transfer.waits[cause, by] += cycles
            self.held[0] = cause, by, left - cycles
            if left == cycles:
                self.held.pop(0)
        elif moved and self.current is not None:
            transfer = self.channels[self.current]
            assert transfer is not None
            transfer.done += moved
            if transfer.done == transfer.shape.data:
                self._end(self.current, transfer, clock + cycles)

    def begun(self) -> None:
        """The burst at hand has begun, though its first beat waits for a bank."""
        transfer = self.moving()
        if transfer:
            self.chosen_at = transfer.serial, transfer.done

    def finish(self, clock: int) -> Iterator[Event]:
        """All events, the channels being idle up to ``clock``."""
        for channel, idle in enumerate(self.idle):
            cause: Cause = "finished" if idle.cause == "nothing issued" else idle.cause
            self._idled(channel, cause, clock)
        yield from self.events

    def _end(self, channel: int, transfer: Transfer, clock: int) -> None:
        self.events.append(transfer.event(channel, clock))
        self.channels[channel] = None
        self.idle[channel] = _Idle(clock)
        self.current, self.free_since = None, clock
        key = transfer.core, transfer.command.name
        if not any((core, command.name) == key for command, core in self._unfinished()):
            self.ends[key] = clock

    def _unfinished(self) -> Iterator[tuple[DmaStart, int]]:
        yield from ((command, core) for _, command, core in self.queue)
        yield from ((t.command, t.core) for t in self.channels if t)

    def _admit(self, clock: int) -> None:
        while self.queue and None in self.channels:
            serial, command, core = self.queue[0]
            if any(t and command.clashes(t.command, t.core == core) for t in self.channels):
                break
            self.queue.popleft()
            channel = self.channels.index(None)
            self._idled(channel, self.idle[channel].cause, clock)
            assert_legal(self.chip, command.direction, command.psram, command.bytes)
            shape = shape_of(self.chip, command.direction, command.bytes)
            self.channels[channel] = Transfer(serial, command, shape, clock, clock + shape.setup, core)
        cause: Cause = "order" if self.queue else "nothing issued"
        for channel, transfer in enumerate(self.channels):
            if transfer is None and self.idle[channel].cause != cause:
                self._idled(channel, self.idle[channel].cause, clock)
                self.idle[channel] = _Idle(clock, cause)

    def _idled(self, channel: int, cause: Cause, until: int) -> None:
        since = self.idle[channel].since
        if since < until:
            self.events.append(Event("dma", since, until, cause, "", "", "wait", channel=channel))

    def _choose(self, clock: int) -> None:
        ready = [(c, t) for c, t in enumerate(self.channels) if t and t.ready <= clock]
        if not ready:
            return
        if self.round_robin:
            count = len(self.channels)
            channel, transfer = min(ready, key=lambda pair: (pair[0] - self.last - 1) % count)
        else:
            channel, transfer = min(ready, key=lambda pair: pair[1].serial)
        self.current = self.last = channel
        self.chosen_at = transfer.serial, transfer.done
        self.held = [hold for hold in self._holds(transfer, clock) if hold[2]]

    def _holds(self, transfer: Transfer, clock: int) -> Iterator[tuple[Hold, str, int]]:
        for index, interruption in enumerate(self.interruptions):
            number = interruption.last(clock)
            if number > self.handled[index]:
                self.handled[index] = number
                yield self._hold(interruption, number, transfer, clock)

    def _hold(
        self, interruption: Interruption, number: int, transfer: Transfer, clock: int
    ) -> tuple[Hold, str, int]:
        delay = interruption.delay(number, self.free_since, clock, transfer.command.direction)
        return interruption.cause, "CPU" if interruption.cause == "cpu" else "", delay

    def _rivals(self, transfer: Transfer, clock: int) -> bool:
        """Whether another transfer may get the next burst."""
        ready = [t for t in self.channels if t and t is not transfer and t.ready <= clock]
        return bool(ready) if self.round_robin else any(t.serial < transfer.serial for t in ready)
