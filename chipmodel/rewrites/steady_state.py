"""A network that runs again and again: its inferences as the iterations of one loop around the whole program.

Each input becomes a stack of which every inference reads one slice, and each output a stack of which it
writes one slice, so new data comes from Psram in every inference and results go there; weights may stay for
all inferences. For every later stage it is a loop like any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import chain, count
from math import gcd, prod

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown
from chipmodel.model.program import Loop, Node, Op, Program, Tensor, ops, reads, renamed, rewritten
from chipmodel.model.work import Vector
from chipmodel.records import dataclass
from chipmodel.rewrites.states import carried_states

LOOP = "inferences"
"""The loop's name."""
KEPT = "@kept"
"""Behind the name of a ring in an unrolled program."""
MAX_INFERENCES = 100_000
"""Assumed: far more than a run needs to reach its steady state, and few enough to simulate."""


def steady(program: Program, inferences: int) -> Program:
    """``program`` run ``inferences`` times in a row; tensors and weights keep their names.

    An op that alone reads an input takes its slice from Psram itself; otherwise a ``slice`` op in front makes
    a tensor of the slice. An op that alone makes an output stores its slice itself; otherwise a ``collect``
    op does. Raises BadInput for fewer than two inferences, and where a node is named ``inferences`` already.
    """
    _refuse(program, inferences)
    states = carried_states(program)
    slicing = _slicing(states.program, inferences)
    body = (*slicing.slice_ops(), *slicing.body(), *slicing.collect_ops())
    carried = (*slicing.results.values(), *states.kept)
    return replace(
        states.program,
        tensors=slicing.tensors(),
        outputs=tuple(slicing.results.get(name, name) for name in states.program.outputs),
        body=(*slicing.allocate_ops(), *states.begin, Loop(LOOP, inferences, body, carried)),
        inferences=inferences,
    )


@dataclass(frozen=True, slots=True)
class _Slicing:
    """How the inputs and outputs of ``program``, those that have bytes, are moved slice by slice."""

    program: Program
    inferences: int
    inputs: tuple[str, ...]
    direct: Mapping[str, str]
    """For each op's name, the one tensor of which it moves a slice itself."""
    pieces: Mapping[str, str]
    """Every other input and output, with the name of the tensor that holds one slice of it."""
    results: Mapping[str, str]
    """For each output, the name of its stack."""

    def tensors(self) -> dict[str, Tensor]:
        """All tensors: those of the program, with stacks in place of its inputs and outputs, and pieces."""
        tensors = self.program.tensors
        tensor_of = {**{name: name for name in self.inputs}, **{s: name for name, s in self.results.items()}}
        stacks = {stack: self._stack(tensors[name], stack) for stack, name in tensor_of.items()}
        pieces = {piece: replace(tensors[name], name=piece) for name, piece in self.pieces.items()}
        return {**tensors, **stacks, **pieces}

    def _stack(self, tensor: Tensor, name: str) -> Tensor:
        shape = (self.inferences, *tensor.shape) if tensor.shape else ()
        return replace(tensor, name=name, bytes=tensor.bytes * self.inferences, shape=shape)

    def allocate_ops(self) -> Iterator[Op]:
        """Before the loop: the stacks of the outputs."""
        for stack in self.results.values():
            name = _op_name(self.program, f"{stack}.room")
            yield Op(name, "allocate", Vector(0, 0, 0), (), (stack,), cycles=0)

    def slice_ops(self) -> Iterator[Op]:
        """At the start of an iteration: the slices of inputs that no op reads directly."""
        for tensor in self.inputs:
            if tensor in self.pieces:
                yield self._copy(tensor, "slice", (tensor,), (self.pieces[tensor],), tensor)

    def collect_ops(self) -> Iterator[Op]:
        """At the end of an iteration: the slices of outputs that no op writes directly."""
        for tensor, stack in self.results.items():
            if tensor in self.pieces:
                yield self._copy(tensor, "collect", (self.pieces[tensor], stack), (stack,), stack)

    def _copy(
        self, tensor: str, kind: str, inputs: tuple[str, ...], outputs: tuple[str, ...], stack: str
    ) -> Op:
        """An op of that kind that moves a slice of ``stack``."""
        name, work = _op_name(self.program, f"{tensor}.{kind}"), _copy_work(self.program.tensors[tensor])
        return Op(name, kind, work, inputs, outputs, sliced=stack, slices=self.inferences)

    def body(self) -> Iterator[Node]:
        """The program's nodes as they run in an iteration."""
        for node in rewritten(self.program.body, lambda node: renamed(node, self.pieces)):
            yield self._sliced(node) if isinstance(node, Op) and node.name in self.direct else node

    def _sliced(self, op: Op) -> Op:
        """``op``, which moves a slice of a tensor directly."""
        name = self.direct[op.name]
        op = replace(op, sliced=name, slices=self.inferences)
        if name not in op.outputs:
            return op
        # An output that goes to Psram slice by slice cannot lie in the memory of an input.
        first = name == op.outputs[0]
        count = len(op.inputs)
        own = op.views[count + op.outputs.index(name)] if op.views else ()
        return replace(
            op,
            inputs=(*op.inputs, name),
            views=(*op.views[:count], own, *op.views[count:]) if op.views else (),
            overwrites=None if first else op.overwrites,
            absorbs=() if first else op.absorbs,
        )


