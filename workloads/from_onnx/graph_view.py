"""Who makes and who reads each tensor of a graph, for the rewrites that look at several nodes at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from chipmodel.records import dataclass
from workloads.from_onnx.graph import Fact, OnnxNode

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class GraphView:
    """The nodes of a graph or sub-graph by the tensors that they make and read."""

    facts: dict[str, Fact]
    """What is known of every tensor; a rewrite may change those of tensors that it alone touches."""
    producers: Mapping[str, OnnxNode]
    readers: Mapping[str, Sequence[OnnxNode]]
    kept: frozenset[str]
    """The results, which must exist even where no node reads them."""

    def only_reader(self, name: str) -> OnnxNode | None:
        """The node that alone reads a tensor; None where there are others, or it is a result."""
        readers = self.readers.get(name, ())
        return readers[0] if len(readers) == 1 and name not in self.kept else None

    def number(self, name: str) -> float | None:
        """The value of a constant of one element."""
        array = self.constant(name)
        return float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None

    def integers(self, name: str) -> tuple[int, ...] | None:
        """The integers of a small constant."""
        array = self.constant(name)
        return None if array is None else tuple(int(each) for each in array.reshape(-1))

    def constant(self, name: str) -> NDArray[Any] | None:
        """The value of a small constant; None for other tensors and those that are left out."""
        fact = self.facts.get(name)
        return fact.array if fact is not None and fact.constant else None


def view_of(nodes: Sequence[OnnxNode], facts: dict[str, Fact], kept: Iterable[str]) -> GraphView:
    """The view of ``nodes``, which are in execution order."""
    readers: dict[str, list[OnnxNode]] = {}
    for node in nodes:
        for name in dict.fromkeys(node.reads):
            readers.setdefault(name, []).append(node)
    producers = {name: node for node in nodes for name in node.writes}
    return GraphView(facts, producers, readers, frozenset(kept))
