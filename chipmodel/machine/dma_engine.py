"""The DMA engine of the event-driven simulator: its channels, and which transfer's burst is in flight.

Time jumps from decision to decision. A transfer that is alone in the engine needs no decision between its
bursts, so the work does not grow with its bytes.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace

from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import AnyTransfer, DmaMove, DmaStart, clash
from chipmodel.model.trace import Cause, Event, Hold, Kind, Wait
from chipmodel.timing.interruptions import Interruption, interruptions
from chipmodel.timing.shape import TransferShape, shape_of


@dataclass(eq=False)
class ChannelTransfer:
    """A transfer in a channel."""

    serial: int
    """The transfer's number in the order of issue."""
    command: AnyTransfer
    shape: TransferShape
    begin: int
    """The cycle in which it came to the channel."""
    ready: int
    """The cycle in which its set-up is complete."""
    core: int = 0
    """The core whose SharedMemory it accesses."""
    done: int = 0
    """Cycles of its data that have passed."""
    waits: Counter[tuple[Hold, str]] = field(default_factory=Counter[tuple[Hold, str]])

    def starts_burst(self) -> bool:
        """Whether a burst begins with the next cycle of its data."""
        return self.shape.starts_burst(self.done)

    def key(self, clock: int) -> tuple[object, ...]:
        """All that its further time depends on: command, cycles done, and cycles until it is set up."""
        return self.core, *_command_key(self.command), self.done, max(0, self.ready - clock)

    def event(self, channel: int, end: int) -> Event:
        """The transfer's whole time in the channel; cycles not accounted for went to other transfers."""
        if lost := end - self.begin - self.shape.setup - self.shape.data - sum(self.waits.values()):
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


def _command_key(start: AnyTransfer) -> tuple[object, ...]:
    """All of a command that the time of its transfer and of others depends on."""
    home = start.home
    if isinstance(start, DmaMove):
        return start.name, "move", start.bytes, home.start, home.stop, start.target.start, start.target.stop
    where = start.near.start, start.psram, home.start, home.stop
    return start.name, start.direction, start.bytes, start.runs, start.pitch, *where


def kind_of(start: AnyTransfer) -> Kind:
    """The kind of event that a trace has for the transfer."""
    if isinstance(start, DmaMove):
        return "move"
    if start.direction == "store":
        return "store tensor"
    return "load weights" if start.at.part.weights else "load tensor"


@dataclass
class _IdleChannel:
    """Since which cycle a channel has no transfer, and why."""

    since: int = 0
    cause: Cause = "nothing issued"


