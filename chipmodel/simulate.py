"""Commands and Chip to Trace, in integer cycles, one event at a time.

The sequencer runs commands in order: a compute blocks it until the NPU is done, a wait until the
transfer has ended; starting a transfer costs nothing here but queues it. The DMA engine serves its
queue in order of issue. So every unit's next event follows from two clocks, and time jumps from event
to event. ``stepper.py`` is the same machine one cycle at a time, and must give the same trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from chipmodel.chip import Chip
from chipmodel.commands import Branch, Command, Compute, DmaStart, DmaWait, Repeat, resolve_path
from chipmodel.trace import Cause, Event, Kind, Trace
from dma.timing import transfer_cycles


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


def kind_of(start: DmaStart) -> Kind:
    """What the transfer moves, in a trace's words."""
    if start.direction == "store":
        return "store tensor"
    return "load weights" if start.at.part.weights else "load tensor"


def cause_of_wait(start: DmaStart) -> Cause:
    """Why the NPU stands still while it waits for this transfer."""
    if start.direction == "store":
        return "output"
    return "weights" if start.at.part.weights else "input"


@dataclass
class _Machine:
    """``clock`` is the sequencer's (and so the NPU's) time, ``free`` the DMA engine's."""

    chip: Chip
    clock: int = 0
    free: int = 0
    events: list[Event] = field(default_factory=list[Event])
    started: dict[str, DmaStart] = field(default_factory=dict[str, DmaStart])
    ends: dict[str, int] = field(default_factory=dict[str, int])
    costs: dict[tuple[str, int], int] = field(default_factory=dict[tuple[str, int], int])

    def run(self, command: DmaStart | DmaWait | Compute) -> None:
        match command:
            case DmaStart():
                self.start(command)
            case DmaWait():
                self.wait(command)
            case Compute():
                self.compute(command)

    def start(self, command: DmaStart) -> None:
        begin = max(self.clock, self.free)
        end = begin + self.cost(command)
        self.idle("nothing issued", begin)
        self.events.append(
            Event("dma", begin, end, "", command.name, command.op, kind_of(command), command.bytes)
        )
        self.free = end
        self.started[command.name] = command
        self.ends[command.name] = end

    def wait(self, command: DmaWait) -> None:
        end = self.ends[command.name]
        if end > self.clock:
            start = self.started[command.name]
            self.events.append(
                Event("npu", self.clock, end, cause_of_wait(start), command.name, command.op, "wait")
            )
            self.clock = end

    def compute(self, command: Compute) -> None:
        if command.cycles:
            end = self.clock + command.cycles
            self.events.append(
                Event("npu", self.clock, end, "", command.label, command.op, "compute", 0, command.position)
            )
            self.clock = end

    def finish(self, path: Mapping[str, str]) -> Trace:
        total = max(self.clock, self.free)
        if self.clock < total:
            self.events.append(Event("npu", self.clock, total, "finished", "", "", "wait"))
        self.idle("finished", total)
        self.events.sort(key=lambda e: (e.start, e.unit))
        return Trace(tuple(self.events), total, dict(path))

    def idle(self, cause: Cause, until: int) -> None:
        if self.free < until:
            self.events.append(Event("dma", self.free, until, cause, "", "", "wait"))

    def cost(self, command: DmaStart) -> int:
        key = (command.direction, command.bytes)
        if key not in self.costs:
            self.costs[key] = transfer_cycles(self.chip, command.direction, command.bytes)
        return self.costs[key]
