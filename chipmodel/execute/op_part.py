"""A part of an op to be evaluated, and what the NPU keeps between the parts of one run of an op."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from chipmodel.cascades.columns import tensor_columns
from chipmodel.execute.byte_arrays import Bytes, Words
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Command, Compute
from chipmodel.model.program import Op, Program
from chipmodel.model.tree import walk
from chipmodel.records import dataclass

Streams: TypeAlias = Sequence[tuple[Command, ...]]
"""The commands of each core."""
Banded: TypeAlias = Mapping[str, Interval]
"""For each op of which a plan computes some columns at a time, all columns of its output."""


@dataclass
class RecurrentState:
    """For each time step of a recurrent layer that has been computed, a word for each hidden unit."""

    steps: dict[int, Words] = field(default_factory=dict[int, Words])


@dataclass(frozen=True, slots=True)
class OpPart:
    """``rows`` x ``channels`` of an op in an iteration of the innermost loop."""

    rows: Interval
    channels: Interval
    columns: Interval | None = None
    """Columns of the output, of an op of which a plan computes some at a time; None for any other op."""
    iteration: int = 0
    state: RecurrentState = field(default_factory=RecurrentState)
    """One object for all parts of one run of the op, in order."""
    sums: Bytes | None = None
    """What parts before this one have added up, of an op with accumulators; None for the first one."""


Evaluate: TypeAlias = Callable[[Op, Program, Sequence[Bytes], Bytes, OpPart], Sequence[Bytes]]
"""``chipmodel.execute.evaluate.evaluate``, or a stand-in."""


def whole_op(op: Op, banded: Banded, iteration: int = 0) -> OpPart:
    """All of an op."""
    rows, channels = Interval(0, op.work.rows), Interval(0, op.work.channels)
    return OpPart(rows, channels, banded.get(op.name), iteration)


def banded_ops(program: Program, streams: Streams) -> dict[str, Interval]:
    """The ops of which a step computes some columns."""
    steps = (c for commands in streams for c in walk(commands) if isinstance(c, Compute))
    names = {step.op for step in steps if step.columns is not None}
    outputs = {op.name: op.outputs[0] for op in program.ops() if op.name in names}
    return {name: Interval(0, tensor_columns(program, made)) for name, made in outputs.items()}