def _slicing(program: Program, inferences: int) -> _Slicing:
    inputs = tuple(name for name in program.inputs if program.tensors[name].bytes)
    outputs = tuple(name for name in program.outputs if program.tensors[name].bytes)
    direct: dict[str, str] = {}
    users = [(name, _only_reader(program, name)) for name in inputs]
    users += [(name, _only_maker(program, name)) for name in outputs]
    for name, op in users:
        if op is not None:
            direct.setdefault(op, name)
    indirect = (name for name in (*inputs, *outputs) if name not in direct.values())
    pieces = {name: _unused_name(f"{name}.now", program.tensors) for name in indirect}
    results = {n: _unused_name(f"{n}.results", program.tensors) if n in inputs else n for n in outputs}
    return _Slicing(program, inferences, inputs, direct, pieces, results)


def parse_inferences(text: str) -> int:
    """The number of inferences that a user wrote. Raises BadInput for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_INFERENCES))):
        raise _invalid_number(text)
    return int(text)


def _invalid_number(text: str) -> BadInput:
    hint = f"2 to {MAX_INFERENCES:,}, after WORKLOAD: --steady-state 20 (inferences=20); leave it out for one"
    return BadInput(f"{shown(text)} is not a number of inferences one after another", hint=hint)


def inferences_of(program: Program, path: Mapping[str, str]) -> int:
    """How many inferences a run along ``path`` (iterations by loop) makes."""
    return int(path[LOOP]) if program.inferences > 1 else 1


def unrolled(program: Program, inferences: int | None = None) -> Program:
    """A program of ``steady`` without its loop: every inference, or the first ``inferences``, with tensors
    and ops of its own, which are named ``NAME@1``, ``NAME@2`` ..., and the weights shared.

    States of an inference are those that the one before made. A ring is one tensor for all inferences, of the
    bytes that none of them replaces. Nothing is sliced, so what holds for it holds for every way to move the
    slices. Branches and loops keep their names, so that a path decides for all inferences. Any other program
    is returned as it is.
    """
    if program.inferences == 1:
        return program
    every = range(1, (program.inferences if inferences is None else inferences) + 1)
    loop = next(node for node in program.body if isinstance(node, Loop))
    inside = dict.fromkeys(name for op in ops(loop.body) for name in (*op.inputs, *op.outputs))
    stacks = {*program.inputs, *program.outputs}
    carried = {name for name in loop.carried if name not in stacks}
    rings = {op.sliced: op.slices for op in loop.body if isinstance(op, Op) and op.sliced in carried}
    states = carried - {*rings}
    tensors: dict[str, Tensor] = {}
    for name, slices in rings.items():
        left = max(0, slices - len(every)) * (program.tensors[name].bytes // slices)
        tensors[name + KEPT] = replace(program.tensors[name], name=name + KEPT, bytes=left)
    body: list[Node] = []
    kept = {name: name + KEPT for name in rings}
    begun = {name: f"{name}@1" for name in states} | kept
    body += (renamed(op, begun) for op in program.body if isinstance(op, Op) and carried & {*op.outputs})
    for number in (*every, every.stop):
        for name in inside if number < every.stop else states:
            tensor = program.tensors[name]
            share = program.inferences if name in stacks else rings.get(name, 1)
            own = replace(tensor, name=f"{name}@{number}", bytes=tensor.bytes // share)
            tensors[own.name] = own
        if number < every.stop:
            names = {name: f"{name}@{number}" for name in inside} | kept
            body += _inference(loop, number, names, {*stacks, *rings}, states)
    return replace(
        program,
        tensors=tensors,
        inputs=tuple(f"{name}@{n}" for name in program.inputs if name in inside for n in every),
        outputs=tuple(f"{name}@{n}" for name in program.outputs if name in inside for n in every),
        body=tuple(body),
        inferences=1,
    )


def kept_bytes(program: Program) -> int:
    """Bytes of the rings of an ``unrolled`` program: every inference reads them, and none makes them."""
    return sum(tensor.bytes for tensor in program.tensors.values() if tensor.name.endswith(KEPT))


def _inference(
    loop: Loop, number: int, names: dict[str, str], stacks: Collection[str], states: Collection[str]
) -> Iterator[Node]:
    """The nodes of one inference; what is made of ``states`` belongs to the next."""
    for node in loop.body:
        written = node.outputs if isinstance(node, Op) else ()
        made_of = {name: f"{name}@{number + (name in states)}" for name in written}
        for made in rewritten((node,), _UnrolledInference(number, names, stacks).node):
            if isinstance(made, Op):
                over = next((names[n] for n in written if n in states and n in reads(node)), made.overwrites)
                made = replace(made, outputs=tuple(made_of.values()), overwrites=over)
            yield made
        names = names | {name: made_of[name] for name in written if name in states}


@dataclass(frozen=True, slots=True)
class _UnrolledInference:
    """One inference of an unrolled program: ``names`` gives each tensor its new name."""

    number: int
    names: Mapping[str, str]
    stacks: Collection[str]

    def node(self, node: Node) -> Node:
        """``node`` with this inference's names, and without slices of the stacks."""
        if not isinstance(node, Op):
            return renamed(node, self.names)
        if node.sliced in self.stacks:
            kept = [i for i, name in enumerate(node.inputs) if name != node.sliced or not node.collects]
            inputs = tuple(node.inputs[i] for i in kept)
            views = node.views and tuple(node.views[i] for i in kept) + node.views[len(node.inputs) :]
            node = replace(node, inputs=inputs, views=views, sliced=None, slices=1)
        return renamed(replace(node, name=f"{node.name}@{self.number}"), self.names)


