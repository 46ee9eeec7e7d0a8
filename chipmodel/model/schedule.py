"""The order of steps, and where each transfer is issued.

A schedule is the program with its ops cut into *steps*. Steps are numbered in linear order, arms one after
another: a step's number is its *position*. The order of events at a position is fixed: wait for the loads
that are due, issue the loads that are due later, compute, issue stores, wait for the stores that are due.
So two positions describe a transfer, and packing needs no clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import ClassVar, Literal, NamedTuple

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.model.tier_states import StateSearch
from chipmodel.model.tree import walk, with_bodies
from chipmodel.records import dataclass

Direction = Literal["load", "store"]
SHARED, PSRAM, WEIGHTS = "shared_memory", "psram", "weights"
"""The memories of every chip by name; ``weights`` is that of the weights, be it the Psram or their own."""


class Hop(NamedTuple):
    """A transfer between two memories by name, at least one of them a further memory of the chip."""

    source: str
    target: str


PlainTraffic = Literal["load", "store", "weights"]
"""What a transfer does: ``load`` and ``store`` of tensors in Psram, loads of weights from their memory."""
Traffic = PlainTraffic | Hop
"""What a transfer does, and so which memories it uses."""


def traffic_of(direction: Direction, weights: bool, memory: str) -> Traffic:
    """Return what a transfer between SharedMemory and the further memory of that name does; empty for the
    memory in which tensors, or weights, lie from the start."""
    if memory:
        return Hop(memory, SHARED) if direction == "load" else Hop(SHARED, memory)
    return "weights" if direction == "load" and weights else direction


def ends_of(traffic: Traffic) -> Hop:
    """Return the memories that a transfer is from and to."""
    if isinstance(traffic, Hop):
        return traffic
    return Hop(SHARED, PSRAM) if traffic == "store" else Hop(PSRAM if traffic == "load" else WEIGHTS, SHARED)


@dataclass(frozen=True, slots=True)
class Part:
    """A share of a tensor or of an op's weight block.

    ``name`` is the tensor's name, or the op's name where ``weights`` is set.
    """

    name: str
    share: Share = WHOLE
    weights: bool = False

    @property
    def runs(self) -> int:
        """Runs of consecutive bytes in Psram that it consists of. A weight slice lies there in one piece."""
        return 1 if self.weights else self.share.runs


@dataclass(frozen=True, slots=True)
class Operand:
    """A part of a tensor or weight block, and the buffer in SharedMemory that holds it."""

    part: Part
    buffer: str
    touched: Interval | None = None
    """The bytes of the part's tensor that a step moves; None for all of them."""
    at: int = 0
    """Offset of the part's tensor in the buffer: the output of a concat holds its inputs."""
    bytes: int | None = None
    """Size of the part's tensor; None for that of the whole buffer."""
    rolls: bool = False
    """Whether the buffer rolls: byte ``x`` of the tensor lies at ``first + x`` modulo the buffer's bytes."""
    in_tensor: bool = False
    """Whether the buffer has all of the part's tensor; otherwise the part alone, if it is not all of it."""
    runs: int = 1
    """In how many runs the tensor lies in the output of a concat; see ``commands.Located``."""
    pitch: int = 0
    """Bytes from the start of a run to that of the next one; 0 for a single run."""
    advance: int = 0
    """Bytes by which the part moves on in the buffer with each iteration of the innermost loop."""
    first: int = 0
    """Where in a rolling buffer the tensor's first byte has its place."""


PhaseKind = Literal["configure", "inputs", "weights", "outputs", "stream"]


@dataclass(frozen=True, slots=True)
class Phase:
    """Consecutive cycles of a step, by what moves on the NPU's ports: nothing (``configure``), its inputs,
    its weights, its outputs, or all of them at once (``stream``)."""

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
    """For display: the op's name, and which part of it."""
    phases: tuple[Phase, ...] = ()
    """The ``cycles`` by cause, in order; empty where all operands move throughout."""
    columns: Interval | None = None
    """The output columns that it computes; None for all."""


