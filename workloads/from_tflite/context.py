"""What the translation of operators works with: a subgraph as it runs in one place, its tensors named.

TensorFlow Lite's images are (N, H, W, C). Here every tensor of 4 axes is seen as (N, C, H, W), and one of 5
as (N, C, D, H, W), as the rest of the importer expects: the same bytes under another order of axes, as both
are stored channels last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any

from chipmodel.errors import BadInput
from workloads.build.element_types import ELEMENT_OF_TYPE
from workloads.build.read_options import Reading
from workloads.from_onnx.graph import Fact, OnnxNode, unique_name, unused_name
from workloads.from_onnx.input_shapes import empty_is_constant
from workloads.from_tflite.model_file import TfliteModel, TfliteOperator, TfliteSubgraph, TfliteTensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCALE_BYTES = 4
"""Bytes of a channel's scale: a float32 in the file, a multiplier of 32 bits in deployed code."""
NARROW = ("INT4", "INT8", "UINT8", "INT16")
"""Types of weights that have scales of their own; a bias has those of its weights, times the input's."""
SCRATCH = "SCRATCH"
"""The node that reserves memory for an operator to work in."""
TFLITE = "tflite"
"""The domain of operators that ONNX does not have."""


def channels_first(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape of 4 or 5 axes with the last one second; others as they are."""
    return (shape[0], shape[-1], *shape[1:-1]) if len(shape) in (4, 5) else tuple(shape)


def axis_of(rank: int, axis: int) -> int:
    """Where an axis of a tensor of ``rank`` axes, maybe counted from the end, is once channels are second."""
    axis %= max(1, rank)
    if rank not in (4, 5) or axis == 0:
        return axis
    return 1 if axis == rank - 1 else axis + 1


@dataclass(slots=True)
class ImportState:
    """What all subgraphs of a model share."""

    model: TfliteModel
    notes: list[str]
    reading: Reading
    facts: dict[str, Fact] = field(default_factory=dict[str, Fact])
    names: set[str] = field(default_factory=set[str])
    """Names of nodes that are in use."""
    origins: dict[int, str] = field(default_factory=dict[int, str])
    """The constant that was first stored in a buffer, by its number."""
    states: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """Tensors that keep their value from run to run: their value before the run, and the last one."""
    loops: set[str] = field(default_factory=set[str])
    """Names of loops."""
    depth: int = 0

    def fact_name(self, name: str) -> str:
        """A name for a tensor that no other has."""
        return unused_name(name, self.facts)

    def add(self, fact: Fact) -> str:
        """Add what is known of a tensor; returns its name."""
        self.facts[fact.name] = fact
        return fact.name


class SubgraphContext:
    """One subgraph in one place: the names of its tensors, and the nodes that it becomes."""

    def __init__(self, state: ImportState, graph: TfliteSubgraph, given: Sequence[str] = ()) -> None:
        """``given`` are the tensors of the surrounding graph for its inputs; without them they are new."""
        self.state, self.graph = state, graph
        self.nodes: list[OnnxNode] = []
        self.name_of: dict[int, str] = dict(zip(graph.inputs, given, strict=True)) if given else {}
        self._made = set(graph.inputs)
        self._written = ""

    # -- tensors -------------------------------------------------------------------------------

    def tensor(self, number: int) -> TfliteTensor:
        return self.graph.tensors[number]

    def name(self, number: int) -> str:
        """The tensor of this number, known from now on; empty for -1."""
        if number < 0:
            return ""
        if number not in self.name_of:
            self.name_of[number] = self._declared(self.tensor(number))
        return self.name_of[number]

    def _declared(self, tensor: TfliteTensor) -> str:
        state = self.state
        label = short_name(tensor.name) or f"tensor{tensor.buffer}"
        name = state.fact_name(label)
        element = ELEMENT_OF_TYPE[tensor.type]
        shape = channels_first(tensor.shape)
        if not tensor.constant:
            return state.add(empty_is_constant(Fact(name, shape, element)))
        origin = state.origins.setdefault(tensor.buffer, name)
        scales = len(tensor.scales) if len(tensor.scales) > SCALE_BYTES and tensor.type in NARROW else 0
        value = tensor.value
        zeros = tensor.zero_channels
        return state.add(Fact(name, shape, element, True, value, origin, element, scales, zeros))

    def shape(self, number: int) -> tuple[int, ...]:
        """The shape as the file has it."""
        return self.tensor(number).shape

    def value(self, number: int) -> NDArray[Any] | None:
        """The value of a small constant; None where it is none, or left out."""
        return None if number < 0 else self.tensor(number).value

    def integers(self, number: int) -> tuple[int, ...] | None:
        """The integers of a small constant."""
        value = self.value(number)
        return None if value is None else tuple(int(each) for each in value.reshape(-1))

    def view(self, name: str, shape: Sequence[int]) -> str:
        """The tensor ``name`` under another shape, as a tensor of its own."""
        known = self.state.facts[name]
        if known.shape == tuple(shape):
            return name
        if prod(known.shape) != prod(shape):
            raise BadInput(f"{name!r} of shape {list(known.shape)} cannot be seen as {list(shape)}")
        array = None if known.array is None else known.array.reshape(tuple(shape))
        view = self.state.fact_name(f"{name}:view")
        fact = replace(known, name=view, shape=tuple(shape), array=array, zero_channels=0)
        self.state.add(fact)
        if not known.constant:
            self.node("Reshape", [name], [fact.name])
        return fact.name

    def as_filed(self, number: int) -> str:
        """A view of a tensor with its axes in the file's order."""
        return self.view(self.name(number), self.shape(number))

    def aligned(self, number: int, rank: int) -> str:
        """A view of an operand that is broadcast to ``rank`` axes, with as many of them."""
        shape = self.shape(number)
        if len(shape) >= rank or rank not in (4, 5) or prod(shape) == 1:
            return self.name(number)
        return self.view(self.name(number), channels_first((1,) * (rank - len(shape)) + shape))

    def fresh(self, label: str, shape: Sequence[int], like: int) -> str:
        """A new tensor of the type of tensor ``like``."""
        element = ELEMENT_OF_TYPE[self.tensor(like).type]
        return self.state.add(empty_is_constant(Fact(self.state.fact_name(label), tuple(shape), element)))

    # -- nodes ---------------------------------------------------------------------------------

    def begin(self, operator: TfliteOperator) -> None:
        """All nodes from here on are of ``operator``. Tensors that it reads and nothing makes hold what the
        last run left, where they are variable; else they are memory that it works in."""
        self._written = operator.name
        for number in operator.inputs:
            if number < 0 or number in self._made or self.tensor(number).constant:
                continue
            self._made.add(number)
            name = self.name(number)
            if not self.state.facts[name].elements:
                continue
            if self.tensor(number).variable:
                self.state.states.setdefault(name, (name, name))
            else:
                self.node(SCRATCH, [], [name], None, TFLITE)
        self._made.update(operator.outputs)

    def node(
        self,
        op: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attributes: Mapping[str, Any] | None = None,
        domain: str = "",
    ) -> OnnxNode:
        """Append a node, named after its first output."""
        name = unique_name(outputs[0] if outputs else self._written.lower(), self.state.names)
        given = tuple(inputs), tuple(outputs), attributes or {}
        self.nodes.append(OnnxNode(name, op, domain, *given, written=self._written))
        return self.nodes[-1]

    def outputs(self, operator: TfliteOperator) -> list[str]:
        """The names of an operator's outputs."""
        return [self.name(number) for number in operator.outputs]


def short_name(name: str) -> str:
    """The first of the names that a converter has joined with semicolons."""
    return name.split(";")[0]