def _refuse(program: Program, inferences: int) -> None:
    if not 2 <= inferences <= MAX_INFERENCES:
        raise _invalid_number(str(inferences))
    if any(node.name == LOOP for node in program.nodes()):
        hint = "leave out --steady-state (inferences), or give it another name"
        raise BadInput(f"there is an op, if or loop named {LOOP!r} already", hint=hint)


def _only_user(program: Program, name: str) -> Op | None:
    """The op that alone touches a tensor, once in every inference."""
    users = [op for op in program.ops() if name in (*op.inputs, *op.outputs)]
    named = any(name in reads(node) for node in program.nodes() if not isinstance(node, Op))
    return users[0] if len(users) == 1 and users[0] in program.body and not named else None


def _only_reader(program: Program, name: str) -> str | None:
    """The op that alone touches an input, once in every inference, and neither overwrites nor slices it."""
    op = _only_user(program, name)
    if op is None or name in program.outputs:
        return None
    once = op.inputs.count(name) == 1 and name not in op.outputs and op.sliced is None
    return op.name if once and name != op.overwrites and name not in op.absorbs else None


def _only_maker(program: Program, name: str) -> str | None:
    """The op that alone touches an output, once in every inference."""
    op = _only_user(program, name)
    if op is None or name in program.inputs:
        return None
    return op.name if name not in op.inputs and op.sliced is None and not op.allocates else None


def _unused_name(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name}.{number}" for number in count(2))
    return next(each for each in chain((name,), numbered) if each not in taken)


def _op_name(program: Program, name: str) -> str:
    return _unused_name(name, {op.name for op in program.ops()})


def _copy_work(tensor: Tensor) -> Vector:
    elements = prod(tensor.shape) if tensor.shape else tensor.bytes
    return Vector(elements, tensor.bytes, tensor.bytes, rows=max(1, gcd(elements, tensor.bytes)))