class DmaEngine:
    """Channels, queue and current burst. Call ``settle`` whenever time or the queue has changed."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.round_robin = chip.dma.channels.arbitration == "round robin"
        self.channels: list[ChannelTransfer | None] = [None] * chip.dma.channels.count
        self.queue: deque[tuple[int, AnyTransfer, int]] = deque()
        """Serial number, command and core of each transfer that has no channel yet."""
        self.idle = [_IdleChannel() for _ in self.channels]
        self.current: int | None = None
        """The channel whose burst is in flight, or stalled before its first beat."""
        self.last = -1
        """The channel of the latest burst."""
        self.free_since = 0
        self.chosen_at = (-1, -1)
        """Serial number and ``done`` of the transfer for which the current burst was chosen."""
        self.stalls: list[tuple[Hold, str, int]] = []
        """Cause, cause's name and remaining cycles of what the current burst waits for, in order."""
        self.interruptions = list(interruptions(chip))
        self.handled = [0 for _ in self.interruptions]
        """The number of the latest interruption of each kind that a burst has waited for."""
        self.ends: dict[tuple[int, str], int | None] = {}
        """For each core and name, the cycle in which the latest such transfer ended; None: not yet."""
        self.events: list[Event] = []

    def issue(self, serial: int, command: AnyTransfer, core: int = 0) -> None:
        """Queue a transfer of ``core``."""
        self.queue.append((serial, command, core))
        self.ends[core, command.name] = None

    def has_store(self, core: int, tensor: str) -> bool:
        """Whether a store of ``tensor`` by ``core`` has yet to end."""
        return any(
            owner == core and kind_of(command) == "store tensor" and command.part.name == tensor
            for command, owner in self._unfinished()
        )

    def fork(self) -> DmaEngine:
        """An independent copy in the same state, without the events so far."""
        other = copy(self)
        other.channels = [replace(t, waits=Counter(t.waits)) if t else None for t in self.channels]
        other.queue, other.stalls, other.events = deque(self.queue), list(self.stalls), []
        other.idle, other.handled, other.ends = list(self.idle), list(self.handled), dict(self.ends)
        return other

    def key(self, clock: int) -> tuple[object, ...]:
        """All that the engine's behaviour from ``clock`` on depends on, and nothing else: engines with equal
        keys behave equally from there on."""
        serials = sorted(t.serial for t in self.channels if t)
        return (
            tuple(t and (serials.index(t.serial), *t.key(clock)) for t in self.channels),
            tuple((core, *_command_key(command)) for _, command, core in self.queue),
            self.current,
            self.last % len(self.channels) if self.round_robin else None,
            self._just_chosen(),
            tuple(left for _, _, left in self.stalls),
            tuple(
                self._interruption_key(i, n, clock)
                for i, n in zip(self.interruptions, self.handled, strict=True)
            ),
        )

    def _just_chosen(self) -> bool:
        """Whether the current burst was chosen, but has not moved any data."""
        transfer = None if self.current is None else self.channels[self.current]
        return transfer is not None and self.chosen_at == (transfer.serial, transfer.done)

    def _interruption_key(self, interruption: Interruption, handled: int, clock: int) -> tuple[object, ...]:
        """The phase of an interruption, and how long it stalls the next burst; None with one in flight."""
        number = interruption.last(clock)
        phase = (clock - number * interruption.period).as_integer_ratio()
        if number <= handled:
            return *phase, 0
        if self.current is not None:
            return *phase, None
        end = max(interruption.due(number), self.free_since) + interruption.busy
        return *phase, max(0, end - clock) + interruption.after

    @property
    def busy(self) -> bool:
        """Whether any transfer is in a channel or in the queue."""
        return any(self.channels) or bool(self.queue)

    def moving(self) -> ChannelTransfer | None:
        """The transfer whose data are moving now."""
        return None if self.current is None or self.stalls else self.channels[self.current]

    def settle(self, clock: int) -> None:
        """Fill free channels from the queue, and choose a burst where none is in flight."""
        self._admit(clock)
        transfer = self.moving()
        if transfer and transfer.starts_burst() and self.chosen_at != (transfer.serial, transfer.done):
            self.current, self.free_since = None, clock
        if self.current is None:
            self._choose(clock)

    def horizon(self, clock: int) -> tuple[list[int], int | None]:
        """Cycles until each event that may need a decision, and the cycles of data until the current transfer
        needs one; None where no data are moving."""
        waits = [t.ready - clock for t in self.channels if t and t.ready > clock]
        if self.stalls:
            return [*waits, self.stalls[0][2]], None
        transfer = self.moving()
        if transfer is None:
            return waits, None
        due = [i.due(n + 1) for i, n in zip(self.interruptions, self.handled, strict=True)]
        waits += [cycle - clock for cycle in due if cycle > clock]
        contested = any(cycle <= clock for cycle in due) or self._has_competitor(transfer, clock)
        shape = transfer.shape
        return waits, (shape.burst_end(transfer.done) if contested else shape.data) - transfer.done

    def advance(self, clock: int, cycles: int, moved: int) -> None:
        """Let ``cycles`` pass from ``clock`` on; the current transfer moves data in ``moved`` of them."""
        if self.stalls:
            cause, by, left = self.stalls[0]
            assert self.current is not None
            transfer = self.channels[self.current]
            assert transfer is not None
            transfer.waits[cause, by] += cycles
            self.stalls[0] = cause, by, left - cycles
            if left == cycles:
                self.stalls.pop(0)
        elif moved and self.current is not None:
            transfer = self.channels[self.current]
            assert transfer is not None
            transfer.done += moved
            if transfer.done == transfer.shape.data:
                self._end(self.current, transfer, clock + cycles)

    def mark_begun(self) -> None:
        """Note that the current burst has begun, though its first beat waits for a bank."""
        if transfer := self.moving():
            self.chosen_at = transfer.serial, transfer.done

    def finish(self, clock: int) -> Iterator[Event]:
        """All events, up to ``clock`` in each channel; all channels are idle."""
        for channel, idle in enumerate(self.idle):
            cause: Cause = "finished" if idle.cause == "nothing issued" else idle.cause
            self._end_idle(channel, cause, clock)
        yield from self.events

    def _end(self, channel: int, transfer: ChannelTransfer, clock: int) -> None:
        self.events.append(transfer.event(channel, clock))
        self.channels[channel] = None
        self.idle[channel] = _IdleChannel(clock)
        self.current, self.free_since = None, clock
        key = transfer.core, transfer.command.name
        if not any((core, command.name) == key for command, core in self._unfinished()):
            self.ends[key] = clock

    def _unfinished(self) -> Iterator[tuple[AnyTransfer, int]]:
        yield from ((command, core) for _, command, core in self.queue)
        yield from ((t.command, t.core) for t in self.channels if t)

    def _admit(self, clock: int) -> None:
        while self.queue and None in self.channels:
            serial, command, core = self.queue[0]
            if any(t and clash(command, t.command, t.core == core) for t in self.channels):
                break
            self.queue.popleft()
            channel = self.channels.index(None)
            self._end_idle(channel, self.idle[channel].cause, clock)
            runs = command.runs if isinstance(command, DmaStart) else 1
            shape = shape_of(self.chip, command.traffic, command.bytes, runs)
            ready = clock + shape.setup
            self.channels[channel] = ChannelTransfer(serial, command, shape, clock, ready, core)
        cause: Cause = "order" if self.queue else "nothing issued"
        for channel, transfer in enumerate(self.channels):
            if transfer is None and self.idle[channel].cause != cause:
                self._end_idle(channel, self.idle[channel].cause, clock)
                self.idle[channel] = _IdleChannel(clock, cause)

    def _end_idle(self, channel: int, cause: Cause, until: int) -> None:
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
        self.stalls = [stall for stall in self._interruption_stalls(transfer, clock) if stall[2]]

    def _interruption_stalls(self, transfer: ChannelTransfer, clock: int) -> Iterator[tuple[Hold, str, int]]:
        """Cause, cause's name and cycles of each interruption of the Psram that the next burst waits for."""
        direction = transfer.command.on_psram
        for index, interruption in enumerate(self.interruptions if direction else ()):
            number = interruption.last(clock)
            if direction and number > self.handled[index]:
                self.handled[index] = number
                delay = interruption.delay(number, self.free_since, clock, direction)
                yield interruption.cause, "CPU" if interruption.cause == "cpu" else "", delay

    def _has_competitor(self, transfer: ChannelTransfer, clock: int) -> bool:
        """Whether another transfer may get the next burst."""
        ready = [t for t in self.channels if t and t is not transfer and t.ready <= clock]
        return bool(ready) if self.round_robin else any(t.serial < transfer.serial for t in ready)
