"""Execute a program on numbers: the value of each tensor, slice by slice and iteration by iteration.

Only commutative kinds of ops, so that kind and operands are enough to know what an op computes.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy
from numpy.typing import NDArray

from chipmodel.model.program import If, Loop, Node, Op, Program

Array = NDArray[Any]
BINARY: Mapping[str, Callable[[Array, Array], Array]] = {
    "add": numpy.add,
    "mul": numpy.multiply,
    "max": numpy.maximum,
    "min": numpy.minimum,
}


class ProgramRun:
    """``weights`` are the constants by name; an ``if`` without a condition takes its first arm."""

    def __init__(self, program: Program, inputs: Mapping[str, Array], weights: Mapping[str, Array]) -> None:
        self.program = program
        self.weights = weights
        self.values: dict[str, Array] = {name: inputs[name].reshape(-1) for name in program.inputs}
        self.iterations: dict[str, int] = {}

    def body(self, body: Sequence[Node], iteration: int = 0) -> None:
        for node in body:
            match node:
                case Op():
                    self.op(node, iteration)
                case If():
                    taken = node.condition is None or self.values[node.condition].all()
                    self.body(node.arms[0 if taken else 1].body, iteration)
                case Loop():
                    for index in range(self.iterations.get(node.name, node.iterations)):
                        self.body(node.body, index)

    def op(self, op: Op, iteration: int) -> None:
        operands = [*(self.values[n] for n in op.inputs), *(self.weights[n].reshape(-1) for n in op.weights)]
        (out,) = op.outputs
        size = self.program.tensors[out].bytes
        match op.kind:
            case "allocate":
                self.values[out] = numpy.full(size, numpy.nan)
            case "counter":
                self.values[out] = numpy.array([iteration])
            case "collect":
                piece, whole = operands
                self.values[out] = whole.copy()
                self.values[out][iteration * len(piece) : (iteration + 1) * len(piece)] = piece
            case "slice":
                (whole,) = operands
                length = len(whole) // op.slices if op.sliced else size
                self.values[out] = whole[iteration * length : (iteration + 1) * length].copy()
            case "copy":
                (value,) = operands
                self.values[out] = numpy.resize(value, size)
            case "abs":
                (value,) = operands
                self.values[out] = abs(value)
            case kind:
                self.values[out] = reduce(BINARY[kind], operands)


def outputs(
    program: Program, inputs: Mapping[str, Array], weights: Mapping[str, Array], **iterations: int
) -> dict[str, Array]:
    """The values of the outputs, flat; ``iterations`` for loops that make fewer than their maximum."""
    run = ProgramRun(program, inputs, weights)
    run.iterations.update(iterations)
    run.body(program.body)
    return {name: run.values[name] for name in program.outputs}
