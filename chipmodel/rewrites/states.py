"""States: inputs whose value the next inference finds in an output, as key-value caches and states of RNNs.

``--state INPUT=OUTPUT`` names them, with a star that stands for the same text on both sides; names that
exporters give to key-value caches are known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd, prod

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from chipmodel.geometry.layout import IMAGE_AXES, Storage
from chipmodel.model.attributes import SliceRanges
from chipmodel.model.program import Node, Op, Program, Tensor, ops, reads, renamed, rewritten, with_ops
from chipmodel.model.work import Matmul, Vector
from chipmodel.rewrites.in_place import AT_START, places_in_concat

CACHES = (
    ("past_key_values.*", "present.*"),
    ("past_key_values.*", "present_key_values.*"),
    ("past_key_values_*", "present_key_values_*"),
    ("past_*", "present_*"),
    ("past.*", "present.*"),
)
"""Inputs and outputs that exporters name so: Hugging Face's Optimum (the first two), torch, ONNX Runtime."""


REPEATING = frozenset({"expand", "tile", "transpose"})
"""Kinds that may stand between a cache and the product that reads it."""


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

    An op that makes a state's next value after all have read the one before writes it where it stays. A cache
    that grows at its end is a ring: what is new takes the place of what is oldest. Other values are copied
    there as soon as nothing reads the one before, of a longer one the newest part. Raises BadInput where a
    next value does not have the shape of its state.
    """
    begin: list[Op] = []
    copies: list[Op] = []
    for first, last in program.states.items():
        if _written_last(program, first, last):
            program = _written_there(program, first, last)
        elif (in_a_ring := _as_ring(program, first, last)) is not None:
            program = in_a_ring
        else:
            copies.append(_copy(program, first, last))
        size = program.tensors[first]
        work = Vector(_elements(size), 0, size.bytes)
        views = (size.shape,) if size.shape else ()
        begin.append(Op(f"{first}.begin", "fill", work, (), (first,), dtype=size.dtype, views=views))
    rest = tuple(name for name in program.outputs if name not in program.states.values())
    return CarriedStates(
        replace(
            program,
            inputs=tuple(name for name in program.inputs if name not in program.states),
            outputs=rest or program.outputs,
            body=_with_copies(program, copies),
            states={},
        ),
        tuple(program.states),
        tuple(begin),
    )


def _with_copies(program: Program, copies: Sequence[Op]) -> tuple[Node, ...]:
    """The body with each copy behind the last node that touches either of its tensors, so that the longer
    value does not live on; at the end where a state hands its value on to another one."""
    handed_on = _handed_on(program)
    behind: dict[int, list[Op]] = {}
    for copy in copies:
        names = {*copy.inputs, *copy.outputs}
        touching = (n for n, node in enumerate(program.body) if names & _touched(node))
        last = len(program.body) - 1 if names & handed_on else max(touching, default=-1)
        behind.setdefault(last, []).append(copy)
    body: list[Node] = [*behind.get(-1, ())]
    for number, node in enumerate(program.body):
        body += (node, *behind.get(number, ()))
    return tuple(body)


def _elements(tensor: Tensor) -> int:
    return prod(tensor.shape) if tensor.shape else tensor.bytes


def _written_last(program: Program, first: str, last: str) -> bool:
    """Whether the op that makes ``last`` runs after all that read ``first``, and makes nothing else of it."""
    if program.tensors[first].bytes != program.tensors[last].bytes or last in program.inputs:
        return False
    if list(program.states.values()).count(last) > 1 or set(program.outputs) <= set(program.states.values()):
        return False
    places = [n for n, node in enumerate(program.body) if isinstance(node, Op) and last in node.outputs]
    touching = [n for n, node in enumerate(program.body) if first in _touched(node)]
    makers = sum(last in op.outputs for op in program.ops())
    return len(places) == makers == 1 and all(place < places[0] for place in touching)


def _touched(node: Node) -> set[str]:
    inside = (name for op in ops((node,)) for name in (*op.inputs, *op.outputs))
    return {*inside, *reads(node)}


def _written_there(program: Program, first: str, last: str) -> Program:
    tensors = {name: tensor for name, tensor in program.tensors.items() if name != last}
    names = {last: first}
    outputs = tuple(name for name in program.outputs if name != last)
    body = rewritten(program.body, lambda node: renamed(node, names))
    return replace(program, tensors=tensors, outputs=outputs, body=body)


def _as_ring(program: Program, first: str, last: str) -> Program | None:
    """``program`` with room for ``last`` where ``first`` was, into which what is new is written; None where
    ``last`` is no concat of ``first`` and of what follows, or where its order counts.

    Attention takes keys and values in any order, as it turns both alike; a convolution would not.
    """
    touching = [op for op in program.ops() if first in op.inputs or last in op.outputs]
    if len(touching) != 1 or touching[0] not in program.body or {first, last} & _handed_on(program):
        return None
    (joins,) = touching
    readers = [op for op in program.ops() if last in op.inputs]
    if not all(isinstance(op.work, Matmul) or op.kind in REPEATING for op in readers):
        return None
    if len(joins.inputs) != 2 or last in program.inputs:
        return None
    whole, new = program.tensors[last].bytes, program.tensors[joins.inputs[1]].bytes
    if not new or whole % new:
        return None
    tried = (program, _token_by_token(program, first, last))
    joined = (each for each in tried if places_in_concat(each, joins).get(first) == AT_START)
    stored = next(joined, None)
    return stored and _in_a_ring(stored, first, last, joins)


def _token_by_token(program: Program, first: str, last: str) -> Program:
    """``program`` with a cache of ``[1, heads, tokens, size]`` in the order of tokens, so that what is new
    lies in one piece. Products, which want the heads apart, read all of it for each part."""
    both = {name: program.tensors[name] for name in (first, last)}
    stored = {name: replace(each, storage=Storage(each.shape, "image")) for name, each in both.items()}

    def reading(op: Op) -> Op:
        own = {index for index, name in enumerate(op.inputs) if name == last}
        return replace(op, whole=tuple(sorted({*op.whole, *own}))) if isinstance(op.work, Matmul) else op

    if any(len(each.shape) != IMAGE_AXES for each in both.values()):
        return program
    body = with_ops(program.body, lambda op: reading(op) if last in op.inputs else op)
    return replace(program, tensors={**program.tensors, **stored}, body=body)


def _in_a_ring(program: Program, first: str, last: str, joins: Op) -> Program:
    """``program`` with an op in place of the concat ``joins`` that writes what is new."""
    whole, new = program.tensors[last], program.tensors[joins.inputs[1]]
    work = Vector(_elements(new), new.bytes, new.bytes)
    names, views = (new.name, first), (new.shape, new.shape, new.shape)
    written = replace(joins, kind="collect", work=work, inputs=names, outputs=(last,), views=views)
    written = replace(written, sliced=last, slices=whole.bytes // new.bytes)
    tensors = {**program.tensors, first: replace(whole, name=first)}
    body = tuple(written if node is joins else node for node in program.body)
    return _written_there(replace(program, tensors=tensors, body=body), first, last)


def _handed_on(program: Program) -> set[str]:
    """States that are the next value of another one."""
    return set(program.states) & set(program.states.values())


def _copy(program: Program, first: str, last: str) -> Op:
    """The op that keeps the next value of a state."""
    kept, made = program.tensors[first], program.tensors[last]
    elements = _elements(kept)
    work = Vector(elements, kept.bytes, kept.bytes, rows=max(1, gcd(elements, kept.bytes)))
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
