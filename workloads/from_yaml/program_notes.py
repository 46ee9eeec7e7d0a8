"""Notes on the program that a YAML workload became."""

from __future__ import annotations

from collections.abc import Iterator

from chipmodel.model.program import Program, nodes, reads
from workloads.from_yaml.field_types import ActivatedOp
from workloads.from_yaml.names import NameTable


def notes_of(program: Program, names: NameTable) -> Iterator[str]:
    """Yield the assumptions, and the tensors that nothing reads."""
    if any(isinstance(op, ActivatedOp) and op.activation for _, op in names.nodes):
        yield "activation functions given as `activation:` are applied at no cost while the output is written"
    read = set(program.outputs)
    for node in nodes(program.body):
        read |= {*reads(node)}
    for name in program.tensors:
        if name not in read:
            kind = "input" if name in program.inputs else "result"
            yield f"nothing reads the {kind} '{name}'"
