"""A memory of bytes, which begins as garbage, and transfers in flight between two of them.

Of all that the hardware may do, a transfer does what harms a wrong plan most. From its start on its target is
garbage. What it moves arrives when it is waited for; a byte of its source or its target that changes in the
meantime arrives as garbage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.op_part import Streams
from chipmodel.execute.places import Numbers, numbers
from chipmodel.geometry.interval import Interval, hull
from chipmodel.model.commands import Compute, DmaMove, DmaStart
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import PSRAM, WEIGHTS, Part
from chipmodel.model.tree import walk
from chipmodel.records import dataclass


class OutsideOfMemory(Exception):
    """A command names an address that the memory does not have."""


class Garbage:
    """Pseudo-random bytes that mean nothing: no two takes are alike."""

    def __init__(self, seed: int) -> None:
        self.source = np.random.default_rng(seed)

    def take(self, size: int) -> Bytes:
        """``size`` bytes."""
        return np.frombuffer(self.source.bytes(size), np.uint8).copy()


class ByteMemory:
    """``bytes`` of a memory."""

    def __init__(self, name: str, size: int, garbage: Garbage) -> None:
        self.name = name
        self.bytes = garbage.take(size)

    def local(self, addresses: Numbers) -> Numbers:
        """Where the bytes at ``addresses`` lie in the array. Raises OutsideOfMemory."""
        if len(addresses) and not 0 <= addresses.min() <= addresses.max() < len(self.bytes):
            span = f"[{addresses.min()}, {addresses.max() + 1})"
            raise OutsideOfMemory(f"bytes {span} of {self.name}, which has {len(self.bytes)}")
        return addresses

    def read(self, addresses: Numbers) -> Bytes:
        """The bytes at ``addresses``. Raises OutsideOfMemory."""
        return self.bytes[self.local(addresses)]

    def write(self, addresses: Numbers, content: Bytes) -> None:
        """Put ``content`` at ``addresses``. Raises OutsideOfMemory."""
        self.bytes[self.local(addresses)] = content


class OffChipMemory(ByteMemory):
    """Psram, the weights' memory and further ones in one space of addresses, whose ``spans`` it has."""

    def __init__(self, spans: Sequence[Interval], garbage: Garbage) -> None:
        super().__init__("Psram", sum(map(len, spans)), garbage)
        self.spans = spans
        self.before = np.cumsum([0, *map(len, spans)])
        """Bytes of the spans before each."""

    def local(self, addresses: Numbers) -> Numbers:
        """Where the bytes at ``addresses`` lie in the array. Raises OutsideOfMemory."""
        if len(self.spans) == 1:
            return super().local(addresses)
        starts, stops = np.array([(each.start, each.stop) for each in self.spans], dtype=np.int64).T
        span = np.searchsorted(starts, addresses, side="right") - 1
        outside = (span < 0) | (addresses >= stops[span])
        if outside.any():
            raise OutsideOfMemory(f"byte {addresses[outside][0]} off chip, in none of the plan's memories")
        places: Numbers = addresses - starts[span] + self.before[span]
        return places


@dataclass(frozen=True, slots=True)
class MovingBytes:
    """A transfer that has begun and not ended."""

    source: ByteMemory
    target: ByteMemory
    taken: Numbers
    """Addresses of the bytes to move."""
    put: Numbers
    """Addresses of where they go."""
    before: Bytes
    """The bytes to move, as they were at the start."""
    meanwhile: Bytes
    """The garbage in the target."""


def begin(
    source: ByteMemory, taken: Numbers, target: ByteMemory, put: Numbers, garbage: Garbage
) -> MovingBytes:
    """Begin to move the bytes at ``taken`` to ``put``. Raises OutsideOfMemory."""
    flight = MovingBytes(source, target, taken, put, source.read(taken), garbage.take(len(put)))
    target.write(put, flight.meanwhile)
    return flight


