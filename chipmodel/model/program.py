"""The network as a tree: tensors, ops, branches and loops, in execution order.

A program is frozen and already resolved: views (reshape, flatten, identity) have no op and no
tensor of their own, every shape is known, and the body is in execution order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from fractions import Fraction
from importlib import import_module
from types import MappingProxyType
from typing import Any

from chipmodel.errors import Place
from chipmodel.geometry.axis_cut import NOTHING_READ
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.layout import Storage, usual_layout
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.tree import bodies, walk, with_bodies
from chipmodel.model.work import Conv, Matmul, Recurrent, Vector, Work, output_share
from chipmodel.records import dataclass

MAX_ITERATIONS = 1_000_000
"""The largest number of a loop's iterations (assumed)."""
SCRATCH = " scratch"
"""Ends the name of an op's scratch."""
_DTYPES = (
    *("int4", "uint4", "int8", "uint8", "int16", "uint16", "float16", "bfloat16"),
    *("int32", "uint32", "float32", "int64", "uint64", "float64"),
)
DTYPE_BITS: Mapping[str, int] = {"bool": 8} | {name: int(name.lstrip("abfilnotu")) for name in _DTYPES}


@dataclass(frozen=True, slots=True)
class Tensor:
    """An activation. ``shape`` is in the source's own layout, and empty where only the size is known."""

    name: str
    bytes: int
    shape: tuple[int, ...] = ()
    dtype: str = "int8"
    storage: Storage | None = None
    """The order of its elements in memory; None for the usual one of its shape."""

    @property
    def stored(self) -> Storage:
        """The order of its elements in memory; one row of elements where only the size is known."""
        if self.storage is not None:
            return self.storage
        shape = self.shape or (self.bytes * 8 // DTYPE_BITS[self.dtype],)
        return Storage(shape, usual_layout(shape))


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant that lives in Psram. ``elements`` counts parameters; ``bytes`` is its deployed size."""

    name: str
    bytes: int
    elements: int
    zero_channels: int = 0
    """Output channels of a convolution whose weights are all zero, where the file has their values."""


@dataclass(frozen=True, slots=True)
class InPlaceWeights:
    """The weights ``names``, which an op reads where they lie: they are never loaded into SharedMemory."""

    names: tuple[str, ...]
    cycles: Fraction
    """Core cycles in which all that a run needs of them is read once, at the rate of their memory."""
    latency: int
    """Core cycles from the start of a part to its first weights."""


@dataclass(frozen=True, slots=True)
class RowsInPlace:
    """How an op's output takes the memory of an input row by row: both lie in one rolling buffer of
    ``bytes``, their first bytes at ``input_at`` and ``output_at``."""

    rows: int
    """The most rows that a step computes; it overwrites only what neither it nor a later one reads. 0 where
    each byte of the output lies where that of the input did."""
    bytes: int
    input_at: int
    output_at: int


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
    further_cycles: int = 0
    """Further NPU cycles, for operands that it reads or writes in Psram where they lie, or a run's start."""
    overwrites: str | None = None
    """The input whose memory the first output takes (in-place): nothing reads it afterwards."""
    by_rows: RowsInPlace | None = None
    """How ``overwrites`` is taken row by row; None where output and input have the same bytes."""
    absorbs: tuple[str, ...] = ()
    """Inputs of a concat that may be written straight into its output: nothing reads them afterwards."""
    gathers: bool = False
    """Whether only as many weight bytes are read as the output has (a look-up in an embedding table)."""
    sliced: str | None = None
    """The tensor of which each run, one iteration of a loop, reads or writes one of ``slices`` equal slices.
    A tensor that is written so is also an input, because its other slices are kept."""
    slices: int = 1
    core: int | None = None
    """The core of a many-core chip that runs it; None lets the partition decide."""
    cascade: tuple[Op, ...] = ()
    """The ops that this one stands for, in order, where it is a cascade (``chipmodel.cascades.rewrite``)."""
    place: Place | None = None
    views: tuple[tuple[int, ...], ...] = ()
    """The shapes under which it sees its inputs and then its outputs (of a sliced tensor, one slice); empty
    where they are those of the tensors."""
    whole: tuple[int, ...] = ()
    """Numbers of inputs that every part reads completely, because their bytes lie in another order."""
    weights_in_place: InPlaceWeights | None = None
    """The weights that it reads in place; it then has no ``weights`` to load."""
    accumulator: Tensor | None = None
    """In which parts add up what they read of an input's rows, in order: all but the first one read it, and
    all but the last one, which makes the outputs, write it (``chipmodel.cascades.accumulation``)."""
    state: Tensor | None = None
    """What a part leaves for the next one beside its rows of the outputs: all parts but the first one read
    it, all but the last one write it (``chipmodel.cascades.accumulation``)."""
    scratch: Tensor | None = None
    """Bytes of SharedMemory that every part fills and nothing reads: a kernel's own, such as for im2col."""

    def __hash__(self) -> int:
        """A hash of a few fields: much is cached by op, and a cascade has many ops."""
        return hash((self.name, self.work))

    @property
    def constants(self) -> tuple[str, ...]:
        """The names of all of its weights, loaded or read in place."""
        return self.weights_in_place.names if self.weights_in_place else self.weights

    @property
    def collects(self) -> bool:
        """Whether a run writes one slice of ``sliced`` and keeps the others."""
        return self.sliced is not None and self.sliced in self.outputs

    @property
    def carried(self) -> Tensor | None:
        """What parts hand on to the next ones: accumulators, or a state."""
        return self.accumulator or self.state

    @property
    def along_rows(self) -> bool:
        """Whether a part needs all channels of some rows of each operand, or all of it. The rows of a
        recurrent layer that runs backwards are in the other order than those of its operands."""
        work = self.work
        if isinstance(work, Recurrent) and work.backward:
            return False
        if isinstance(work, Vector):
            return work.cut is None
        return not isinstance(work, Conv | Matmul) or work.summed is None

    @property
    def allocates(self) -> bool:
        """Whether it only reserves its output, which a loop will fill slice by slice."""
        return self.kind == "allocate"

    def reads(self, operand: int, rows: Interval, channels: Interval) -> Share:
        """The share of input number ``operand`` that a part of the op reads.

        Of a sliced input it is a share of the first slice, which stands for every slice; of a tensor that
        the op writes slice by slice it is nothing.
        """
        share = WHOLE if operand in self.whole else self.work.needs(operand, rows, channels)
        if self.inputs[operand] != self.sliced:
            return share
        return NO_SHARE if self.collects else _in_slice(share, self.slices)

    def writes(self, name: str, rows: Interval, channels: Interval) -> Share:
        """The share of an output that a part of the op writes."""
        if self.scratch is not None and name == self.scratch.name:
            return WHOLE
        if isinstance(self.work, CascadeWork):
            return self.work.makes[self.outputs.index(name)].share(rows)
        if self.accumulator is not None or (self.state is not None and name == self.state.name):
            return WHOLE
        share = output_share(self.work, rows, channels)
        return _in_slice(share, self.slices) if name == self.sliced else share

    def fills(self, rows: Interval) -> tuple[str, ...]:
        """The tensors that a part with these rows writes, its scratch too."""
        return self.made(rows) if self.scratch is None else (*self.made(rows), self.scratch.name)

    def made(self, rows: Interval) -> tuple[str, ...]:
        """The tensors that a part with these rows writes for other parts and ops."""
        if self.carried is None or rows.stop == self.work.rows:
            return self.outputs
        return (*(self.outputs if self.state else ()), self.carried.name)

    def continued(self, rows: Interval) -> Tensor | None:
        """What parts before one with these rows have left, which it reads; None for nothing."""
        return self.carried if rows.start else None


NO_SHARE = NOTHING_READ
"""No byte of a tensor."""


def _in_slice(share: Share, slices: int) -> Share:
    """``share`` of the first of ``slices`` slices, as a share of the whole tensor."""
    whole = WHOLE if slices == 1 else Share(Interval(0, 1), slices)
    if share in (WHOLE, NO_SHARE):
        return whole if share == WHOLE else share
    return Share(share.rows, share.of_rows * slices, share.channels, share.of_channels)


@dataclass(frozen=True, slots=True)
class Arm:
    """One alternative of an ``if``; an empty body is an arm that does nothing."""

    name: str
    body: tuple[Node, ...]
    probability: Fraction | None = None
    """Probability of being taken; None for an equal share of what the other arms leave."""


@dataclass(frozen=True, slots=True)
class If:
    """Exactly one arm runs. A tensor defined in every arm is the value of the whole ``if``."""

    name: str
    arms: tuple[Arm, ...]
    condition: str | None = None
    """The tensor that decides, read when the ``if`` is reached; None: it is decided outside."""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Loop:
    """``body`` runs ``iterations`` times. ``carried`` tensors have a value before the loop; each iteration
    reads the value of the one before and writes a new one, and the last one is the value after the loop."""

    name: str
    iterations: int
    body: tuple[Node, ...]
    carried: tuple[str, ...] = ()
    chances: tuple[tuple[int, Fraction], ...] = ()
    """Pairs of a number of iterations and its probability. Probabilities add up to 1, and the largest number
    is ``iterations``. Empty where every run makes ``iterations``."""
    place: Place | None = None


Node = Op | If | Loop


STACKED_SLICES = 2
"""Slices of an input or output that lie in Psram while a network runs again and again: double buffering."""
NO_CHOICES: Mapping[str, str] = MappingProxyType({})
"""A path on which nothing is decided yet."""


@dataclass(frozen=True, slots=True, repr=False)
class Program:
    """A network. Its ``inputs`` lie in Psram before the run, its ``outputs`` after it."""

    name: str
    tensors: Mapping[str, Tensor]
    weights: Mapping[str, Weight]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    body: tuple[Node, ...]
    source: str = ""
    """Where it comes from: a file, or the publication of a built-in network."""
    notes: tuple[str, ...] = field(default=())
    """Messages to the user: what the loader assumed or could not find out."""
    arrivals: Mapping[str, int] = field(default_factory=dict[str, int])
    """For one core's part of a program: each input that another core makes, with the number (in linear
    order) of the first op that may wait for it. See ``chipmodel.model.core_parts``."""
    states: Mapping[str, str] = field(default_factory=dict[str, str])
    """Inputs with the output that is their next value: key-value caches, states of recurrent layers."""
    inferences: int = 1
    """More than 1 where the body is a loop over that many inferences (``chipmodel.rewrites.steady_state``).
    Inputs and outputs are then stacks in Psram, of which each iteration moves one slice."""

    def __repr__(self) -> str:
        number = sum(1 for _ in ops(self.body))
        return (
            f"<Program {self.name}: {number:,} ops, {self.macs:,} MACs, {self.weight_bytes:,} B of weights>"
        )

    @property
    def is_straight(self) -> bool:
        """Whether it is a list of ops, without branches or loops."""
        return all(isinstance(node, Op) for node in self.body)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of one run with every arm of every ``if`` taken, each iteration counted."""
        return sum(times * op.work.macs for op, times in self.op_counts())

    @property
    def parameters(self) -> int:
        """Weight elements, each counted once however often it is used."""
        return sum(w.elements for w in self.weights.values())

    @property
    def weight_bytes(self) -> int:
        return sum(w.bytes for w in self.weights.values())

    @property
    def conditions(self) -> dict[str, str]:
        """The tensors that decide, by the name of their ``if``."""
        return {n.name: n.condition for n in self.nodes() if isinstance(n, If) and n.condition is not None}

    @property
    def stays_in_psram(self) -> frozenset[str]:
        """Tensors that lie in Psram before or after every inference, and so are never spilled."""
        return frozenset((*self.inputs, *(self.outputs if self.inferences > 1 else ())))

    def block_bytes(self, op: Op) -> int:
        """Bytes of the weight block that ``op`` loads from Psram."""
        if op.gathers and op.weights:
            return sum(self.tensors[t].bytes for t in op.outputs)
        total = 0  # a loop, as this is asked for thousands of times
        for name in op.weights:
            total += self.weights[name].bytes
        return total

    def table_bytes(self, op: Op) -> int:
        """Bytes of all weights of ``op`` in Psram, more than it loads if it looks up or reads in place."""
        return sum(self.weights[w].bytes for w in op.constants)

    def psram_bytes(self, tensor: str) -> int:
        """Bytes that ``tensor`` takes in Psram.

        Of the stacks of a network that runs again and again only two slices lie there at a time: one is moved
        during an inference while the host fills or empties the other.
        """
        size = self.tensors[tensor].bytes
        if self.inferences <= STACKED_SLICES or tensor not in self.stays_in_psram:
            return size
        return size // self.inferences * STACKED_SLICES

    def graph(self) -> Any:
        """Return the network as a ``networkx.DiGraph`` without cycles, for analyses of one's own.

        Each op is a node by its name, with the attributes ``op`` (the ``Op``), ``macs``, ``weight_bytes`` and
        ``inside`` (names of the branches and loops around it); each input of the network is one whose ``op``
        is None. An edge leads to every op that reads what a node makes; it has ``tensors`` (each a
        ``Tensor``) and their ``bytes``. What an ``if`` yields has edges from every arm; what an iteration of
        a loop reads of the one before has none.
        """
        graph: Any = import_module("networkx").DiGraph()  # slow to import
        for name in self.inputs:
            graph.add_node(name, op=None, macs=0, weight_bytes=0, inside=())
        _add(graph, self, self.body, {name: (name,) for name in self.inputs}, ())
        return graph

    def nodes(self) -> Iterator[Node]:
        """Every op, ``if`` and ``loop`` in linear order, the outer before the inner."""
        return walk(self.body)

    def ops(self) -> Iterator[Op]:
        """Every op in linear order, arms one after another."""
        return ops(self.body)

    def op_counts(self, path: Mapping[str, str] = NO_CHOICES) -> Iterator[tuple[Op, int]]:
        """Every op in linear order, and how often it runs along ``path``: 0 in arms that are not taken.

        Of what ``path`` does not name, every arm is taken and every loop makes its own iterations.
        """
        return _op_counts(self.body, path, 1)


Body = tuple[Node, ...]
Makers = Mapping[str, tuple[str, ...]]
"""Nodes of a graph that may have made the value of each tensor."""


def _add(graph: Any, program: Program, body: Body, before: Makers, inside: tuple[str, ...]) -> Makers:
    """Add the ops of a body; return who made each tensor after it."""
    makers = before
    for node in body:
        if isinstance(node, Op):
            _add_op(graph, program, node, makers, inside)
            makers = {**makers, **dict.fromkeys(node.outputs, (node.name,))}
            continue
        ends = [_add(graph, program, inner, makers, (*inside, node.name)) for inner in bodies(node)]
        ends += [] if isinstance(node, If) else [makers]  # a loop may make no iteration
        names = dict.fromkeys(name for end in ends for name in end)
        makers = {
            name: tuple(dict.fromkeys(maker for end in ends for maker in end.get(name, ()))) for name in names
        }
    return makers


def _add_op(graph: Any, program: Program, op: Op, makers: Makers, inside: tuple[str, ...]) -> None:
    weights = program.block_bytes(op)
    graph.add_node(op.name, op=op, macs=op.work.macs, weight_bytes=weights, inside=inside)
    for name in dict.fromkeys(op.inputs):
        tensor = program.tensors[name]
        for maker in makers.get(name, ()):
            known = graph.get_edge_data(maker, op.name, {"tensors": (), "bytes": 0})
            graph.add_edge(
                maker, op.name, tensors=(*known["tensors"], tensor), bytes=known["bytes"] + tensor.bytes
            )


def reads(node: Node) -> tuple[str, ...]:
    """The tensors that ``node`` reads: inputs of an op, condition of an ``if``, what a ``loop`` carries."""
    match node:
        case Op():
            return node.inputs
        case If():
            return () if node.condition is None else (node.condition,)
        case Loop():
            return node.carried


def ops(body: Body) -> Iterator[Op]:
    """Every op below ``body`` in linear order, arms one after another."""
    for node in body:
        if isinstance(node, Op):  # at once, as this is asked for thousands of times
            yield node
        else:
            for inner in bodies(node):
                yield from ops(inner)


def numbered_nodes(body: Body, first: int = 0) -> Iterator[tuple[int, Node]]:
    """``nodes(body)``, each with the number of its op, or of the first op in or after an ``if`` or ``loop``.
    Ops are numbered in linear order from ``first``."""
    for node in body:
        yield first, node
        for inner in bodies(node):
            yield from numbered_nodes(inner, first)
            first += sum(1 for _ in ops(inner))
        first += isinstance(node, Op)


def rewritten(body: Body, change: Callable[[Node], Node]) -> Body:
    """``body`` with every node below it replaced by ``change(node)``, the inner before the outer."""
    return tuple(change(with_bodies(node, lambda inner: rewritten(inner, change))) for node in body)


def with_ops(body: Body, change: Callable[[Op], Op]) -> Body:
    """``body`` with every op below it replaced by ``change(op)``."""
    return rewritten(body, lambda node: change(node) if isinstance(node, Op) else node)


def _op_counts(body: Body, path: Mapping[str, str], times: int) -> Iterator[tuple[Op, int]]:
    for node in body:
        match node:
            case Op():
                yield node, times
            case If():
                for arm in node.arms:
                    taken = path.get(node.name, arm.name) == arm.name
                    yield from _op_counts(arm.body, path, times if taken else 0)
            case Loop():
                iterations = int(path.get(node.name, node.iterations))
                yield from _op_counts(node.body, path, times * iterations)


def renamed(node: Node, names: Mapping[str, str]) -> Node:
    """``node`` itself, without the nodes below it, with its tensors renamed by ``names``."""

    def new(every: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in every)

    match node:
        case Op():
            return replace(
                node,
                inputs=new(node.inputs),
                outputs=new(node.outputs),
                absorbs=new(node.absorbs),
                overwrites=node.overwrites and names.get(node.overwrites, node.overwrites),
                sliced=node.sliced and names.get(node.sliced, node.sliced),
            )
        case If():
            return replace(node, condition=node.condition and names.get(node.condition, node.condition))
        case Loop():
            return replace(node, carried=new(node.carried))
