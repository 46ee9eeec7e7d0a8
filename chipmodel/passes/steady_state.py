"""A network that runs again and again: its inferences as the iterations of one loop around the whole program.

Each input becomes a stack of which every inference reads a slice of its own, each output one that it
writes a slice of, so what is new comes from Psram every time and results go there; weights may stay for all
inferences. From there on it is a loop like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain, count
from math import prod

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown
from chipmodel.model.program import Arm, If, Loop, Node, Op, Program, Tensor, ops
from chipmodel.model.work import Vector

LOOP = "inferences"
"""The loop's name."""
MOST_INFERENCES = 100_000


def steady(program: Program, inferences: int) -> Program:
    """``program`` so many times, one inference after another; tensors and weights keep their names.

    The one op that reads an input takes its slice from Psram itself; where there are several, a ``slice`` op
    in front makes a tensor of it. Likewise outputs, and a ``collect`` op. Raises BadInput for fewer than two
    inferences, and where something is called ``inferences`` already.
    """
    _refuse(program, inferences)
    inputs = [name for name in program.inputs if program.tensors[name].bytes]
    outputs = [name for name in program.outputs if program.tensors[name].bytes]
    own: dict[str, str] = {}
    for name in inputs:
        reader = _only_reader(program, name)
        if reader is not None and reader not in own:
            own[reader] = name
    for name in outputs:
        maker = _only_maker(program, name)
        if maker is not None and maker not in own:
            own[maker] = name
    indirect = (name for name in (*inputs, *outputs) if name not in own.values())
    results = {n: _free(f"{n}.results", program.tensors) if n in inputs else n for n in outputs}
    pieces = {name: _free(f"{name}.now", program.tensors) for name in indirect}
    body = [
        *(_slice(program, name, pieces[name], inferences) for name in inputs if name in pieces),
        *(_of_inference(node, own, pieces, inferences) for node in program.body),
        *(_collect(program, n, pieces[n], results[n], inferences) for n in outputs if n in pieces),
    ]
    called = {**{name: name for name in inputs}, **{stack: name for name, stack in results.items()}}
    stacks = (_stack(program.tensors[name], stack, inferences) for stack, name in called.items())
    renamed = (replace(program.tensors[name], name=piece) for name, piece in pieces.items())
    room = (_room(program, stack) for stack in results.values())
    return replace(
        program,
        tensors={**program.tensors, **{tensor.name: tensor for tensor in (*stacks, *renamed)}},
        outputs=tuple(results.get(name, name) for name in program.outputs),
        body=(*room, Loop(LOOP, inferences, tuple(body), tuple(results.values()))),
        inferences=inferences,
    )


