"""A step: gather what it reads from SharedMemory, evaluate its op, write its part of the outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from chipmodel.cascades.columns import part_reads, part_writes
from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.memory import ByteMemory, Garbage
from chipmodel.execute.op_part import Banded, Evaluate, OpPart, RecurrentState
from chipmodel.execute.places import Numbers, numbers, part_addresses, touched_addresses
from chipmodel.geometry.share import WHOLE
from chipmodel.model.commands import Compute, Located
from chipmodel.model.program import NO_SHARE, Op, Program
from chipmodel.rewrites.in_place import places_in_concat


@dataclass(frozen=True, slots=True)
class Written:
    """What a step wrote of a tensor: the bytes with these numbers."""

    tensor: str
    numbers: Numbers
    content: Bytes


@dataclass(frozen=True, slots=True)
class StepRunner:
    """Runs the steps of ``program``. Bytes of operands that a step does not read are garbage."""

    program: Program
    evaluate: Evaluate
    garbage: Garbage
    blocks: Mapping[str, Bytes]
    """The weight blocks by op; of an op that looks up rows the whole table."""
    psram: ByteMemory
    """Where weights are read in place."""
    banded: Banded
    states: dict[str, RecurrentState] = field(default_factory=dict[str, RecurrentState])
    """What the NPU keeps between the parts of an op, by op; the first part of a run reads none of it."""

    def run(
        self, op: Op, step: Compute, iteration: int, shared: ByteMemory, writer: int
    ) -> Iterator[Written]:
        """Run ``step``, number ``writer`` of the run. Raises OutsideOfMemory."""
        given = self._inputs(op, step, iteration, shared)
        block = self._weights(op, step, shared)
        part = replace(self._op_part(op, step, iteration), sums=self._sums(op, step, shared))
        made = self.evaluate(op, self.program, given, block, part)
        for place in step.writes:
            name = place.part.name
            if op.scratch and name == op.scratch.name:
                filled = part_addresses(place, op.scratch.bytes, iteration)
                shared.write(filled, self.garbage.take(len(filled)), writer)
            if op.allocates or name not in op.made(step.rows):
                continue
            total = self.program.tensors[name].bytes
            own = numbers(place.part.share, total)
            addresses = part_addresses(place, total, iteration)
            moved = self._moved(op, step, total)[own]
            own, addresses = own[moved], addresses[moved]
            first = self._first_of_slice(op, name, iteration)
            there = (own + first) % max(1, total)
            content = self._part(op, step, name, made, first)[there]
            shared.write(addresses, content, writer)
            if name in op.outputs:
                yield Written(name, there, content)

    def _op_part(self, op: Op, step: Compute, iteration: int) -> OpPart:
        state = self.states.setdefault(op.name, RecurrentState())
        columns = self.banded.get(op.name) if step.columns is None else step.columns
        return OpPart(step.rows, step.channels, columns, iteration, state)

    def _part(self, op: Op, step: Compute, name: str, made: Sequence[Bytes], first: int) -> Bytes:
        """All bytes of an output, of which only those of the part that the step computes are right."""
        result = made[op.made(step.rows).index(name)]
        whole = self.garbage.take(len(result))
        share = part_writes(self.program, op, name, step.rows, step.channels, step.columns)
        own = numbers(share, len(result)) + first
        own = own[own < len(result)]
        whole[own] = result[own]
        return whole

    def _inputs(self, op: Op, step: Compute, iteration: int, shared: ByteMemory) -> list[Bytes]:
        found: list[Bytes] = []
        for index, (name, place) in enumerate(zip(op.inputs, _operands(op, step), strict=True)):
            total = self.program.tensors[name].bytes
            array = self.garbage.take(total)
            if place is not None:
                own, addresses = touched_addresses(self._of_part(op, index, step, place), total, iteration)
                there = (own + self._first_of_slice(op, name, iteration)) % max(1, total)
                array[there] = shared.read(addresses)
            found.append(array)
        return found

    def _of_part(self, op: Op, index: int, step: Compute, place: Located) -> Located:
        """Move on between two inferences: place their inputs, take the results of the one before the last."""
        share = part_reads(self.program, op, index, step.rows, step.channels, step.columns)
        rows_alone = len(share.channels) == share.of_channels and not share.banded
        if place.part.share != WHOLE or not place.touched or rows_alone or place.rolls:
            return place
        return replace(place, part=replace(place.part, share=share), touched=None, in_tensor=True)

    def _first_of_slice(self, op: Op, name: str, iteration: int) -> int:
        """The first byte of the slice of a tensor that ``iteration`` moves; 0 where it is not sliced."""
        if name != op.sliced:
            return 0
        return iteration % op.slices * (self.program.tensors[name].bytes // op.slices)

    def _sums(self, op: Op, step: Compute, shared: ByteMemory) -> Bytes | None:
        """What the parts before have added up; None for the first one."""
        sums = op.continued(step.rows)
        if sums is None:
            return None
        found = self.garbage.take(sums.bytes)
        for place in step.reads:
            if place.part.name == sums.name:
                own, addresses = touched_addresses(place, sums.bytes, 0)
                found[own] = shared.read(addresses)
        return found

    def _weights(self, op: Op, step: Compute, shared: ByteMemory) -> Bytes:
        """The weight block of ``op`` as far as the step finds it, otherwise garbage."""
        if step.weights_at is None:
            return self._table(op, step, shared) if op.gathers else self._block(op, step, shared)
        block = self.garbage.take(len(self.blocks[op.name]))
        there = min(len(block), len(step.weights_at))
        block[:there] = self.psram.read(step.weights_at.start + np.arange(there, dtype=np.int64))
        return block

    def _block(self, op: Op, step: Compute, shared: ByteMemory) -> Bytes:
        block = self.garbage.take(len(self.blocks[op.name]))
        for place in _weights(step):
            own = numbers(place.part.share, len(block))
            block[own] = shared.read(place.offset + np.arange(len(own), dtype=np.int64))
        return block

    def _table(self, op: Op, step: Compute, shared: ByteMemory) -> Bytes:
        """The table that ``op`` looks rows up in, if the buffer for them is untouched; otherwise garbage."""
        table = self.blocks[op.name]
        size = min(len(table), self.program.block_bytes(op))
        for place in _weights(step):
            own = min(size, place.part.share.bytes(self.program.block_bytes(op)))
            found = shared.read(place.offset + np.arange(own, dtype=np.int64))
            if np.array_equal(found, table[:own]):
                return table
        return self.garbage.take(len(table))

    def _moved(self, op: Op, step: Compute, total: int) -> NDArray[np.bool_]:
        """The bytes of an output that the op writes: all but inputs of a concat that lie there already."""
        moved = np.ones(total, np.bool_)
        if not op.absorbs:
            return moved
        places = places_in_concat(self.program, op)
        for read in step.reads:
            name = read.part.name
            if name in op.absorbs and name in places and read.touched is not None and not len(read.touched):
                size = self.program.tensors[name].bytes
                here = np.arange(size, dtype=np.int64)
                run = max(1, size // places[name].runs)
                moved[places[name].offset + here // run * places[name].pitch + here % run] = False
        return moved


def _operands(op: Op, step: Compute) -> Iterator[Located | None]:
    """Where each input of ``op`` is read; None for one that is not."""
    places = [place for place in step.reads if not place.part.weights]
    for index, name in enumerate(op.inputs):
        apart = op.reads(index, step.rows, step.channels) == NO_SHARE and not op.collects
        if places and places[0].part.name == name and not apart:
            yield places.pop(0)
        else:
            yield None


def _weights(step: Compute) -> Iterator[Located]:
    return (place for place in step.reads if place.part.weights and place.part.name == step.op)
