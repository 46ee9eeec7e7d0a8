"""A machine that runs the commands of a plan on real bytes: an array for Psram, one for each SharedMemory.

Both begin as garbage but for the weights and inputs in Psram. A transfer copies from and to the very
addresses that its command names, a step computes from what lies at the addresses that it reads. The machine
knows nothing of what a buffer should hold, so a plan that looks for anything in a wrong place computes
something else than the network.

Where a plan leaves open when something happens, the machine decides against it; see
``chipmodel.execute.memory``. Cores take turns by one of several rules. Rows that an op looks up in a table
are not in the plan, as they depend on data: their load is taken to bring them, if what names them is computed
before it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal

import numpy as np

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.memory import (
    ByteMemory,
    Garbage,
    Homes,
    MovingBytes,
    OffChipMemory,
    OutsideOfMemory,
    arrive,
    begin,
    homes_of,
    put_inputs,
    put_weights,
    ring,
    ring_addresses,
    slots,
)
from chipmodel.execute.op_part import Evaluate, Streams, banded_ops
from chipmodel.execute.places import Numbers, part_addresses
from chipmodel.execute.reference import weight_block
from chipmodel.execute.steps import StepRunner, Written
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import (
    Acquire,
    Branch,
    Command,
    Compute,
    DmaMove,
    DmaStart,
    DmaWait,
    Release,
    Repeat,
)
from chipmodel.model.program import If, Program
from chipmodel.records import dataclass
from chipmodel.rewrites.steady_state import LOOP


@dataclass(frozen=True, slots=True)
class Issued:
    """A command, a branch before its arm, or a loop before each iteration, in an iteration of the innermost
    loop (0 outside of loops); of a loop it is the iteration that begins."""

    command: Command
    iteration: int


def events(commands: tuple[Command, ...], path: Mapping[str, str], iteration: int = 0) -> Iterator[Issued]:
    """What happens along ``path``: the arm of each branch and the iterations of each loop, by name."""
    for command in commands:
        match command:
            case Branch():
                yield Issued(command, iteration)
                taken = next(arm for arm in command.arms if arm.name == path[command.name])
                yield from events(taken.body, path, iteration)
            case Repeat():
                for number in range(int(path[command.name])):
                    yield Issued(command, number)
                    yield from events(command.body, path, number)
            case _:
                yield Issued(command, iteration)


CoreOrder = Literal["in turn", "lowest first", "highest first"]
"""Which core goes on, of those that can: each in turn, or the one of the lowest or highest number."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run a plan where the plan does not say."""

    seed: int = 0
    """The seed of the garbage."""
    core_order: CoreOrder = "in turn"
    evaluate: Evaluate = evaluate


@dataclass(frozen=True, slots=True)
class StepRun:
    """One run of a step in an iteration of the innermost loop, and what it wrote."""

    step: Compute
    core: int
    iteration: int
    written: tuple[Written, ...]


@dataclass(frozen=True, slots=True)
class DecidedBranch:
    """A branch that was decided, and what it found in memory to decide by."""

    branch: str
    tensor: str
    content: Bytes


@dataclass
class Execution:
    """What happened in a run: outputs by name, as far as they are in Psram."""

    outputs: dict[str, Bytes] = field(default_factory=dict[str, Bytes])
    faults: list[str] = field(default_factory=list[str])
    """What a machine cannot do: addresses that do not exist, cores that wait forever."""
    runs: list[StepRun] = field(default_factory=list[StepRun])
    decisions: list[DecidedBranch] = field(default_factory=list[DecidedBranch])
    transfers: int = 0
    moved_bytes: int = 0


@dataclass
class _RunningCore:
    number: int
    shared: ByteMemory
    events: Iterator[Issued]
    next: Issued | None = None
    flights: dict[str, MovingBytes] = field(default_factory=dict[str, MovingBytes])
    stored: dict[str, str] = field(default_factory=dict[str, str])
    """The tensor of each store in flight, by the name of the transfer."""
    released: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """For each tensor, the names of its stores that had not been waited for when it was released."""


def execute(
    program: Program,
    streams: Streams,
    shared_bytes: int,
    inputs: Mapping[str, Bytes],
    weights: Mapping[str, Bytes],
    path: Mapping[str, str],
    options: RunOptions = RunOptions(),
) -> Execution:
    """Run the commands of each core on ``shared_bytes`` of SharedMemory along ``path``, which names the arm
    of every branch and the iterations of every loop."""
    machine = _Machine(program, streams, shared_bytes, inputs, weights, path, options)
    try:
        machine.run()
    except OutsideOfMemory as fault:
        machine.found.faults.append(str(fault))
    return machine.found