@dataclass(frozen=True, slots=True)
class StepArm:
    """The steps of one arm, in order; possibly none."""

    name: str
    body: tuple[StepNode, ...]


@dataclass(frozen=True, slots=True)
class StepIf:
    """The arms' steps. ``condition`` is the tensor that decides, where it lies in SharedMemory; None for a
    tensor in Psram and for a decision from outside."""

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

    Where ``due`` lies in a branch or loop that does not contain ``issue``, some paths never come to ``due``;
    all paths then wait after that branch or loop (``nesting.waits_after``).
    Waiting again for a transfer that has ended takes no time.

    In SharedMemory its bytes are consecutive; in Psram they are ``runs`` equal runs, ``pitch`` bytes from the
    start of one to the start of the next.
    """

    name: str
    direction: Direction
    part: Part
    buffer: str
    bytes: int
    issue: int
    due: int
    psram: int = 0
    """The first address in Psram."""
    home: Interval = Interval(0, 0)
    """The addresses in Psram of the whole tensor or weight slice that it moves."""
    in_tensor: bool = False
    """Whether the buffer has all of the part's tensor; otherwise the part alone, if it is not all of it."""
    advance: int = 0
    """Bytes by which its address in Psram moves on with each iteration of the innermost loop around ``due``,
    or, for a store, around ``issue``."""
    runs: int = 1
    pitch: int = 0
    """0 for a single run."""
    at: int = 0
    """Bytes of the buffer before it, which have the pieces loaded earlier."""
    touched: Interval | None = None
    """The bytes that it fills of a rolling buffer."""
    memory: str = ""
    """The further memory of the chip in which ``home`` is; empty for Psram, or the weights' own memory."""

    @property
    def traffic(self) -> Traffic:
        return traffic_of(self.direction, self.part.weights, self.memory)


@dataclass(frozen=True, slots=True)
class OffChipCopy:
    """What a DMA transfer from one memory off chip to another copies: all of ``part``, a tensor or a slice of
    weights, from ``home`` to ``target``."""

    name: str
    part: Part
    bytes: int
    source: str
    """The memory of ``home`` by name: ``psram``, ``weights``, or a further one."""
    home: Interval
    memory: str
    """The memory of ``target`` by name."""
    target: Interval

    @property
    def traffic(self) -> Hop:
        return Hop(self.source, self.memory)


@dataclass(frozen=True, slots=True)
class OffChipMove(OffChipCopy):
    """A copy that is issued at position ``issue`` like a load, and has arrived before the loads of ``due``.

    What it copies stays valid at ``home``; loads find the copy at ``target``.
    """

    issue: int
    due: int


BufferKind = Literal["tensor", "weights", "stripe", "rows", "scratch"]
"""What a buffer is for; ``rows``: those of a tensor inside a cascade; ``scratch``: an op's own bytes."""


@dataclass(frozen=True, slots=True)
class BufferSpec:
    """A buffer: its size, and the positions ``held`` at which it is kept beyond those that touch it."""

    name: str
    bytes: int
    held: Interval = Interval(0, 0)
    kind: BufferKind = "tensor"
    within: str = ""
    """The buffer whose first bytes it has, where weights are loaded in pieces, one after another: each piece
    but the last one fills such a buffer to its end. They have one offset, and may share bytes."""


@dataclass(frozen=True, slots=True)
class Late:
    """Weights that arrive too late: the core cycles for which the step at ``position`` waits for them alone
    in each run, with the streamer's allowance for jitter."""

    op: str
    position: int
    cycles: int


