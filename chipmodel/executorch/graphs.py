"""What is read of ExecuTorch's graphs: specs of tensors, nodes, and the submodules that a node runs.

These are the attributes that ExecuTorch's classes have; nothing of ExecuTorch or torch is imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol, cast


class PlannedSpec(Protocol):
    """``executorch.exir.tensor.TensorSpec``: bytes to place, and where they lie. Compared by identity."""

    lifetime: list[int | None]
    """Indices of the first and the last node that refer to it, both included."""
    mem_id: int | None
    mem_offset: int | None
    mem_obj_id: int | None
    storage_base: PlannedSpec | None
    """The spec within whose bytes this one lies; None for bytes of its own."""
    storage_base_offset: int

    @property
    def allocated_memory(self) -> int:
        """The bytes of a tensor, rounded up to the alignment."""
        ...

    def realign(self, new_alignment: int) -> int:
        """Set the alignment and return ``allocated_memory``."""
        ...


class FxNode(Protocol):
    """``torch.fx.Node``."""

    op: str
    target: object
    args: tuple[object, ...]
    meta: dict[str, object]


class FxGraph(Protocol):
    """``torch.fx.Graph``."""

    @property
    def nodes(self) -> Iterable[FxNode]: ...


class FxModule(Protocol):
    """``torch.fx.GraphModule``; its submodules are attributes."""

    meta: dict[str, object]

    @property
    def graph(self) -> FxGraph: ...


def leaves(tree: object) -> Iterator[object]:
    """The leaves of nested tuples, lists and dictionaries, None included, in torch's order."""
    if isinstance(tree, tuple | list):
        for each in cast("Iterable[object]", tree):
            yield from leaves(each)
    elif isinstance(tree, Mapping):
        for each in cast("Mapping[object, object]", tree).values():
            yield from leaves(each)
    else:
        yield tree


def bytes_owner(leaf: object) -> PlannedSpec | None:
    """The spec whose memory a leaf of ``meta["spec"]`` has: for a view its base; None for no tensor."""
    owner = getattr(leaf, "_base", leaf)
    return cast("PlannedSpec", owner) if hasattr(owner, "lifetime") and hasattr(owner, "mem_offset") else None


def is_view(node: FxNode) -> bool:
    """Whether a node is a ``memory.view``: it is emitted as a tensor with its base's planned address."""
    return any(hasattr(leaf, "_base") for leaf in leaves(node.meta.get("spec")))


def specs_of(tree: object) -> list[PlannedSpec | None]:
    """The specs of the nodes (or specs) that are the leaves of ``tree``; None for what is no tensor.

    A node with several results, each a leaf, gives all of them.
    """
    specs: list[PlannedSpec | None] = []
    for leaf in leaves(tree):
        meta = cast("dict[str, object] | None", getattr(leaf, "meta", None))
        inner = [leaf] if meta is None else leaves(meta.get("spec"))
        specs += [bytes_owner(each) for each in inner]
    return specs


def operation(node: FxNode) -> str:
    """The name of what a node calls: ``cond``, ``while_loop``, ``map_impl``, ``scan``, ...; "" for others."""
    return str(getattr(node.target, "__name__", "")) if node.op == "call_function" else ""


def submodules(module: FxModule, node: FxNode) -> list[FxModule]:
    """The graphs that are arguments of a node of ``module``, in order."""
    if node.op != "call_function":
        return []
    modules: list[FxModule] = []
    for arg in node.args:
        if getattr(arg, "op", "") == "get_attr":
            inner = getattr(module, str(getattr(arg, "target", "")), None)
            if hasattr(inner, "graph"):
                modules.append(cast("FxModule", inner))
    return modules
