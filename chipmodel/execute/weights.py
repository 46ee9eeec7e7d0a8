"""Weight blocks: the weights of an op in the order in which they lie in Psram."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chipmodel.execute.byte_arrays import Bytes, random_bytes
from chipmodel.model.program import Op, Program


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
