"""A step: gather what it reads from SharedMemory, evaluate its op, write its part of the outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from chipmodel.cascades.columns import part_writes
from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.memory import ByteMemory, Garbage
from chipmodel.execute.op_part import Banded, Evaluate, OpPart, RecurrentState
from chipmodel.execute.places import Numbers, numbers
from chipmodel.execute.step_places import (
    first_of_slice,
    inputs_read,
    outputs_written,
    scratch_filled,
    sums_read,
    weights_read,
)
from chipmodel.model.commands import Compute
from chipmodel.model.program import Op, Program
from chipmodel.records import dataclass


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

    def run(self, op: Op, step: Compute, iteration: int, shared: ByteMemory) -> Iterator[Written]:
        """Run ``step``. Raises OutsideOfMemory."""
        given = self._inputs(op, step, iteration, shared)
        block = self._weights(op, step, shared)
        part = replace(self._op_part(op, step, iteration), sums=self._sums(op, step, shared))
        made = self.evaluate(op, self.program, given, block, part)
        for filled in scratch_filled(op, step, iteration):
            shared.write(filled, self.garbage.take(len(filled)))
        for name, placed in outputs_written(self.program, op, step, iteration):
            first = first_of_slice(self.program, op, name, iteration)
            there = (placed.numbers + first) % max(1, self.program.tensors[name].bytes)
            content = self._part(op, step, name, made, first)[there]
            shared.write(placed.addresses, content)
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
        operands = [self.garbage.take(self.program.tensors[name].bytes) for name in op.inputs]
        for index, placed in inputs_read(self.program, op, step, iteration):
            first = first_of_slice(self.program, op, op.inputs[index], iteration)
            there = (placed.numbers + first) % max(1, len(operands[index]))
            operands[index][there] = shared.read(placed.addresses)
        return operands

    def _sums(self, op: Op, step: Compute, shared: ByteMemory) -> Bytes | None:
        """What the parts before have added up; None for the first one."""
        sums = op.continued(step.rows)
        if sums is None:
            return None
        partial_sums = self.garbage.take(sums.bytes)
        for placed in sums_read(op, step):
            partial_sums[placed.numbers] = shared.read(placed.addresses)
        return partial_sums

    def _weights(self, op: Op, step: Compute, shared: ByteMemory) -> Bytes:
        """The weight block of ``op`` as far as the step finds it, otherwise garbage; the whole table of an op
        that looks rows up, if the buffer for them is untouched."""
        block = self.blocks[op.name]
        weights = self.garbage.take(len(block))
        memory = shared if step.weights_at is None else self.psram
        for placed in weights_read(self.program, op, step, len(block)):
            content = memory.read(placed.addresses)
            if op.gathers and step.weights_at is None and np.array_equal(content, block[placed.numbers]):
                return block
            weights[placed.numbers] = content
        return weights
