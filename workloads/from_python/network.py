"""Programs written in Python: the keys of a YAML workload as methods and context managers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from chipmodel.errors import BadInput
from chipmodel.model.program import Program
from workloads.from_python.document import CodeMapping, calling_line, document_of
from workloads.from_python.layers import Layers

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
        self, kind: str, inputs: str | Sequence[str] | None, keys: Mapping[str, Any], **more: Any
    ) -> tuple[str, ...]:
        self._numbers[kind] += 1
        op = CodeMapping(calling_line(), op=kind, name=f"{kind}_{self._numbers[kind]}")
        if inputs:
            single = not isinstance(inputs, str) and len(inputs) == 1 and kind != "concat"
            op["in"] = inputs[0] if single else inputs
        op.update({key: value for key, value in {**keys, **more}.items() if value is not None})
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
        """An arm with the ops of the body. With ``exit`` it is an early exit: what follows the ``if`` does
        not run."""
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
