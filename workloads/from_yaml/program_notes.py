"""What the reader of a YAML workload should know of the program that it became."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chipmodel.model.program import If, Loop, Node, Program
from workloads.from_yaml.field_types import Activated
from workloads.from_yaml.names import Names


def notes_of(program: Program, names: Names) -> Iterator[str]:
    """What was assumed, and which tensors nothing reads."""
    if any(isinstance(op, Activated) and op.activation for _, op in names.nodes):
        yield "activations written as `activation:` are applied as the output is written, at no cost"
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
