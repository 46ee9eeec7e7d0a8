"""Programs written in Python: the keys of a YAML workload as methods and context managers, in a document
whose values know the line of code that gave them."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from chipmodel.errors import BadInput, Place
from chipmodel.files.yaml_tree import Document, YamlNode
from chipmodel.model.program import Program
from chipmodel.records import dataclass
from workloads.from_python.layers import Layers

Children: TypeAlias = dict[str | int, tuple[YamlNode, int, int]]
OURS = str(Path(__file__).parent)
"""Frames of this package are not the user's."""


class CodeMapping(dict[str, Any]):
    """A mapping of the document and the line of code that gave it, its parent's for what is inside."""

    def __init__(self, place: Place, **values: Any) -> None:
        super().__init__(**values)
        self.place = place


@dataclass(frozen=True, slots=True)
class CodeDocument(Document):
    """A document whose lines are numbers of ``places`` in Python files."""

    places: tuple[Place, ...] = ()

    def place(self, path: Sequence[str | int]) -> Place:
        """The line of code that gave the value at ``path``, or its nearest parent that exists."""
        return self.places[Document.place(self, path).line]


def document_of(data: CodeMapping) -> CodeDocument:
    """``data`` in the types that a file has: tuples as lists."""
    places = [data.place]
    root, _ = _node(data, 0, places)
    return CodeDocument(data.place.file, root.data, root, 0, 0, tuple(places))


def _node(value: Any, line: int, places: list[Place]) -> tuple[YamlNode, int]:
    """``value`` as a node, and its line; new lines are appended to ``places``."""
    if isinstance(value, CodeMapping):
        places.append(value.place)
        line = len(places) - 1
    children: Children = {}
    if isinstance(value, Mapping):
        named: Mapping[Any, Any] = value  # pyright: ignore[reportUnknownVariableType]
        for key, each in named.items():
            children[str(key)] = (*_node(each, line, places), 1)
        return _parent({key: node.data for key, (node, _, _) in children.items()}, children), line
    if isinstance(value, Sequence) and not isinstance(value, str):
        listed: Sequence[Any] = value  # pyright: ignore[reportUnknownVariableType]
        for index, each in enumerate(listed):
            children[index] = (*_node(each, line, places), 1)
        return _parent([node.data for node, _, _ in children.values()], children), line
    return YamlNode(value, {}, str(value)), line


def _parent(data: Any, children: Children) -> YamlNode:
    nodes = [node for node, _, _ in children.values()]
    height = 1 + max((node.height for node in nodes), default=0)
    return YamlNode(data, children, values=1 + sum(node.values for node in nodes), height=height)


