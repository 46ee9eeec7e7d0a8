"""Names of buffers that say what they hold: whose weights, which slice, which of the buffers used in turn.

While a schedule is built its buffers have short names of the planners' own. Users see these instead: on the
memory map, in plan files, checks and errors. They are unique, and the same for the same schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from chipmodel.model.program import Program
from chipmodel.model.schedule import BufferSpec, Part, Schedule, renamed, steps

TURNS = ("ping", "pong")
"""Names of two buffers used in turn."""


def with_readable_names(program: Program, schedule: Schedule) -> Schedule:
    """``schedule`` with buffers named after what they hold."""
    names = readable_names(program, schedule)
    buffers = {
        names[old]: replace(spec, name=names[old], within=names.get(spec.within, ""))
        for old, spec in schedule.buffers.items()
    }
    transfers = tuple(replace(each, buffer=names[each.buffer]) for each in schedule.transfers)
    return replace(schedule, body=renamed(schedule.body, names), transfers=transfers, buffers=buffers)


def readable_names(program: Program, schedule: Schedule) -> dict[str, str]:
    """Return a new name for every buffer, by its old one. No two are the same."""
    namer = _Namer(program, schedule)
    wished = {name: namer.name(spec) for name, spec in schedule.buffers.items()}
    many, seen = Counter(wished.values()), Counter[str]()
    taken = {wish for wish, times in many.items() if times == 1}
    names: dict[str, str] = {}
    for old, wish in wished.items():
        new = wish
        if many[wish] > 1:
            seen[wish] += 1
            new = f"{wish}, copy {seen[wish]} of {many[wish]}"
            while new in taken:
                new += "'"
            taken.add(new)
        names[old] = new
    return names


class _Namer:
    """Names buffers by the transfers and steps that use them."""

    def __init__(self, program: Program, schedule: Schedule) -> None:
        self.program = program
        self.schedule = schedule
        self.users = _users(schedule)
        self.loads = _loads(schedule, self.users)
        self.slices: dict[str, list[Part]] = {}
        for part in dict.fromkeys(part for parts in self.loads.values() for part in parts if part.weights):
            self.slices.setdefault(part.name, []).append(part)
        self.slice_number = {
            part: number
            for parts in self.slices.values()
            for number, part in enumerate(sorted(parts, key=lambda p: p.share.channels), 1)
        }
        names = [(spec.kind, name) for name, spec in schedule.buffers.items()]
        self.in_region = Counter(name.partition("@")[2] for kind, name in names if kind == "weights")
        self.in_lane = Counter(name.rpartition(".")[0] for kind, name in names if kind == "stripe")
        self.of_tensor = Counter(name.rpartition("#")[0] for kind, name in names if kind == "tensor")

    def name(self, spec: BufferSpec) -> str:
        """A name that may not be unique yet."""
        if spec.within:
            return f"{self.name(self.schedule.buffers[spec.within])}, first {spec.bytes:,} B"
        if spec.kind == "weights":
            return self.weights(spec)
        if spec.kind == "rows":
            return f"{self.users[spec.name][1].name} rows" if spec.name in self.users else spec.name
        return self.stripe(spec) if spec.kind == "stripe" else self.tensor(spec)

    def weights(self, spec: BufferSpec) -> str:
        """The op, and which slice; or which of the buffers that the weights of several ops take in turn."""
        parts = self.loads.get(spec.name, [])
        turn, at, region = spec.name.rpartition("@")
        number = turn.removeprefix("alloc")
        if parts and at and number.isdecimal():
            count = self.in_region[region]
            first, last = parts[0].name, parts[-1].name
            whose = f"{first if first == last else f'{first}..{last}'} weights"
            if count == len(TURNS):
                return f"{TURNS[int(number)]} buffer of {whose}"
            return whose if count == 1 else f"{whose}, buffer {int(number) + 1} of {count}"
        if len(parts) != 1:
            return spec.name
        count = len(self.slices[parts[0].name])
        which = f", slice {self.slice_number[parts[0]]} of {count}" if count > 1 else ""
        return f"{parts[0].name} weights{which}"

    def stripe(self, spec: BufferSpec) -> str:
        """The stripes of one operand of one op, which may take turns in two buffers."""
        if spec.name not in self.users:
            return spec.name
        op, part = self.users[spec.name]
        lane, _, number = spec.name.rpartition(".")
        turn = f", {TURNS[int(number)]} buffer" if self.in_lane[lane] == len(TURNS) else ""
        return f"{part.name} stripes {'from' if lane.endswith(f'.out.{part.name}') else 'for'} {op}{turn}"

    def tensor(self, spec: BufferSpec) -> str:
        """A tensor, or one of the times that it is in SharedMemory."""
        root, mark, number = spec.name.rpartition("#")
        if not mark or spec.name in self.program.tensors:
            return spec.name
        back = ", back from Psram" if int(number) and self.loads.get(spec.name) else ""
        return f"{root}, part {int(number) + 1} of {self.of_tensor[root]}{back}"


def _loads(schedule: Schedule, users: Mapping[str, tuple[str, Part]]) -> dict[str, list[Part]]:
    """The different parts loaded into each buffer, whole; of weights in pieces what is read."""
    pieced = {spec.within: users[spec.within][1] for spec in schedule.buffers.values() if spec.within}
    found: dict[str, dict[Part, None]] = {}
    for transfer in schedule.transfers:
        if transfer.direction == "load" and not schedule.buffers[transfer.buffer].within:
            part = pieced.get(transfer.buffer, transfer.part)
            found.setdefault(transfer.buffer, {}).setdefault(part)
    return {buffer: list(parts) for buffer, parts in found.items()}


def _users(schedule: Schedule) -> dict[str, tuple[str, Part]]:
    """The first op that reads or writes each buffer, and what."""
    found: dict[str, tuple[str, Part]] = {}
    for step in steps(schedule.body):
        for operand in (*step.reads, *step.writes):
            found.setdefault(operand.buffer, (step.op, operand.part))
    return found