@dataclass(frozen=True, slots=True)
class CascadeOps:
    """Which ops a cascade has, in the order of the program, and whether it computes each row once: whether
    the tensors inside lie in rolling buffers. The weights of ``reloaded`` ops do not stay."""

    name: str
    ops: tuple[str, ...]
    rolls: bool
    reloaded: tuple[str, ...] = ()
    bands: int = 1
    """Bands of columns, one after another; columns that two of them need are computed for each."""
    again: tuple[str, ...] = ()
    """Tensors inside whose rows are computed again for each step that reads some, and not held after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadePlan(CascadeOps):
    """Ops whose steps take turns, at the positions ``steps``. Their weights stay from their first step to the
    end, but for those of ``reloaded`` ops, which are loaded again for each of their turns."""

    steps: Interval
    heights: tuple[int, ...]
    """For each op, the most rows that one step computes."""
    inside: tuple[str, ...]
    """The tensors of which only rows exist."""
    groups: int = 1
    """The most rows of the last op whose steps use one stripe of what passes."""
    KEYS: ClassVar = ("ops", "rows=heights", "reloaded", "bands", "computed_again=again")
    """What documents have of it (``chipmodel.files.document``)."""

    @property
    def members(self) -> CascadeOps:
        """What its commands have to be read with."""
        return CascadeOps(self.name, self.ops, self.rolls, self.reloaded, self.bands, self.again)


@dataclass(frozen=True, slots=True)
class Schedule:
    """``transfers`` of the same position and direction are in the order of issue."""

    body: tuple[StepNode, ...]
    transfers: tuple[Transfer, ...]
    buffers: Mapping[str, BufferSpec]
    streamer: str
    striped: tuple[str, ...] = ()
    """Ops that run in stripes of rows because their operands do not fit at once."""
    spilled: tuple[str, ...] = ()
    """Tensors that leave SharedMemory for some time, or are never whole in it."""
    cascades: tuple[CascadePlan, ...] = ()
    """In linear order."""
    late: tuple[Late, ...] = ()
    """Late weights as predicted by a streamer that plans by time, in linear order."""
    state_search: StateSearch | None = None
    """None where no search over memory tiers decided what leaves SharedMemory."""
    in_rows: tuple[tuple[str, int], ...] = ()
    """Ops whose output takes the memory of an input row by row, with the most rows of a step."""
    weights_in_place: Mapping[str, Interval] = field(default_factory=dict[str, Interval])
    """The ops that read their weights in place, and the addresses of these in Psram."""
    moves: tuple[OffChipMove, ...] = ()
    """In the order of issue."""

    @property
    def traffic(self) -> Mapping[str, Traffic]:
        """What each transfer and move does, by its name."""
        traffic: dict[str, Traffic] = {transfer.name: transfer.traffic for transfer in self.transfers}
        traffic.update({move.name: move.traffic for move in self.moves})
        return traffic

    @property
    def moves_tensors(self) -> bool:
        """Whether tensors go to Psram for want of SharedMemory."""
        return bool(self.spilled or self.striped)


def steps(body: tuple[StepNode, ...]) -> Iterator[Step]:
    """Every step below ``body`` in linear order."""
    return (node for node in walk(body) if isinstance(node, Step))


def branches(body: tuple[StepNode, ...]) -> Iterator[tuple[int, StepIf]]:
    """Every ``if`` below ``body`` with steps, and the position of the first; outer ones come first."""
    for node in walk(body):
        if isinstance(node, StepIf) and (inside := next(steps((node,)), None)):
            yield inside.position, node


def renamed(
    body: tuple[StepNode, ...], buffers: Mapping[str, str], op_at: Mapping[int, str] | None = None
) -> tuple[StepNode, ...]:
    """Return ``body`` with other names: of ``buffers``, and of the ops of the steps at the positions
    ``op_at``. What is not in them keeps its name."""
    ops = op_at or {}

    def named(operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
        # Most schedules that are built change few names: what stays is not copied.
        if all(buffers.get(operand.buffer, operand.buffer) == operand.buffer for operand in operands):
            return operands
        return tuple(
            replace(operand, buffer=buffers.get(operand.buffer, operand.buffer)) for operand in operands
        )

    def changed(node: StepNode) -> StepNode:
        if isinstance(node, Step):
            op, reads, writes = ops.get(node.position, node.op), named(node.reads), named(node.writes)
            same = op == node.op and reads is node.reads and writes is node.writes
            return node if same else replace(node, op=op, reads=reads, writes=writes)
        node = with_bodies(node, lambda inner: renamed(inner, buffers, op_at))
        if isinstance(node, StepIf) and node.condition:
            return replace(node, condition=named((node.condition,))[0])
        return node

    return tuple(map(changed, body))
