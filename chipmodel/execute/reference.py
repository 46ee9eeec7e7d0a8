"""The plain run of a network, op by op without a chip, with all that a plan's run is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from chipmodel.execute.byte_arrays import Bytes, random_bytes
from chipmodel.execute.op_part import Banded, Evaluate, whole_op
from chipmodel.model.program import Body, If, Loop, Op, Program
from chipmodel.records import dataclass


def weight_block(program: Program, op: Op, weights: Mapping[str, Bytes]) -> Bytes:
    """All weights of ``op``, for each output channel its share of each weight; the whole table of an op that
    gathers. Where a weight has no whole number of bytes for each channel, they follow one another uncut."""
    own = [weights[name] for name in op.constants]
    channels = op.work.channels
    if not own:
        return np.zeros(0, np.uint8)
    if op.gathers or len(own) == 1 or any(len(each) % channels for each in own):
        return np.concatenate(own)
    return np.concatenate([each.reshape(channels, -1) for each in own], axis=1).reshape(-1)


def random_weights(program: Program, seed: int = 0) -> dict[str, Bytes]:
    """Pseudo-random bytes for every weight, by name."""
    return {name: random_bytes(f"weight {name}", w.bytes, seed) for name, w in program.weights.items()}


def random_inputs(program: Program, seed: int = 0) -> dict[str, Bytes]:
    """Pseudo-random bytes for every input of ``program``, by name."""
    sizes = {name: program.tensors[name].bytes for name in program.inputs}
    return {name: random_bytes(f"input {name}", size, seed) for name, size in sizes.items()}


@dataclass
class Reference:
    """What a run makes. ``made`` are the outputs of each run of each op, ``decided`` the contents of the
    conditions of each branch, both in the order of the runs."""

    tensors: dict[str, Bytes]
    made: dict[str, list[dict[str, Bytes]]] = field(default_factory=dict[str, list[dict[str, Bytes]]])
    decided: dict[str, list[Bytes]] = field(default_factory=dict[str, list[Bytes]])


def reference(
    program: Program,
    inputs: Mapping[str, Bytes],
    weights: Mapping[str, Bytes],
    path: Mapping[str, str],
    evaluate: Evaluate,
    banded: Banded,
    unwritten: int = 0,
) -> Reference:
    """Run ``program`` along ``path`` (all branches and loops); allocated bytes begin as ``unwritten``."""
    run = _PlainRun(program, weights, path, evaluate, banded, unwritten, Reference(dict(inputs)))
    run.body(program.body, 0)
    return run.found


@dataclass(frozen=True, slots=True)
class _PlainRun:
    program: Program
    weights: Mapping[str, Bytes]
    path: Mapping[str, str]
    evaluate: Evaluate
    banded: Banded
    unwritten: int
    found: Reference

    def body(self, body: Body, iteration: int) -> None:
        """Run nodes; ``iteration`` is that of the innermost loop."""
        for node in body:
            match node:
                case Op():
                    self.op(node, iteration)
                case If():
                    if node.condition is not None:
                        content = self.found.tensors[node.condition]
                        self.found.decided.setdefault(node.name, []).append(content)
                    self.body(next(a.body for a in node.arms if a.name == self.path[node.name]), iteration)
                case Loop():
                    for number in range(int(self.path[node.name])):
                        self.body(node.body, number)

    def op(self, op: Op, iteration: int) -> None:
        if op.allocates:
            sizes = {name: self.program.tensors[name].bytes for name in op.outputs}
            made = {name: np.full(size, self.unwritten, np.uint8) for name, size in sizes.items()}
        else:
            given = [self.found.tensors[name] for name in op.inputs]
            block = weight_block(self.program, op, self.weights)
            part = whole_op(op, self.banded, iteration)
            contents = self.evaluate(op, self.program, given, block, part)
            made = dict(zip(op.outputs, contents, strict=True))
        self.found.tensors.update(made)
        self.found.made.setdefault(op.name, []).append(made)


def defined_bytes(contents: Sequence[Bytes]) -> NDArray[np.bool_]:
    """The bytes of a tensor that are the same in all of several runs, of which each fills what is allocated
    and not written with something else."""
    same = np.ones(len(contents[0]), np.bool_)
    for each in contents[1:]:
        same &= contents[0] == each
    return same
