"""Recurrent layers one after another, for tests."""

from dataclasses import replace
from typing import Literal

from chipmodel.model.program import Op, Program, with_ops
from chipmodel.model.work import Recurrent
from workloads.build.builder import ProgramBuilder

STEPS, HIDDEN = 8, 5
Kind = Literal["rnn", "gru", "lstm"]


def stack(
    layers: int,
    kind: Kind,
    dtype: str = "int8",
    batch: int = 1,
    steps: int = STEPS,
    backward: int | None = None,
) -> Program:
    """``layers`` layers ``l0``, ``l1``, ... of ``HIDDEN`` units; number ``backward`` runs backwards."""
    builder = ProgramBuilder("stack", dtype=dtype)
    x = builder.input("x", (steps, batch, HIDDEN))
    for number in range(layers):
        made = builder.recurrent(f"l{number}", x, HIDDEN, kind)
        x = builder.reshape(made, (steps, batch, HIDDEN))
    builder.output(x)
    program = builder.build()
    return replace(program, body=with_ops(program.body, lambda op: _turned(op, f"l{backward}")))


def _turned(op: Op, name: str) -> Op:
    if op.name != name or not isinstance(op.work, Recurrent):
        return op
    return replace(op, work=replace(op.work, backward=True))
