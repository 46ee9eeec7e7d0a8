"""Tensors that share memory: outputs in place of an input, and inputs of a concat in its output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from chipmodel.model.program import Program, ops
from chipmodel.passes.in_place import places_in_concat

Storages = tuple[dict[str, str], dict[str, int]]
"""The tensor whose memory each tensor shares, and the byte at which it begins there unless at 0."""


def overwrites(program: Program) -> dict[str, str]:
    """Each output with the input whose memory it takes. Both must be defined by a single op: what a loop
    carries or several arms define may be written again while the other of the two is still needed."""
    defined = Counter((*program.inputs, *(name for op in ops(program.body) for name in op.outputs)))
    pairs = ((op.outputs[0], op.overwrites) for op in ops(program.body) if op.overwrites)
    return {new: old for new, old in pairs if defined[new] == defined[old] == 1}


def absorbed(program: Program, overwrites: Mapping[str, str]) -> dict[str, str]:
    """Each input of a concat with the output that it may be made in. Tensors loaded from or stored to Psram
    keep a memory of their own."""
    fixed = {*program.inputs, *program.outputs}
    storage, _ = storages(program, overwrites, {})
    kept = {storage[name] for name in fixed}
    pairs = ((name, op.outputs[0]) for op in ops(program.body) for name in op.absorbs)
    return {name: whole for name, whole in pairs if storage[name] not in kept}


def storages(program: Program, overwrites: Mapping[str, str], absorbed: Mapping[str, str]) -> Storages:
    """The tensor whose memory each tensor shares, and the byte at which it begins there unless at 0."""

    def root(name: str) -> tuple[str, int]:
        start = 0
        while name in parents:
            name, inside = parents[name]
            start += inside
        return name, start

    parents = {new: (old, 0) for new, old in overwrites.items()}
    for op in ops(program.body):
        if not op.absorbs:
            continue
        places = places_in_concat(program, op)
        for name in op.absorbs:
            if absorbed.get(name) == op.outputs[0]:
                parents[root(name)[0]] = (op.outputs[0], places[name])
    found = {name: root(name) for name in program.tensors}
    within = {name: start for name, (_, start) in found.items() if start}
    return {name: whole for name, (whole, _) in found.items()}, within
