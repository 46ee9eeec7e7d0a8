"""The tree that the user wrote: tensors, ops, branches and loops, in execution order.

A program is frozen and already resolved: views (reshape, flatten, identity) have no op and no
tensor of their own, every shape is known, and the body is in execution order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from chipmodel.errors import Place
from chipmodel.model.interval import Interval
from chipmodel.model.work import WHOLE, Share, Work, output_share

DTYPE_BITS: Mapping[str, int] = {
    "bool": 8,
    "int4": 4,
    "uint4": 4,
    "int8": 8,
    "uint8": 8,
    "int16": 16,
    "uint16": 16,
    "float16": 16,
    "bfloat16": 16,
    "int32": 32,
    "uint32": 32,
    "float32": 32,
    "int64": 64,
    "uint64": 64,
    "float64": 64,
}


@dataclass(frozen=True, slots=True)
class Tensor:
    """An activation. ``shape`` is in the source's own layout and empty where only bytes are known."""

    name: str
    bytes: int
    shape: tuple[int, ...] = ()
    dtype: str = "int8"


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant that lives in Psram. ``elements`` counts parameters; ``bytes`` is its deployed size."""

    name: str
    bytes: int
    elements: int


@dataclass(frozen=True, slots=True)
class Op:
    """One operation. All of its ``weights`` lie in Psram as one block and are loaded as one."""

    name: str
    kind: str
    work: Work
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: tuple[str, ...] = ()
    dtype: str = "int8"
    cycles: int | None = None
    """NPU cycles given by the user; None lets the chip model decide."""
    overwrites: str | None = None
    """The input that dies here and whose memory the first output takes (in-place)."""
    absorbs: tuple[str, ...] = ()
    """Inputs of a concat that may be made where they lie in its output: they die here."""
    gathers: bool = False
    """Whether only as many weight bytes as the output has are read (an embedding table)."""
    sliced: str | None = None
    """The tensor of which each run reads or writes one of ``slices`` equal slices, as an iteration of a loop
    does. One that is written is an input as well, for its other slices stay as they are."""
    slices: int = 1
    core: int | None = None
    """The core of a many-core chip that runs it; None lets the partition decide."""
    place: Place | None = None

    @property
    def collects(self) -> bool:
        """Whether a run writes one slice of ``sliced`` and leaves the others."""
        return self.sliced is not None and self.sliced in self.outputs

    @property
    def allocates(self) -> bool:
        """Whether its output has no value yet: room that a loop will fill slice by slice."""
        return self.kind == "allocate"

    def reads(self, operand: int, rows: Interval, channels: Interval) -> Share:
        """The share of an input that a part of the op reads: of a sliced one the part of a slice, which
        stands for that of every slice; nothing of a tensor whose slice the op writes."""
        share = self.work.needs(operand, rows, channels)
        if self.inputs[operand] != self.sliced:
            return share
        return NO_SHARE if self.collects else _in_slice(share, self.slices)

    def writes(self, name: str, rows: Interval, channels: Interval) -> Share:
        """The share of an output that a part of the op writes."""
        share = output_share(self.work, rows, channels)
        return _in_slice(share, self.slices) if name == self.sliced else share


NO_SHARE = Share(Interval(0, 0))
"""Nothing of a tensor."""


def _in_slice(share: Share, slices: int) -> Share:
    """``share`` of the first of ``slices`` slices of a tensor."""
    whole = WHOLE if slices == 1 else Share(Interval(0, 1), slices)
    if share == WHOLE:
        return whole
    return Share(share.rows, share.of_rows * slices, share.channels, share.of_channels)


@dataclass(frozen=True, slots=True)
class Arm:
    """One alternative of an ``if``; an empty body is an arm that does nothing."""

    name: str
    body: tuple[Node, ...]
    probability: Fraction | None = None
    """How likely it is taken; None for an equal share of what the other arms leave."""


@dataclass(frozen=True, slots=True)
class If:
    """Exactly one arm runs. A tensor defined in every arm is the value of the whole ``if``."""

    name: str
    arms: tuple[Arm, ...]
    condition: str | None = None
    """The tensor that decides, read when the ``if`` is reached; None for a decision from outside."""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """``body`` runs ``iterations`` times. ``carried`` tensors have a value before the loop, and the body
    reads the old and writes the new one on every iteration; after the loop they hold the last."""

    name: str
    iterations: int
    body: tuple[Node, ...]
    carried: tuple[str, ...] = ()
    chances: tuple[tuple[int, Fraction], ...] = ()
    """Numbers of iterations with their probabilities, which add up to 1 and of which the largest is
    ``iterations``; none where every run makes ``iterations``."""
    place: Place | None = None


Node = Op | If | Loop


@dataclass(frozen=True, slots=True)
class Program:
    """A whole network. ``inputs`` and ``outputs`` lie in Psram before and after the run."""

    name: str
    tensors: Mapping[str, Tensor]
    weights: Mapping[str, Weight]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    body: tuple[Node, ...]
    source: str = ""
    """Where it comes from: a file, or the publication of a built-in network."""
    notes: tuple[str, ...] = field(default=())
    """What the loader assumed or could not know, for the user to read."""
    arrivals: Mapping[str, int] = field(default_factory=dict[str, int])
    """Where this is one core's part of a program: each input that another core makes, with the number of
    the first op (in linear order) that may wait for it. See ``chipmodel.model.core_parts``."""
    inferences: int = 1
    """Where the body is a loop over inferences (``chipmodel.passes.steady_state``), its iterations: inputs
    and outputs are then stacks, which stay in Psram, and each iteration moves a slice of them."""

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run with every arm of every ``if`` taken, each iteration counted."""
        return _macs(self.body)

    @property
    def parameters(self) -> int:
        """Weight elements, each counted once however often it is used."""
        return sum(w.elements for w in self.weights.values())

    @property
    def weight_bytes(self) -> int:
        return sum(w.bytes for w in self.weights.values())

    @property
    def stays_in_psram(self) -> frozenset[str]:
        """Tensors that nobody spills where they lie in Psram: they do before or after every inference."""
        return frozenset((*self.inputs, *(self.outputs if self.inferences > 1 else ())))

    def block_bytes(self, op: Op) -> int:
        """Bytes of the weight block that ``op`` loads from Psram."""
        if op.gathers:
            return sum(self.tensors[t].bytes for t in op.outputs)
        return sum(self.weights[w].bytes for w in op.weights)


def ops(body: tuple[Node, ...]) -> Iterator[Op]:
    """Every op below ``body`` in linear order, arms one after another."""
    for node in body:
        match node:
            case Op():
                yield node
            case If():
                for arm in node.arms:
                    yield from ops(arm.body)
            case Loop():
                yield from ops(node.body)


def _macs(body: tuple[Node, ...]) -> int:
    total = 0
    for node in body:
        match node:
            case Op():
                total += node.work.macs
            case If():
                total += sum(_macs(arm.body) for arm in node.arms)
            case Loop():
                total += node.iterations * _macs(node.body)
    return total
