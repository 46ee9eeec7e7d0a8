"""What runs in which order, and when each transfer is issued.

A schedule is the program with its ops cut into *steps*. Steps are numbered in linear order, arms
one after another: a step's number is its *position*. At a position the order of events is fixed:
wait for the loads that are due, issue the loads that are due later, compute, issue stores, wait for
the stores that are due. So a transfer is described by two positions alone, and packing needs no
clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from chipmodel.model.interval import Interval
from chipmodel.model.work import WHOLE, Share

Direction = Literal["load", "store"]


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a tensor or of an op's weight block.

    ``name`` is the tensor's name, or the op's name where ``weights`` is set.
    """

    name: str
    share: Share = WHOLE
    weights: bool = False


@dataclass(frozen=True, slots=True)
class Operand:
    """A part, and the buffer in SharedMemory that holds it."""

    part: Part
    buffer: str
    touched: Interval | None = None
    """The bytes of the part's tensor that a step moves; None for all of them."""
    at: int = 0
    """Where in the buffer the part's tensor begins: the output of a concat holds its inputs."""
    bytes: int | None = None
    """Size of the part's tensor; None where it has the buffer to itself."""


PhaseKind = Literal["configure", "inputs", "weights", "outputs", "stream"]


@dataclass(frozen=True, slots=True)
class Phase:
    """A stretch of a step's cycles by what moves on the NPU's ports: nothing, its inputs, its weights,
    its outputs, or (``stream``) all of them side by side."""

    kind: PhaseKind
    cycles: int


@dataclass(frozen=True, slots=True)
class Step:
    """An op, or one part of it: output ``rows`` by output ``channels`` of its work."""

    position: int
    op: str
    rows: Interval
    channels: Interval
    cycles: int
    reads: tuple[Operand, ...]
    writes: tuple[Operand, ...]
    label: str
    """What people read: the op's name, and which part of it."""
    phases: tuple[Phase, ...] = ()
    """What the ``cycles`` are spent on, in order; empty where all operands move throughout."""


@dataclass(frozen=True, slots=True)
class StepArm:
    """The steps of one arm, in order; they may be none."""

    name: str
    body: tuple[StepNode, ...]


@dataclass(frozen=True, slots=True)
class StepIf:
    """The arms' steps. ``condition`` is the tensor that decides, where it is in SharedMemory; a tensor
    in Psram or a decision from outside is None."""

    name: str
    arms: tuple[StepArm, ...]
    condition: Operand | None = None


@dataclass(frozen=True, slots=True)
class StepLoop:
    """Steps that run ``iterations`` times."""

    name: str
    iterations: int
    body: tuple[StepNode, ...]


StepNode = Step | StepIf | StepLoop


@dataclass(frozen=True, slots=True)
class Transfer:
    """One DMA transfer between Psram and a buffer in SharedMemory.

    A load is issued at position ``issue`` and has arrived before the compute of ``due``. A store is
    issued after the compute of ``issue`` and its buffer is free after the wait of ``due``.

    Where ``due`` lies in a branch or loop that ``issue`` does not lie in, or in the next iteration, some
    paths never come to ``due``; all paths then wait behind that branch or loop (``nesting.waits_after``). To
    wait once more for what has ended takes no time.
    """

    name: str
    direction: Direction
    part: Part
    buffer: str
    bytes: int
    issue: int
    due: int
    psram: int = 0
    """Its first address in Psram."""
    home: Interval = Interval(0, 0)
    """The addresses in Psram of the whole tensor or weight slice that it moves."""
    again: tuple[int, ...] = ()
    """Further positions that issue a load: at the ends of other arms, or of an iteration for the next one. On
    no path is it issued twice before it is waited for."""

    @property
    def issues(self) -> tuple[int, ...]:
        """Every position that issues it."""
        return (self.issue, *self.again)


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """A buffer to be: its size, and the positions that it is kept for beside those that touch it."""

    name: str
    bytes: int
    held: Interval = Interval(0, 0)
    kind: Literal["tensor", "weights", "stripe"] = "tensor"


@dataclass(frozen=True, slots=True)
class Late:
    """Weights that cannot be there in time: how many core cycles after the step at ``position`` could go on
    without waiting for them they arrive, a streamer's allowance for jitter included. Once for each run of
    the step."""

    op: str
    position: int
    cycles: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """``transfers`` are in the order of issue among those of one position and direction."""

    body: tuple[StepNode, ...]
    transfers: tuple[Transfer, ...]
    buffers: Mapping[str, BufferSpec]
    streamer: str
    striped: tuple[str, ...] = ()
    """Ops that run in row stripes because their operands do not fit together."""
    spilled: tuple[str, ...] = ()
    """Tensors that leave SharedMemory between two uses and come back."""
    late: tuple[Late, ...] = ()
    """Where a streamer that plans by time says that it is too late, in linear order."""


def steps(body: tuple[StepNode, ...]) -> Iterator[Step]:
    """Every step below ``body`` in linear order."""
    for node in body:
        match node:
            case Step():
                yield node
            case StepIf():
                for arm in node.arms:
                    yield from steps(arm.body)
            case StepLoop():
                yield from steps(node.body)
