"""States: inputs whose value the next inference finds in an output, as key-value caches and states of RNNs.

``--state INPUT=OUTPUT`` names them, with a star that stands for the same text on both sides; names that
exporters give to key-value caches are known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd, prod

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from chipmodel.model.attributes import SliceRanges
from chipmodel.model.program import Node, Op, Program
from chipmodel.model.work import Vector
from chipmodel.records import dataclass
from chipmodel.rewrites.state_updates import elements, handed_on, touched, written_in_place

CACHES = (
    ("past_key_values.*", "present.*"),
    ("past_key_values.*", "present_key_values.*"),
    ("past_key_values_*", "present_key_values_*"),
    ("past_*", "present_*"),
    ("past.*", "present.*"),
)
"""Inputs and outputs that exporters name so: Hugging Face's Optimum (the first two), torch, ONNX Runtime."""


def parse_state_option(text: str) -> tuple[str, str]:
    """The input and the output of ``INPUT=OUTPUT``. Raises BadInput."""
    first, equals, last = text.strip().partition("=")
    if not (equals and first and last) or (first.count("*"), last.count("*")) not in ((0, 0), (1, 1)):
        hint = "write an input and the output with its next value: past=present, or 'past_*=present_*'"
        raise BadInput(f"--state {shown(text)} is not INPUT=OUTPUT", hint=hint)
    return first, last


def with_states(program: Program, given: Sequence[tuple[str, str]]) -> Program:
    """``program`` with the states that its file has, those that ``given`` names, and caches by their names.

    Raises BadInput for a pair that names no input or no output, and for one that is named twice.
    """
    found = dict(program.states)
    for pair in given:
        matches = _matches(program, *pair)
        if not matches:
            raise _unknown(program, *pair)
        for first, last in matches.items():
            if found.get(first, last) != last:
                outputs = f"{found[first]!r} and {last!r}"
                what = f"--state gives the input {first!r} two outputs, {outputs}"
                raise BadInput(what, hint="name each state once")
            found[first] = last
    for pair in CACHES:
        for first, last in _matches(program, *pair).items():
            if last not in found.values():
                found.setdefault(first, last)
    return replace(program, states=found) if found != dict(program.states) else program


@dataclass(frozen=True, slots=True)
class CarriedStates:
    """A program whose states begin as zeros and stay in ``kept`` tensors; ``begin`` runs first, once."""

    program: Program
    kept: tuple[str, ...]
    begin: tuple[Op, ...]


def carried_states(program: Program) -> CarriedStates:
    """``program`` with its states as tensors of its own, no longer inputs and outputs.

    A next value that cannot be written in place (``written_in_place``) is copied there as soon as nothing
    reads the one before, of a longer one the newest part. Raises BadInput where a next value does not have
    the shape of its state.
    """
    begin: list[Op] = []
    copies: list[Op] = []
    for first, last in program.states.items():
        in_place = written_in_place(program, first, last)
        if in_place is None:
            copies.append(_copy(program, first, last))
        program = in_place or program
        size = program.tensors[first]
        work = Vector(elements(size), 0, size.bytes)
        views = (size.shape,) if size.shape else ()
        begin.append(Op(f"{first}.begin", "fill", work, (), (first,), dtype=size.dtype, views=views))
    rest = tuple(name for name in program.outputs if name not in program.states.values())
    return CarriedStates(
        replace(
            program,
            inputs=tuple(name for name in program.inputs if name not in program.states),
            outputs=rest,
            body=_with_copies(program, copies),
            states={},
        ),
        tuple(program.states),
        tuple(begin),
    )


def _with_copies(program: Program, copies: Sequence[Op]) -> tuple[Node, ...]:
    """The body with each copy behind the last node that touches either of its tensors, so that the longer
    value does not live on; at the end where a state hands its value on to another one."""
    given_away = handed_on(program)
    behind: dict[int, list[Op]] = {}
    for copy in copies:
        names = {*copy.inputs, *copy.outputs}
        touching = (n for n, node in enumerate(program.body) if names & touched(node))
        last = len(program.body) - 1 if names & given_away else max(touching, default=-1)
        behind.setdefault(last, []).append(copy)
    body: list[Node] = [*behind.get(-1, ())]
    for number, node in enumerate(program.body):
        body += (node, *behind.get(number, ()))
    return tuple(body)


def _copy(program: Program, first: str, last: str) -> Op:
    """The op that keeps the next value of a state."""
    kept, made = program.tensors[first], program.tensors[last]
    size = elements(kept)
    work = Vector(size, kept.bytes, kept.bytes, rows=max(1, gcd(size, kept.bytes)))
    views = (made.shape, kept.shape) if kept.shape and made.shape else ()
    name = f"{first}.next"
    if made.bytes == kept.bytes:
        return Op(name, "copy", work, (last,), (first,), dtype=kept.dtype, views=views)
    longer = [
        axis for axis, sizes in enumerate(zip(kept.shape, made.shape, strict=False)) if len({*sizes}) > 1
    ]
    same_rank = len(kept.shape) == len(made.shape)
    if made.dtype != kept.dtype or not same_rank or len(longer) != 1 or made.bytes < kept.bytes:
        what = f"the state {first!r} has the shape {list(kept.shape)} and its next value {last!r}"
        raise BadInput(f"{what} {list(made.shape)}", hint="name an output of the same shape in --state")
    (axis,) = longer
    starts = tuple(made.shape[axis] - kept.shape[axis] if a == axis else 0 for a in range(len(kept.shape)))
    ranges = SliceRanges(starts, (1,) * len(kept.shape))
    work = replace(work, rows=max(1, prod(kept.shape[:axis])), attributes=ranges)
    return Op(name, "slice", work, (last,), (first,), dtype=kept.dtype, views=views)


def _matches(program: Program, first: str, last: str) -> Mapping[str, str]:
    """The inputs that a name or pattern means, each with its output."""
    if "*" not in first:
        return {first: last} if first in program.inputs and last in program.outputs else {}
    before, after = first.split("*")
    pattern = re.compile(f"{re.escape(before)}(.+){re.escape(after)}")
    pairs = ((name, pattern.fullmatch(name)) for name in program.inputs)
    named = {name: last.replace("*", found[1]) for name, found in pairs if found is not None}
    return {name: output for name, output in named.items() if output in program.outputs}


def _unknown(program: Program, first: str, last: str) -> BadInput:
    what = f"--state {first}={last} names no state"
    if "*" in first:
        inputs, outputs = ", ".join(program.inputs[:9]), ", ".join(program.outputs[:9])
        return BadInput(what, hint=f"inputs are {inputs}; outputs are {outputs}")
    missing, known = (first, program.inputs) if first not in program.inputs else (last, program.outputs)
    side = "input" if known is program.inputs else "output"
    return BadInput(f"{what}: there is no {side} {missing!r}", hint=suggest(missing, known, f"{side}s are"))
