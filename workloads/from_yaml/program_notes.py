"""Notes on the program that a YAML workload became."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chipmodel.model.program import If, Loop, Node, Program
from workloads.from_yaml.field_types import ActivatedOp
from workloads.from_yaml.names import NameTable


def notes_of(program: Program, names: NameTable) -> Iterator[str]:
    """Assumptions, and tensors that nothing reads."""
    if any(isinstance(op, ActivatedOp) and op.activation for _, op in names.nodes):
        yield "activation functions given as `activation:` are applied at no cost while the output is written"
    read = set(program.outputs)
    for node in _nodes(program.body):
        match node:
            case If():
                read |= {node.condition} if node.condition else set()
            case Loop():
                read |= set(node.carried)
            case _:
                read |= set(node.inputs)
    for name in program.tensors:
        if name not in read:
            kind = "input" if name in program.inputs else "result"
            yield f"nothing reads the {kind} '{name}'"


def _nodes(body: Sequence[Node]) -> Iterator[Node]:
    for node in body:
        yield node
        match node:
            case If():
                for arm in node.arms:
                    yield from _nodes(arm.body)
            case Loop():
                yield from _nodes(node.body)
            case _:
                pass
