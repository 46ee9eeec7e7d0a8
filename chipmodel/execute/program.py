"""Evaluate a whole program op by op, without a chip: what any plan of it must compute."""

from __future__ import annotations

from collections.abc import Mapping

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.request import RecurrentState
from chipmodel.execute.steps import Evaluate
from chipmodel.execute.weights import weight_block
from chipmodel.geometry.interval import Interval
from chipmodel.model.program import Body, If, Loop, Op, Program

_NO_CHOICES: Mapping[str, str] = {}


def evaluate_program(
    program: Program,
    inputs: Mapping[str, Bytes],
    weights: Mapping[str, Bytes],
    path: Mapping[str, str] = _NO_CHOICES,
    evaluate: Evaluate = evaluate,
) -> dict[str, Bytes]:
    """All bytes of each output of ``program``, by name, from those of its inputs and of each weight.

    ``path`` gives the arm of each ``if`` and the iterations of each ``loop`` by name; by default the first
    arm, and the loop's own iterations. An output that no op on the path writes is left out.
    """
    run = _ProgramRun(program, dict(inputs), weights, path, evaluate)
    run.body(program.body, 0)
    return {name: run.tensors[name] for name in program.outputs if name in run.tensors}


class _ProgramRun:
    def __init__(
        self,
        program: Program,
        tensors: dict[str, Bytes],
        weights: Mapping[str, Bytes],
        path: Mapping[str, str],
        evaluate: Evaluate,
    ) -> None:
        self.program = program
        self.tensors = tensors
        self.path = path
        self.evaluate = evaluate
        self.blocks = {op.name: weight_block(program, op, weights) for op in program.ops()}

    def body(self, body: Body, iteration: int) -> None:
        """Run nodes; ``iteration`` is that of the innermost loop."""
        for node in body:
            match node:
                case Op():
                    self.op(node, iteration)
                case If():
                    taken = self.path.get(node.name, node.arms[0].name)
                    self.body(next(arm.body for arm in node.arms if arm.name == taken), iteration)
                case Loop():
                    for number in range(int(self.path.get(node.name, node.iterations))):
                        self.body(node.body, number)

    def op(self, op: Op, iteration: int) -> None:
        given = [self.tensors[name] for name in op.inputs]
        rows, channels = Interval(0, op.work.rows), Interval(0, op.work.channels)
        block, state = self.blocks[op.name], RecurrentState()
        written = self.evaluate(op, self.program, given, block, rows, channels, iteration, state)
        self.tensors.update(zip(op.outputs, written, strict=True))