def parse_inferences(text: str) -> int:
    """The number of inferences that a user wrote. Raises BadInput for what is none."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MOST_INFERENCES))):
        raise _no_number(text)
    return int(text)


def _no_number(text: str) -> BadInput:
    hint = f"2 to {MOST_INFERENCES:,}, behind WORKLOAD: --steady-state 20; leave it out for a single one"
    return BadInput(f"{shown(text)} is no number of inferences one after another", hint=hint)


def inferences_of(program: Program, path: Mapping[str, str]) -> int:
    """How many inferences a run along ``path`` (iterations by loop) makes."""
    return int(path[LOOP]) if program.inferences > 1 else 1


def unrolled(program: Program, inferences: int | None = None) -> Program:
    """The program of ``steady`` without its loop: every inference, or so many, with tensors and ops of its
    own, which are called ``NAME@1``, ``NAME@2`` ..., and the weights of all. No slices, so what holds for it
    holds for every way to bring them. Branches and loops keep their names, so that a path decides for all.
    Another program is its own."""
    if program.inferences == 1:
        return program
    every = range(1, (program.inferences if inferences is None else inferences) + 1)
    loop = next(node for node in program.body if isinstance(node, Loop))
    inside = dict.fromkeys(name for op in ops(loop.body) for name in (*op.inputs, *op.outputs))
    stacks = {*program.inputs, *program.outputs}
    tensors: dict[str, Tensor] = {}
    body: list[Node] = []
    for number in every:
        names = {name: f"{name}@{number}" for name in inside}
        for name in inside:
            tensor = program.tensors[name]
            share = program.inferences if name in stacks else 1
            tensors[names[name]] = replace(tensor, name=names[name], bytes=tensor.bytes // share)
        body += (_alone(node, names, stacks, number) for node in loop.body)
    return replace(
        program,
        tensors=tensors,
        inputs=tuple(f"{name}@{n}" for name in program.inputs if name in inside for n in every),
        outputs=tuple(f"{name}@{n}" for name in program.outputs if name in inside for n in every),
        body=tuple(body),
        inferences=1,
    )


def _refuse(program: Program, inferences: int) -> None:
    if not 2 <= inferences <= MOST_INFERENCES:
        raise _no_number(str(inferences))
    names = {node.name for node in _nodes(program.body)}
    if LOOP in names:
        hint = "leave out --steady-state, or give it another name"
        raise BadInput(f"there is an op, if or loop called {LOOP!r} already", hint=hint)


def _nodes(body: tuple[Node, ...]) -> Iterator[Node]:
    for node in body:
        yield node
        inner = [arm.body for arm in node.arms] if isinstance(node, If) else []
        for nodes in [node.body] if isinstance(node, Loop) else inner:
            yield from _nodes(nodes)


def _named(program: Program) -> set[str]:
    """Tensors that branches and loops name."""
    nodes = list(_nodes(program.body))
    carried = {name for node in nodes if isinstance(node, Loop) for name in node.carried}
    return carried | {node.condition for node in nodes if isinstance(node, If) and node.condition}


def _only_reader(program: Program, name: str) -> str | None:
    """The op that alone touches an input, once in every inference, and neither overwrites nor slices it."""
    users = [op for op in ops(program.body) if name in (*op.inputs, *op.outputs)]
    if len(users) != 1 or users[0] not in program.body or name in _named(program) or name in program.outputs:
        return None
    (op,) = users
    alone = op.inputs.count(name) == 1 and name not in op.outputs and op.sliced is None
    return op.name if alone and name != op.overwrites and name not in op.absorbs else None


def _only_maker(program: Program, name: str) -> str | None:
    """The op that alone touches an output, in every inference."""
    users = [op for op in ops(program.body) if name in (*op.inputs, *op.outputs)]
    if len(users) != 1 or users[0] not in program.body or name in _named(program) or name in program.inputs:
        return None
    (op,) = users
    return op.name if name not in op.inputs and op.sliced is None and not op.allocates else None


def _stack(tensor: Tensor, name: str, inferences: int) -> Tensor:
    shape = (inferences, *tensor.shape) if tensor.shape else ()
    return replace(tensor, name=name, bytes=tensor.bytes * inferences, shape=shape)


def _free(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name}.{number}" for number in count(2))
    return next(each for each in chain((name,), numbered) if each not in taken)


def _called(program: Program, name: str) -> str:
    """A name for an op that no other has."""
    return _free(name, {op.name for op in ops(program.body)})


def _room(program: Program, name: str) -> Op:
    called = _called(program, f"{name}.room")
    return Op(called, "allocate", Vector(0, 0, 0), (), (name,), cycles=0)


def _slice(program: Program, name: str, piece: str, inferences: int) -> Op:
    work = _copied(program.tensors[name])
    called = _called(program, f"{name}.slice")
    return Op(called, "slice", work, (name,), (piece,), sliced=name, slices=inferences)


def _collect(program: Program, name: str, piece: str, stack: str, inferences: int) -> Op:
    work = _copied(program.tensors[name])
    called = _called(program, f"{name}.collect")
    return Op(called, "collect", work, (piece, stack), (stack,), sliced=stack, slices=inferences)


def _copied(tensor: Tensor) -> Vector:
    elements = prod(tensor.shape) if tensor.shape else tensor.bytes
    return Vector(elements, tensor.bytes, tensor.bytes, rows=max(1, elements))


def _of_inference(node: Node, own: Mapping[str, str], pieces: Mapping[str, str], inferences: int) -> Node:
    """``node`` with the slices of the ops in ``own``, by name, and tensors called as in ``pieces``."""
    node = _renamed(node, pieces)
    if not isinstance(node, Op) or node.name not in own:
        return node
    name = own[node.name]
    node = replace(node, sliced=name, slices=inferences)
    if name not in node.outputs:
        return node
    # What goes to Psram slice by slice takes nobody's memory.
    keeps = name == node.outputs[0]
    return replace(
        node,
        inputs=(*node.inputs, name),
        overwrites=None if keeps else node.overwrites,
        absorbs=() if keeps else node.absorbs,
    )


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    def called(every: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(name, name) for name in every)

    match node:
        case Op():
            return replace(
                node,
                inputs=called(node.inputs),
                outputs=called(node.outputs),
                absorbs=called(node.absorbs),
                overwrites=node.overwrites and names.get(node.overwrites, node.overwrites),
                sliced=node.sliced and names.get(node.sliced, node.sliced),
            )
        case If():
            arms = tuple(
                Arm(arm.name, tuple(_renamed(inner, names) for inner in arm.body), arm.probability)
                for arm in node.arms
            )
            return replace(
                node, arms=arms, condition=node.condition and names.get(node.condition, node.condition)
            )
        case Loop():
            body = tuple(_renamed(inner, names) for inner in node.body)
            return replace(node, body=body, carried=called(node.carried))


def _alone(node: Node, names: Mapping[str, str], stacks: Collection[str], number: int) -> Node:
    """``node`` of inference ``number``."""
    return _unsliced(_renamed(node, names), {names[name] for name in stacks if name in names}, number)


def _unsliced(node: Node, stacks: Collection[str], number: int) -> Node:
    match node:
        case Op():
            node = replace(node, name=f"{node.name}@{number}")
            if node.sliced not in stacks:
                return node
            inputs = tuple(name for name in node.inputs if name != node.sliced or not node.collects)
            return replace(node, inputs=inputs, sliced=None, slices=1)
        case If():
            arms = (
                replace(arm, body=tuple(_unsliced(inner, stacks, number) for inner in arm.body))
                for arm in node.arms
            )
            return replace(node, arms=tuple(arms))
        case Loop():
            return replace(node, body=tuple(_unsliced(inner, stacks, number) for inner in node.body))
