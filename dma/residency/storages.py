"""Tensors that share memory: outputs in place of an input, and inputs of a concat in its output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from chipmodel.model.program import Op, Program, ops, with_ops
from chipmodel.rewrites.in_place import AT_START, PlaceInTensor, place_within, places_in_concat

Storages = tuple[dict[str, str], dict[str, PlaceInTensor]]
"""The tensor whose memory each tensor shares, and its place there unless it has all of it."""


def overwrites(program: Program) -> dict[str, str]:
    """Return each output with the input whose memory it takes. Both must be defined by a single op: what a
    loop carries or several arms define may be written again while the other of the two is still needed."""
    defined = Counter((*program.inputs, *(name for op in ops(program.body) for name in op.outputs)))
    pairs = ((op.outputs[0], op.overwrites) for op in ops(program.body) if op.overwrites)
    return {new: old for new, old in pairs if defined[new] == defined[old] == 1}


def absorbed(program: Program, overwrites: Mapping[str, str]) -> dict[str, str]:
    """Return each input of a concat with the output that it may be made in. Tensors loaded from or stored to
    Psram keep a memory of their own, and so do those whose runs would have no single pitch in the memory that
    several concats share, or that tensors share row by row."""
    fixed = {*program.inputs, *program.outputs}
    storage, _ = storages(program, overwrites, {})
    shared = {
        storage[new] for op in ops(program.body) if op.by_rows for new in op.outputs if new in overwrites
    }
    kept = {storage[name] for name in fixed} | shared
    pairs = ((name, op.outputs[0]) for op in ops(program.body) for name in op.absorbs)
    found = {n: whole for n, whole in pairs if storage[n] not in kept and storage[whole] not in shared}
    while True:
        places = _places(program, overwrites, found)[1]
        scattered = [name for name in found if places[name] is None]
        if not scattered:
            return found
        for name in scattered:
            del found[name]


def tensors_within(program: Program) -> dict[str, str]:
    """Return the tensors that are made in the output of a concat, by name, with that output."""
    taken = overwrites(program)
    places = absorbed(program, taken)
    if not places:
        return {}
    storage, _ = storages(program, taken, places)
    outer = {storage[name] for name in places}
    return {name: whole for name, whole in storage.items() if whole in outer and whole != name}


def with_whole_concats(program: Program, most: int) -> Program:
    """Return ``program`` with those concats alone that have all of their inputs made in their output, of
    ``most`` bytes. What lies there has not the memory of a program's input."""
    pieces = {name for op in program.ops() if op.absorbs and most for name in op.absorbs}

    def apart(op: Op) -> Op:
        taken = op.overwrites in program.inputs and not pieces.isdisjoint(op.outputs)
        return replace(op, overwrites=None) if taken else op

    program = replace(program, body=with_ops(program.body, apart))
    within = tensors_within(program)

    def is_whole(op: Op) -> bool:
        size = sum(program.tensors[within.get(name, name)].bytes for name in op.outputs)
        return within.keys() >= {*op.inputs} and size <= most

    def changed(op: Op) -> Op:
        return op if not op.absorbs or is_whole(op) else replace(op, absorbs=())

    return replace(program, body=with_ops(program.body, changed))


def storages(program: Program, overwrites: Mapping[str, str], absorbed: Mapping[str, str]) -> Storages:
    """Return the tensor whose memory each tensor shares, and its place there unless it has all of it."""
    storage, places = _places(program, overwrites, absorbed)
    return storage, {name: place for name, place in places.items() if place not in (None, AT_START)}


def _places(
    program: Program, overwrites: Mapping[str, str], absorbed: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, PlaceInTensor | None]]:
    """The tensor whose memory each tensor shares, and its place there; None for more than one pitch."""

    def root(name: str) -> tuple[str, PlaceInTensor | None]:
        place: PlaceInTensor | None = AT_START
        size = program.tensors[name].bytes
        name = first.get(name, name)
        while name in parents:
            outer_name, outer = parents[name]
            if place is not None:
                place = place_within(place, size, outer, program.tensors[name].bytes)
            name = first.get(outer_name, outer_name)
        return name, place

    # The memory of a long chain in place is found in one step, as what is overwritten comes before.
    first: dict[str, str] = {}
    for new, old in overwrites.items():
        first[new] = first.get(old, old)
    parents: dict[str, tuple[str, PlaceInTensor]] = {}
    for op in ops(program.body):
        if not op.absorbs:
            continue
        places = places_in_concat(program, op)
        for name in op.absorbs:
            if absorbed.get(name) == op.outputs[0]:
                parents[root(name)[0]] = (op.outputs[0], places[name])
    found = {name: root(name) for name in program.tensors}
    return (
        {name: whole for name, (whole, _) in found.items()},
        {name: place for name, (_, place) in found.items()},
    )
