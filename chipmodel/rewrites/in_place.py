"""In-place reuse: which outputs may take the memory of which inputs, by the kind of op.

``reuse`` marks it in the program; the streamer gives marked tensors one buffer, so packers need not know of
it.

* An element-wise op may overwrite an operand of the same size that nothing reads afterwards: byte ``i``
  of the output depends on no later byte of the input.
* The inputs of a concat may be written straight into its output, so that the concat moves nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Literal, get_args

from chipmodel.geometry.layout import LAYOUTS, Storage
from chipmodel.model.program import If, Loop, Op, Program, numbered_nodes, with_ops
from chipmodel.model.scopes import Scopes, scopes
from chipmodel.model.work import Vector
from chipmodel.records import dataclass

InPlace = Literal["all", "elementwise", "concat", "rows", "declared", "none"]
CHOICES: tuple[InPlace, ...] = get_args(InPlace)
"""``declared`` keeps only what the workload says (``in_place: true``); the first four add to it. What takes
an input's memory row by row, with ``all`` and ``rows``, is for the planner to choose."""

_LOGIC = "and or xor not equal less greater where bitwise_and bitwise_not bitwise_or bitwise_xor"
_NUMBERS = "abs add ceil clip copy div exp floor log max min mod mul neg pow round sign sqrt square sub"
_CURVES = "cos elu erf gelu hard_sigmoid hard_swish leaky_relu mish prelu relu relu6 selu sigmoid silu sin"
_OTHERS = "reciprocal softplus softsign tanh batch_norm"
ELEMENTWISE = frozenset(f"{_LOGIC} {_NUMBERS} {_CURVES} {_OTHERS}".split())
"""Kinds whose output element ``i`` reads only element ``i`` of each operand."""


def may_overwrite(program: Program, op: Op, name: str) -> bool:
    """Whether the kind of ``op`` allows its output to overwrite its input ``name``: both have the same size,
    and no part of the op reads what another part has written."""
    if op.kind not in ELEMENTWISE or not isinstance(op.work, Vector) or len(op.outputs) != 1:
        return False
    whole = (index for index, each in enumerate(op.inputs) if each == name)
    if any(index in op.work.broadcast for index in whole):
        return False
    return program.tensors[name].bytes == program.tensors[op.outputs[0]].bytes


@dataclass(frozen=True, slots=True)
class PlaceInTensor:
    """Where a smaller tensor lies in a larger one: ``runs`` runs of equal length, ``pitch`` bytes from the
    start of one to that of the next, the first at ``offset``. A single run has no pitch."""

    offset: int = 0
    runs: int = 1
    pitch: int = 0


AT_START = PlaceInTensor()