def memory_before(
    program: Program,
    commands: tuple[Command, ...],
    inputs: Mapping[str, Bytes],
    weights: Mapping[str, Bytes],
) -> tuple[OffChipMemory, Homes]:
    """The memory off chip before the commands of one core run, and what lies where in it."""
    machine = _Machine(program, (commands,), 0, inputs, weights, {}, RunOptions())
    machine.fill()
    return machine.psram, machine.homes


class _Machine:
    def __init__(
        self,
        program: Program,
        streams: Streams,
        shared_bytes: int,
        inputs: Mapping[str, Bytes],
        weights: Mapping[str, Bytes],
        path: Mapping[str, str],
        options: RunOptions,
    ) -> None:
        self.program = program
        self.inputs = inputs
        self.path = path
        self.order: CoreOrder = options.core_order
        self.garbage = Garbage(options.seed)
        self.ops = {op.name: op for op in program.ops()}
        self.branches = {node.name: node for node in program.nodes() if isinstance(node, If)}
        self.homes: Homes = homes_of(streams)
        self.psram = OffChipMemory(self.homes.spans, self.garbage)
        self.blocks = {op.name: weight_block(program, op, weights) for op in self.ops.values()}
        self.steps = StepRunner(
            program, options.evaluate, self.garbage, self.blocks, self.psram, banded_ops(program, streams)
        )
        self.cores = [
            _RunningCore(
                number,
                ByteMemory(f"SharedMemory of core {number}", shared_bytes, self.garbage),
                events(commands, path),
            )
            for number, commands in enumerate(streams)
        ]
        self.found = Execution()
        self.computed_at: dict[str, int] = {}
        self.looked_up_at: dict[str, int] = {}
        self.clock = 0
        self.emptied: dict[str, dict[int, Bytes]] = {}

    # -- the order of commands -----------------------------------------------------------------

    def fill(self) -> None:
        """Put weights and inputs into Psram."""
        put_weights(self.psram, self.homes, self.ops, self.blocks)
        put_inputs(self.psram, self.homes, self.program, self.inputs)

    def run(self) -> None:
        """Run all commands of all cores."""
        self.fill()
        for core in self.cores:
            core.next = next(core.events, None)
        last = -1
        while any(core.next for core in self.cores):
            ready = [core for core in self.cores if core.next and not self._awaited(core)]
            if not ready:
                waiting = [(core.number, self._awaited(core)) for core in self.cores]
                self.found.faults += [
                    f"core {n} waits forever for {each.wanted}" for n, each in waiting if each
                ]
                return
            core = self._chosen(ready, last)
            last = core.number
            assert core.next is not None
            self._happen(core, core.next)
            core.next = next(core.events, None)
        self._end()

    def _chosen(self, ready: Sequence[_RunningCore], last: int) -> _RunningCore:
        if self.order == "in turn":
            return min(ready, key=lambda core: (core.number <= last, core.number))
        return ready[0] if self.order == "lowest first" else ready[-1]

    def _awaited(self, core: _RunningCore) -> Acquire | None:
        """What the core waits for, if it has to wait for another one."""
        wanted = core.next.command if core.next else None
        if not isinstance(wanted, Acquire):
            return None
        made = wanted.core >= len(self.cores) or wanted.tensor in self.cores[wanted.core].released
        return None if made else wanted

    def _happen(self, core: _RunningCore, event: Issued) -> None:
        self.clock += 1
        match event.command:
            case DmaStart():
                self._start(core, event.command, event.iteration)
            case DmaMove():
                self._move(core, event.command)
            case DmaWait():
                self._wait(core, event.command.name)
            case Compute():
                self._compute(core, event.command, event.iteration)
            case Branch():
                self._decide(core, event.command, event.iteration)
            case Release():
                tensor = event.command.tensor
                core.released[tensor] = tuple(n for n, stored in core.stored.items() if stored == tensor)
            case Acquire():
                self._acquire(event.command)
            case Repeat():
                if event.command.name == LOOP:
                    self._host(event.iteration)

    # -- commands ------------------------------------------------------------------------------

    def _start(self, core: _RunningCore, start: DmaStart, iteration: int) -> None:
        first = start.psram + start.advance * iteration
        far = ring_addresses(start.home, first, start)
        near = start.near.start + np.arange(start.bytes, dtype=np.int64)
        if start.at.in_tensor and start.at.part.name in self.program.tensors:
            total = self.program.tensors[start.at.part.name].bytes
            near = part_addresses(start.at, total, iteration)
            far = far[: len(near)]
        sides = (self.psram, far), (core.shared, near)
        if not self._fly(core, start.name, *(sides if start.direction == "load" else sides[::-1])):
            return
        if start.direction == "store":
            core.stored[start.name] = start.at.part.name
        elif start.at.part.weights:
            self.looked_up_at[start.at.part.name] = self.clock

    def _move(self, core: _RunningCore, move: DmaMove) -> None:
        taken, put = (home.start + np.arange(move.bytes, dtype=np.int64) for home in (move.home, move.target))
        self._fly(core, move.name, (self.psram, taken), (self.psram, put))

    def _fly(
        self,
        core: _RunningCore,
        name: str,
        source: tuple[ByteMemory, Numbers],
        target: tuple[ByteMemory, Numbers],
    ) -> bool:
        """Begin a transfer; whether it is not in flight already."""
        if name in core.flights:
            self.found.faults.append(f"transfer {name!r} starts again before it has been waited for")
            return False
        core.flights[name] = begin(*source, *target, self.garbage)
        self.found.transfers += 1
        self.found.moved_bytes += len(target[1])
        return True

    def _wait(self, core: _RunningCore, name: str) -> None:
        flight = core.flights.pop(name, None)
        core.stored.pop(name, None)
        if flight is not None:
            arrive(flight, self.garbage)

    def _acquire(self, acquire: Acquire) -> None:
        if acquire.core >= len(self.cores):
            self.found.faults.append(f"{acquire.tensor!r} is acquired of core {acquire.core}: there is none")
            return
        owner = self.cores[acquire.core]
        for name in owner.released[acquire.tensor]:
            self._wait(owner, name)

    def _compute(self, core: _RunningCore, step: Compute, iteration: int) -> None:
        op = self.ops.get(step.op)
        if op is None:
            self.found.faults.append(f"step {step.label!r} runs {step.op!r}, which the program does not have")
            return
        if step.rows.stop > op.work.rows or step.channels.stop > op.work.channels:
            has = f"{op.work.rows} rows and {op.work.channels} channels"
            self.found.faults.append(f"step {step.label!r} computes more than {step.op!r} has: {has}")
            return
        if op.gathers and step.weights_at is None:
            late = [n for n in op.inputs if self.computed_at.get(n, 0) > self.looked_up_at.get(op.name, 0)]
            for name in late:
                self.found.faults.append(f"rows for {step.label!r} are loaded before {name!r} names them")
        written = tuple(self.steps.run(op, step, iteration, core.shared))
        self.found.runs.append(StepRun(step, core.number, iteration, written))
        self.computed_at.update((each.tensor, self.clock) for each in written)

    def _decide(self, core: _RunningCore, branch: Branch, iteration: int) -> None:
        node = self.branches.get(branch.name)
        name = node.condition if node else None
        if name is None:
            return
        if branch.condition is not None:
            total = self.program.tensors[name].bytes
            addresses = part_addresses(branch.condition, total, iteration)
            self.found.decisions.append(DecidedBranch(branch.name, name, core.shared.read(addresses)))
        elif name in self.homes.tensors:
            content = self._in_psram(name)
            self.found.decisions.append(DecidedBranch(branch.name, name, content))

    def _in_psram(self, name: str) -> Bytes:
        home = self.homes.tensors[name]
        size = min(len(home), self.program.tensors[name].bytes)
        return self.psram.read(ring(home, home.start, np.arange(size, dtype=np.int64)))

    # -- the host ------------------------------------------------------------------------------

    def _host(self, iteration: int) -> None:
        """Between two inferences: put the next slice of each input where the last one was, and take the
        results of the inference before the last one."""
        for name, home, size in slots(self.program, self.homes, self.program.inputs):
            if 0 < iteration < self.program.inferences - 1:
                following = self.inputs[name][(iteration + 1) * size : (iteration + 2) * size]
                self.psram.write(_slot(home, size, iteration + 1), following)
        self._empty(iteration - 2)

    def _empty(self, iteration: int) -> None:
        for name, home, size in slots(self.program, self.homes, self.program.outputs):
            if iteration >= 0:
                addresses = _slot(home, size, iteration)
                self.emptied.setdefault(name, {})[iteration] = self.psram.read(addresses)
                self.psram.write(addresses, self.garbage.take(size))

    def _end(self) -> None:
        made = int(self.path.get(LOOP, 0))
        for iteration in range(max(0, made - 2), made):
            self._empty(iteration)
        for name in self.program.outputs:
            if name in self.emptied:
                slices = self.emptied[name]
                self.found.outputs[name] = np.concatenate([slices[n] for n in range(made)])
            elif name in self.homes.tensors:
                self.found.outputs[name] = self._in_psram(name)
            elif name in self.inputs:  # no command moves it
                self.found.outputs[name] = self.inputs[name]


def _slot(home: Interval, size: int, iteration: int) -> Numbers:
    """The addresses of the slice of ``size`` bytes that an inference reads or writes."""
    return ring(home, home.start + iteration * size, np.arange(size, dtype=np.int64))
