"""The same machine as ``simulate.py``, one cycle at a time: slow, plain, and the oracle.

It shares only the vocabulary (and the cost of a transfer) with the event-driven simulator. Each
cycle the sequencer runs commands until it must wait; then every unit does one cycle of what it does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from chipmodel.chip import Chip
from chipmodel.commands import Branch, Command, Compute, DmaStart, DmaWait, Repeat, resolve_path
from chipmodel.trace import Event, Kind, Trace
from dma.timing import transfer_cycles

Plain = DmaStart | DmaWait | Compute
Tick = tuple[int, Event]
"""One cycle of a unit: the serial number of what it does (so that two alike are told apart)."""


@dataclass
class _Transfer:
    serial: int
    command: DmaStart
    left: int


def step_through(
    commands: tuple[Command, ...], chip: Chip, choices: Mapping[str, str] | None = None
) -> Trace:
    """The trace of ``commands`` on ``chip``: must equal ``simulate``'s, event for event."""
    path = resolve_path(commands, choices or {})
    program = _unrolled(commands, path)
    queue: list[_Transfer] = []  # the first one is moving
    latest: dict[str, DmaStart] = {}
    npu: list[Tick] = []
    dma: list[Tick] = []
    counter = clock = remaining = 0
    while True:
        while counter < len(program) and not remaining:
            command = program[counter]
            if isinstance(command, DmaStart):
                cycles = transfer_cycles(chip, command.direction, command.bytes)
                queue.append(_Transfer(counter, command, cycles))
                latest[command.name] = command
            elif isinstance(command, DmaWait):
                if any(transfer.command.name == command.name for transfer in queue):
                    break
            elif command.cycles:
                remaining = command.cycles
                break
            counter += 1
        if counter == len(program) and not queue:
            break
        npu.append((counter, _npu(clock, program[counter] if counter < len(program) else None, latest)))
        dma.append(_dma(clock, queue[0] if queue else None))
        clock += 1
        if remaining:
            remaining -= 1
            counter += remaining == 0
        if queue:
            queue[0].left -= 1
            if queue[0].left == 0:
                queue.pop(0)
    _rename_tail(dma)
    events = sorted([*_joined(npu), *_joined(dma)], key=lambda e: (e.start, e.unit))
    return Trace(tuple(events), clock, path)


def _npu(clock: int, command: Plain | None, latest: Mapping[str, DmaStart]) -> Event:
    if isinstance(command, Compute):
        return Event("npu", clock, clock + 1, "", command.label, command.op, "compute", 0, command.position)
    if isinstance(command, DmaWait):
        awaited = latest[command.name]
        if awaited.direction == "store":
            return Event("npu", clock, clock + 1, "output", command.name, command.op, "wait")
        if awaited.at.part.weights:
            return Event("npu", clock, clock + 1, "weights", command.name, command.op, "wait")
        return Event("npu", clock, clock + 1, "input", command.name, command.op, "wait")
    return Event("npu", clock, clock + 1, "finished", "", "", "wait")


def _dma(clock: int, transfer: _Transfer | None) -> Tick:
    if transfer is None:
        return -1, Event("dma", clock, clock + 1, "nothing issued", "", "", "wait")
    start = transfer.command
    kind: Kind
    if start.direction == "store":
        kind = "store tensor"
    elif start.at.part.weights:
        kind = "load weights"
    else:
        kind = "load tensor"
    event = Event("dma", clock, clock + 1, "", start.name, start.op, kind, start.bytes)
    return transfer.serial, event


def _rename_tail(dma: list[Tick]) -> None:
    """After its last transfer the DMA engine is finished, not waiting for somebody to issue."""
    for index in range(len(dma) - 1, -1, -1):
        serial, event = dma[index]
        if event.cause != "nothing issued":
            return
        dma[index] = (serial, replace(event, cause="finished"))


def _joined(ticks: list[Tick]) -> list[Event]:
    """Consecutive cycles of one activity as one event."""
    events: list[Event] = []
    before: tuple[int, str] | None = None
    for serial, event in ticks:
        if before == (serial, event.cause):
            events[-1] = replace(events[-1], stop=event.stop)
        else:
            events.append(event)
        before = (serial, event.cause)
    return events


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