def calling_line() -> Place:
    """The innermost line of code that is not of this package."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _ours(frame.f_code.co_filename):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno, 1) if frame else Place("Python")


def _ours(file: str) -> bool:
    return file.startswith(OURS) or Path(file).name == "contextlib.py"


Size: TypeAlias = Sequence[int] | int | str
"""A shape, or bytes (4096, "4KiB")."""
Iterations: TypeAlias = int | Mapping[str, int] | Mapping[int, float]
"""A number; ``{"min": 2, "max": 5}``, all equally likely; or the probability of each number."""


class Network(Layers):
    """A network as a list of ops, in execution order.

    Every method appends an op and returns the name of its output; without a tensor, an op reads the output of
    the op before. ``build`` makes the program and says what is wrong, with the line of code.
    """

    __slots__ = ("_blocks", "_data", "_numbers")

    def __init__(self, name: str, dtype: str = "int8") -> None:
        super().__init__()
        self._data = CodeMapping(calling_line(), name=name, dtype=dtype, inputs={}, ops=[])
        self._blocks: list[list[CodeMapping]] = [self._data["ops"]]
        self._numbers: Counter[str] = Counter()

    def input(self, name: str, size: Size, dtype: str | None = None) -> str:
        """Declare an input by its shape, or by its bytes; by default it has the network's ``dtype``."""
        spec: Any = size if dtype is None else CodeMapping(calling_line(), shape=size, dtype=dtype)
        self._data["inputs"][name] = spec
        return name

    def output(self, *tensors: str) -> None:
        """Declare outputs; without this call they are those of the last op."""
        self._data.setdefault("outputs", []).extend(tensors)

    @contextmanager
    def branch(self, name: str, condition: str | None = None) -> Generator[Arms]:
        """An ``if``: exactly one of the arms that the body adds runs. ``condition`` is the tensor that
        decides; by default that is decided outside the network."""
        op = CodeMapping(calling_line(), op="if", name=name, arms={}, outputs={})
        if condition is not None:
            op["condition"] = condition
        self._blocks[-1].append(op)
        yield Arms(self._blocks, op)

    @contextmanager
    def loop(
        self,
        name: str,
        iterations: Iterations,
        *,
        carry: Mapping[str, tuple[str, str]] | None = None,
        each: Mapping[str, str] | None = None,
        collect: Mapping[str, str] | None = None,
    ) -> Generator[None]:
        """A loop around the ops of the body; only tensors in ``carry`` and ``collect`` may be read after it.

        ``carry``: tensors that go from iteration to iteration, each with the one that has its first value and
          the one that has its next.
        ``each``: tensors that an iteration reads one slice of, along the first axis: ``{slice: tensor}``.
        ``collect``: tensors that the iterations make, stacked along a new first axis: ``{result: slice}``.
        """
        op = CodeMapping(calling_line(), op="loop", name=name, iterations=iterations, ops=[])
        op["carry"] = {key: {"from": first, "next": after} for key, (first, after) in (carry or {}).items()}
        op.update(each=dict(each or {}), collect=dict(collect or {}))
        self._blocks[-1].append(op)
        self._blocks.append(op["ops"])
        try:
            yield
        finally:
            self._blocks.pop()

    def build(self) -> Program:
        """The validated program. Raises BadInput with the line of code."""
        from workloads.from_yaml.program import program_of

        if len(self._blocks) > 1:
            raise BadInput("a loop or an arm is still open", hint="build the network after its with blocks")
        return program_of(document_of(self._data))

    def _append(
        self, kind: str, inputs: str | Sequence[str] | None, keys: Mapping[str, Any]
    ) -> tuple[str, ...]:
        self._numbers[kind] += 1
        op = CodeMapping(calling_line(), op=kind, name=f"{kind}_{self._numbers[kind]}")
        if inputs:
            single = isinstance(inputs, list | tuple) and len(inputs) == 1 and kind != "concat"
            op["in"] = inputs[0] if single else inputs
        op.update({key: value for key, value in keys.items() if value is not None})
        self._blocks[-1].append(op)
        out: Any = op.get("out", op["name"])
        return (out,) if isinstance(out, str) else tuple(out)


class Arms:
    """The arms of an ``if``, and what may be read after it."""

    __slots__ = ("_blocks", "_op")

    def __init__(self, blocks: list[list[CodeMapping]], op: CodeMapping) -> None:
        self._blocks = blocks
        self._op = op

    @contextmanager
    def arm(
        self,
        name: str,
        *,
        probability: float | None = None,
        exit: bool = False,  # noqa: A002 the key of the YAML format
    ) -> Generator[None]:
        """An arm with the ops of the body; an ``exit`` is an early one: what follows does not run."""
        arm = CodeMapping(calling_line(), ops=[], exit=exit)
        if probability is not None:
            arm["probability"] = probability
        self._op["arms"][name] = arm
        self._blocks.append(arm["ops"])
        try:
            yield
        finally:
            self._blocks.pop()

    def output(self, name: str, **tensors: str) -> str:
        """``name``, a tensor that may be read after the ``if``: in each arm, the tensor of that keyword."""
        self._op["outputs"][name] = tensors
        return name