def places_in_concat(program: Program, op: Op) -> Mapping[str, PlaceInTensor]:
    """The place of each input in the output of a concat; without inputs that it takes twice, and empty for an
    op of another kind.

    Inputs of a concat of rows follow one another. In a concat of channels each row of the output has a run of
    each input, so the op that makes an input there writes it with a stride, at the same cost.
    """
    if op.kind != "concat" or not isinstance(op.work, Vector) or len(op.outputs) != 1 or op.weights:
        return {}
    sizes = [program.tensors[name].bytes for name in op.inputs]
    total = program.tensors[op.outputs[0]].bytes
    runs = runs_of_concat(program, op)
    if sum(sizes) != total or runs is None or any(size % runs for size in sizes):
        return {}
    starts = [sum(sizes[:index]) // runs for index in range(len(sizes))]
    pitch = total // runs if runs > 1 else 0
    once = Counter(op.inputs)
    return {
        name: PlaceInTensor(start, runs, pitch)
        for name, start in zip(op.inputs, starts, strict=True)
        if once[name] == 1
    }


def runs_of_concat(program: Program, op: Op) -> int | None:
    """The runs in which each input of a concat lies in its output: as many as the axes make that are slower
    in memory than the one along which it joins; None where the shapes or storages do not tell."""
    tensors = [program.tensors[name] for name in (*op.inputs, *op.outputs)]
    shapes = op.views or tuple(tensor.shape for tensor in tensors)
    whole = shapes[-1]
    if any(len(shape) != len(whole) for shape in shapes):
        return None
    joined = {axis for shape in shapes for axis in range(len(whole)) if shape[axis] != whole[axis]}
    if len(joined) != 1:
        return None if joined or not whole else 1
    for layout in LAYOUTS:
        wanted = [Storage(shape, layout) for shape in shapes]
        if all(tensor.stored.same_order(each) for tensor, each in zip(tensors, wanted, strict=True)):
            order = wanted[-1].order
            return prod(whole[axis] for axis in order[: order.index(joined.pop())])
    return None


def place_within(inner: PlaceInTensor, size: int, outer: PlaceInTensor, of: int) -> PlaceInTensor | None:
    """The place in the largest tensor of one of ``size`` bytes that lies at ``inner`` in one of ``of`` bytes,
    which lies at ``outer`` in the largest; None where its runs do not have one pitch."""
    if outer.runs == 1:
        return PlaceInTensor(outer.offset + inner.offset, inner.runs, inner.pitch)
    run = of // outer.runs
    first, before = divmod(inner.offset, run)
    start = outer.offset + first * outer.pitch + before
    if inner.runs > 1:
        in_each = inner.pitch == run and before + size // inner.runs <= run
        return PlaceInTensor(start, inner.runs, outer.pitch) if in_each else None
    if before + size <= run:
        return PlaceInTensor(start)
    whole_runs = before == 0 and size % run == 0
    return PlaceInTensor(start, size // run, outer.pitch) if whole_runs else None


def left_to_move(program: Program, op: Op, placed: frozenset[str]) -> Op | None:
    """``op`` with the work that remains when its inputs ``placed`` lie in its output already; None for no
    work. Cycles given by the user are kept."""
    if not placed or op.cycles is not None or not isinstance(op.work, Vector):
        return op
    total = program.tensors[op.outputs[0]].bytes
    spared = sum(program.tensors[name].bytes for name in placed)
    if spared >= total:
        return None
    left = total - spared
    work = replace(
        op.work,
        elements=op.work.elements * left // total,
        in_bytes=max(0, op.work.in_bytes - spared),
        out_bytes=left,
    )
    return replace(op, work=work)


def reuse(program: Program, choice: InPlace) -> Program:
    """``program`` with ``overwrites`` and ``absorbs`` set where ``choice`` and the op's kind allow."""
    if choice in ("declared", "rows"):
        return program
    return replace(program, body=with_ops(program.body, _ReuseMarks(program, choice).mark))


@dataclass(frozen=True, slots=True)
class Dying:
    """Inputs whose memory an op's output may take: one of ``overwrites``, all of ``absorbs``."""

    overwrites: tuple[str, ...]
    absorbs: tuple[str, ...]


def may_die(program: Program, choice: InPlace) -> Mapping[str, Dying]:
    """For each op, the inputs whose memory ``reuse`` would let it take, were it the last to read them."""
    marks = _ReuseMarks(program, choice)
    return {op.name: marks.candidates(op) for op in program.ops()}


def dying_here(program: Program) -> Callable[[Op, str], bool]:
    """Return whether an op reads last a tensor of one op, and makes its output alone, in one region."""
    marks = _ReuseMarks(program, "all")
    return lambda op, name: marks.dies(op, name)


@dataclass(frozen=True, slots=True)
class _Accesses:
    """Positions of the ops that write and read a tensor; a branch reads its condition at the next op."""

    writes: tuple[int, ...]
    reads: tuple[int, ...]


class _ReuseMarks:
    def __init__(self, program: Program, choice: InPlace) -> None:
        self.program = program
        self.choice: InPlace = choice
        self.scopes: Scopes = scopes(program.body)
        self.position = {op.name: index for index, op in enumerate(program.ops())}
        self.uses = _uses(program)
        self.cores = {name: op.core for op in program.ops() for name in op.outputs}
        self.fixed = {
            *program.outputs,
            *(name for node in program.nodes() if isinstance(node, Loop) for name in node.carried),
        }

    def mark(self, op: Op) -> Op:
        if self.choice == "none":
            return replace(op, overwrites=None, absorbs=())
        dying = self.candidates(op)
        overwrites = op.overwrites or next((n for n in dying.overwrites if self._last(op, n)), None)
        return replace(
            op, overwrites=overwrites, absorbs=tuple(n for n in dying.absorbs if self._last(op, n))
        )

    def candidates(self, op: Op) -> Dying:
        if self.choice == "none":
            return Dying((), ())
        overwrites: tuple[str, ...] = (op.overwrites,) if op.overwrites else ()
        absorbs = op.absorbs
        if self.choice in ("all", "elementwise") and not overwrites:
            # An input of the program last: what has its memory can be in no concat's output.
            able = (n for n in op.inputs if self._may_take(op, n))
            overwrites = tuple(sorted(able, key=self.program.inputs.__contains__))
        if self.choice in ("all", "concat"):
            absorbs = tuple(n for n in places_in_concat(self.program, op) if self._may_die(op, n, False))
        return Dying(overwrites, absorbs)

    def _may_take(self, op: Op, name: str) -> bool:
        return may_overwrite(self.program, op, name) and self._may_die(op, name, True)

    def dies(self, op: Op, name: str) -> bool:
        return self._may_die(op, name, False) and self._last(op, name)

    def _last(self, op: Op, name: str) -> bool:
        """Whether ``op`` is the last to read ``name`` on every path."""
        return max(self.uses[name].reads) == self.position[op.name]

    def _may_die(self, op: Op, name: str, inputs: bool) -> bool:
        """Whether ``name`` dies at ``op`` if ``op`` reads it last: both ``name`` and the op's output are
        written once, in the same straight-line region, and ``name`` is read only there."""
        here = self.position[op.name]
        use, made = self.uses[name], self.uses[op.outputs[0]].writes
        if self._made_elsewhere(op, name):
            return False
        if name in self.fixed or op.outputs[0] in self.fixed - set(self.program.outputs) or made != (here,):
            return False
        if name in self.program.inputs:
            if not inputs or use.writes:
                return False
        elif len(use.writes) != 1:
            return False
        region = self.scopes.region
        local = all(region[p] == region[here] for p in (*use.writes, *use.reads))
        inside = any(here in loop for loop in self.scopes.loops)
        return local and not (inside and not use.writes)

    def _made_elsewhere(self, op: Op, name: str) -> bool:
        """Whether the workload has ``name`` made on another core than ``op``: it then comes through Psram."""
        maker = self.cores.get(name)
        return maker is not None and op.core is not None and maker != op.core


def _uses(program: Program) -> dict[str, _Accesses]:
    writes: dict[str, list[int]] = {name: [] for name in program.tensors}
    reads: dict[str, list[int]] = {name: [] for name in program.tensors}
    for position, op in enumerate(program.ops()):
        for name in op.inputs:
            reads[name].append(position)
        for name in op.outputs:
            writes[name].append(position)
    for position, node in numbered_nodes(program.body):
        if isinstance(node, If) and node.condition is not None:
            reads[node.condition].append(position)
    return {name: _Accesses(tuple(writes[name]), tuple(reads[name])) for name in program.tensors}