def arrive(flight: MovingBytes, garbage: Garbage) -> None:
    """End a transfer."""
    now, there = flight.source.read(flight.taken), flight.target.read(flight.put)
    sound = (now == flight.before) & (there == flight.meanwhile)
    content = np.where(sound, now, garbage.take(len(now)))
    flight.target.write(flight.put, content)


@dataclass(frozen=True, slots=True)
class Homes:
    """The addresses in Psram of tensors by name, and of slices of weights by op and share."""

    tensors: Mapping[str, Interval]
    weights: Mapping[Part, Interval]
    spans: tuple[Interval, ...]
    """The addresses that the plan uses of each memory, in order: those of Psram and weights from 0 on."""


def homes_of(streams: Streams) -> Homes:
    """Where the commands look for everything; of different homes of one tensor it is the first. What moves
    copy is where they find it."""
    every = [command for commands in streams for command in walk(commands)]
    moves = [command for command in every if isinstance(command, DmaMove)]
    copied = {(move.part.name, move.part.weights, move.target) for move in moves}
    tensors: dict[str, Interval] = {}
    weights: dict[Part, Interval] = {}
    spans = {"": Interval(0, 0)}

    def use(memory: str, home: Interval) -> None:
        near = memory in ("", PSRAM, WEIGHTS)
        span = Interval(0, home.stop) if near else home
        name = "" if near else memory
        spans[name] = hull((span, spans.get(name, span)))

    for command in every:
        if isinstance(command, DmaMove):
            use(command.source, command.home)
            use(command.memory, command.target)
        if isinstance(command, DmaMove | DmaStart) and len(command.home):
            part = command.part
            if isinstance(command, DmaStart):
                use(command.memory, command.home)
                if (part.name, part.weights, command.home) in copied:
                    continue
            if part.weights:
                weights.setdefault(part, command.home)
            else:
                tensors.setdefault(part.name, command.home)
        elif isinstance(command, Compute) and command.weights_at:
            use("", command.weights_at)
            weights.setdefault(Part(command.op, weights=True), command.weights_at)
    return Homes(tensors, weights, tuple(sorted(spans.values())))


def put_weights(psram: ByteMemory, homes: Homes, ops: Mapping[str, Op], blocks: Mapping[str, Bytes]) -> None:
    """Write slices of weights to their homes, from ``blocks`` by op or cascade. Raises OutsideOfMemory."""
    for part, home in homes.weights.items():
        if part.name not in blocks:
            continue
        block = blocks[part.name]
        whole = part.name in ops and ops[part.name].gathers
        content = block if whole else block[numbers(part.share, len(block))]
        psram.write(home.start + np.arange(len(content), dtype=np.int64), content)


def put_inputs(psram: ByteMemory, homes: Homes, program: Program, inputs: Mapping[str, Bytes]) -> None:
    """Write the inputs to their homes, of a stack the first slices that fit. Raises OutsideOfMemory."""
    for name, content in inputs.items():
        if name in homes.tensors:
            home = homes.tensors[name]
            first = content[: program.psram_bytes(name)]
            psram.write(home.start + np.arange(len(first), dtype=np.int64), first)


def ring_addresses(home: Interval, first: int, start: DmaStart) -> Numbers:
    """The addresses of the bytes that a transfer moves, in its order, whose first is ``first``."""
    number = np.arange(start.bytes, dtype=np.int64)
    run = max(1, start.run_bytes)
    return ring(home, first, number // run * start.pitch + number % run)


def ring(home: Interval, first: int, offsets: Numbers) -> Numbers:
    """The addresses at ``offsets`` from ``first``, which go on at the start of ``home`` after its end."""
    return home.start + (first - home.start + offsets) % max(1, len(home))


def slots(program: Program, homes: Homes, names: Sequence[str]) -> Iterator[tuple[str, Interval, int]]:
    """Stacks of ``names`` with fewer slices in Psram than inferences: name, home, bytes of a slice."""
    for name in dict.fromkeys(names):
        size = program.tensors[name].bytes
        if program.inferences > 1 and name in homes.tensors and program.psram_bytes(name) < size:
            yield name, homes.tensors[name], size // program.inferences
