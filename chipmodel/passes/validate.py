"""Check that a program is well-formed, independently of the loader that built it.

The body is walked in execution order. A tensor is *alive* from its definition until an op overwrites it in
place. A tensor that only some arms of an ``if`` define is not alive after it; an arm does not see what its
siblings define; a loop's first iteration sees what was alive before, and passes on to the next iteration only
what is carried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from typing import NoReturn

from chipmodel.errors import BadInput, Place
from chipmodel.files.suggestions import shown, suggest
from chipmodel.model.program import MAX_ITERATIONS, If, Loop, Node, Op, Program, ops
from chipmodel.model.work import Vector
from chipmodel.records import dataclass

MAX_BYTES = 1 << 60
"""Bytes of a tensor: its elements, of two bits or more, are counted in 63 bits."""


def validate_program(program: Program) -> None:
    """Raise ``BadInput``, at the op's place, for the first mistake in ``program``:

    a name that is used twice or unknown; a tensor that some path reads before it is defined, or after an op
    has overwritten it; a tensor that is defined twice outside of sibling arms without being carried; an
    ``overwrites`` that is not an input, differs in size or is needed by the next iteration; a carried tensor
    without a first or a next value; an output that nothing defines; an op that writes what it still reads;
    slices that do not divide their tensor; probabilities outside of 0 to 1, or that do not add up to 1.
    """
    _check_tables(program)
    for name, count in Counter(n.name for n in program.nodes()).items():
        if count > 1:
            node = [n for n in program.nodes() if n.name == name][-1]
            _refuse(
                f"the name '{name}' is used by {count} ops", node.place, "give every op a name of its own"
            )
    state = _Definitions(dict.fromkeys(program.inputs, "an input"), _defined(program.body))
    _Validator(program).body(program.body, state)
    for name in program.outputs:
        state.need(name, "the program gives", Place(program.source), "let an op on every path define it")


@dataclass(frozen=True, slots=True)
class _Loss:
    """Why a tensor that some path has defined cannot be read any more."""

    why: str
    by: Op | None = None
    """The op that has overwritten it."""


@dataclass
class _Definitions:
    """The definitions on the way to a point of the program."""

    alive: dict[str, str]
    """Every tensor that can be read, with the op that defined it."""
    somewhere: set[str]
    """Every tensor that any op of the program defines."""
    lost: dict[str, _Loss] = field(default_factory=dict[str, _Loss])
    """Every other tensor that was defined on some path."""

    def copy(self) -> _Definitions:
        return _Definitions(dict(self.alive), self.somewhere, dict(self.lost))

    def lose(self, name: str, loss: _Loss) -> None:
        self.alive.pop(name, None)
        self.lost[name] = loss

    def define(self, name: str, by: str) -> None:
        self.lost.pop(name, None)
        self.alive[name] = by

    def need(self, name: str, user: str, place: Place | None, hint: str = "") -> None:
        """Raise BadInput for a tensor that is not alive; ``user`` is the reader, in words."""
        if name in self.alive:
            return
        loss = self.lost.get(name)
        if loss is None:
            hint = hint or self.defining(name)
            _refuse(f"{user} '{name}', which nothing before defines", place, hint)
        if loss.by is None:
            hint = "define it on every path to here, or read something else"
            _refuse(f"{user} '{name}', which {loss.why}", place, hint)
        line = f" on line {place.line}" if place and place.line and place != loss.by.place else ""
        what = f"'{loss.by.name}' overwrites '{name}' in place, but {user} '{name}' later{line}"
        _refuse(what, loss.by.place, "drop in_place; only the last reader of a tensor may overwrite it")

    def defining(self, name: str) -> str:
        """A hint how to define ``name``."""
        if name in self.somewhere:
            return "move the op that defines it before this one"
        return suggest(name, self.alive, "tensors here are") or "define it first"


@dataclass(frozen=True, slots=True)
class _Validator:
    program: Program
    carried: frozenset[str] = frozenset()
    """Tensors that the innermost loop carries, which may be defined again."""
    outside: frozenset[str] = frozenset()
    """Tensors defined outside of the innermost loop that it does not carry."""

    def body(self, body: tuple[Node, ...], state: _Definitions) -> None:
        for node in body:
            match node:
                case Op():
                    self.op(node, state)
                case If():
                    self.branch(node, state)
                case Loop():
                    self.loop(node, state)

    def op(self, op: Op, state: _Definitions) -> None:
        for name in op.inputs:
            state.need(name, f"'{op.name}' reads", op.place)
        self.overwrite(op, state)
        _check_slices(self.program, op)
        for name in op.outputs:
            if name in op.inputs and not _updates(op, name):
                what = f"'{op.name}' reads '{name}' and writes it before it has read all of it"
                _refuse(what, op.place, "give the output another name, and copy it")
            self.define(name, op, state)

    def overwrite(self, op: Op, state: _Definitions) -> None:
        name = op.overwrites
        if name is None:
            return
        if name not in op.inputs or not op.outputs:
            what = f"'{op.name}' overwrites '{name}', which is not one of its inputs"
            _refuse(what, op.place, f"its inputs are {', '.join(op.inputs) or 'none'}")
        old, new = self.program.tensors[name], self.program.tensors[op.outputs[0]]
        if old.bytes != new.bytes:
            what = (
                f"'{op.name}' cannot write '{new.name}' ({new.bytes} bytes) over '{name}' ({old.bytes} bytes)"
            )
            _refuse(what, op.place, "both must have the same size; drop in_place")
        if name in self.outside:
            what = f"'{op.name}' overwrites '{name}', which the loop's next iteration finds overwritten"
            _refuse(what, op.place, "drop in_place, or let the loop carry the tensor")
        state.lose(name, _Loss("", op))

    def define(self, name: str, op: Op, state: _Definitions) -> None:
        if (name in state.alive or name in state.lost) and name not in self.carried:
            by = state.alive.get(name, "another op")
            what = f"'{op.name}' defines '{name}', which {by} defines already"
            _refuse(what, op.place, "give the output another name; only what a loop carries is written again")
        state.define(name, f"'{op.name}'")

    def branch(self, node: If, state: _Definitions) -> None:
        if node.condition is not None:
            state.need(node.condition, f"'{node.name}' decides by", node.place)
        if not node.arms:
            _refuse(f"'{node.name}' has no arms", node.place, "give it at least one")
        _check_probabilities(node)
        ends: list[_Definitions] = []
        for arm in node.arms:
            end = state.copy()
            self.body(arm.body, end)
            ends.append(end)
        _join(node, state, ends)

    def loop(self, node: Loop, state: _Definitions) -> None:
        if node.iterations < 0:
            _refuse(f"'{node.name}' runs {node.iterations} times", node.place, "iterations are 0 or more")
        if node.iterations > MAX_ITERATIONS:
            what = f"'{node.name}' makes {shown(node.iterations)} iterations"
            _refuse(what, node.place, f"at most {MAX_ITERATIONS:,}")
        _check_iterations(node)
        inside = _defined(node.body)
        self.carry(node, inside, state)
        end = state.copy()
        outside = (self.outside | set(state.alive)) - set(node.carried)
        _Validator(self.program, frozenset(node.carried), frozenset(outside)).body(node.body, end)
        for name in node.carried:
            user = f"the next iteration of '{node.name}' reads"
            end.need(name, user, Place(node.place.file) if node.place else None, "write it in the loop")
        _leave(node, state, end)

    def carry(self, node: Loop, inside: set[str], state: _Definitions) -> None:
        for name in node.carried:
            state.need(name, f"'{node.name}' carries", node.place)
            if name not in inside:
                what = f"'{node.name}' carries '{name}', but nothing in it writes a new value"
                _refuse(what, node.place, "let an op of the loop write it, or do not carry it")
            if name in self.outside:
                what = (
                    f"'{node.name}' carries '{name}', which the next iteration of the loop around it "
                    "finds changed"
                )
                _refuse(what, node.place, "let the loop around it carry it too, or copy it first")


def _join(node: If, state: _Definitions, ends: list[_Definitions]) -> None:
    """Change ``state`` to the definitions after the ``if`` whose arms end in ``ends``."""
    everywhere = set(ends[0].alive).intersection(*(end.alive for end in ends[1:]))
    somewhere = {name for end in ends for name in (*end.alive, *end.lost)}
    for name in somewhere - everywhere:
        losses = [end.lost[name] for end in ends if name in end.lost]
        state.lose(name, losses[0] if losses else _Loss(f"not every arm of '{node.name}' defines"))
    for name in everywhere:
        if name not in state.alive:
            state.define(name, f"'{node.name}'")


def _leave(node: Loop, state: _Definitions, end: _Definitions) -> None:
    """Change ``state`` to the definitions after the loop whose iterations end in ``end``."""
    for name in end.lost:
        state.lose(name, end.lost[name])
    least = min((iterations for iterations, chance in node.chances if chance), default=node.iterations)
    why = f"the loop '{node.name}' of no iterations never defines"
    if node.iterations:
        why = f"the loop '{node.name}' does not define if it makes no iteration"
    for name, by in end.alive.items():
        if name in state.alive:
            continue
        if least:
            state.define(name, by)
        else:
            state.lose(name, _Loss(why))


def _check_tables(program: Program) -> None:
    for name in program.inputs:
        if name not in program.tensors:
            _refuse(f"the input '{name}' is not a tensor", Place(program.source), "declare it")
    for name in program.outputs:
        if name not in program.tensors:
            hint = suggest(name, program.tensors, "tensors are") or "declare it"
            _refuse(f"the output '{name}' is not a tensor", Place(program.source), hint)
    for op in program.ops():
        _check_known(op, (*op.inputs, *op.outputs), program.tensors, "tensor")
        _check_known(op, op.weights, program.weights, "weight")
    for kind, table in (("tensor", program.tensors), ("weight", program.weights)):
        for name, each in table.items():
            if each.bytes > MAX_BYTES:
                hint = "check the sizes, pads and repeats of its op"
                _refuse(f"the {kind} '{name}' has {each.bytes:,} bytes", Place(program.source), hint)


def _check_known(op: Op, names: tuple[str, ...], known: Mapping[str, object], what: str) -> None:
    for name in names:
        if name not in known:
            hint = suggest(name, known, f"the {what}s are") or f"declare the {what}"
            _refuse(f"'{op.name}' names the unknown {what} '{name}'", op.place, hint)


def _updates(op: Op, name: str) -> bool:
    """Whether an op that reads and writes ``name`` reads each byte before it writes it."""
    if name == op.sliced:
        return True
    operands = [index for index, each in enumerate(op.inputs) if each == name]
    return isinstance(op.work, Vector) and not set(operands) & set(op.work.broadcast)


def _check_slices(program: Program, op: Op) -> None:
    if op.sliced is None:
        return
    size = program.tensors[op.sliced].bytes if op.sliced in program.tensors else 0
    if op.sliced not in op.inputs or op.slices < 1 or size % op.slices:
        what = f"'{op.name}' moves one of {op.slices} slices of '{op.sliced}' ({size} bytes)"
        _refuse(what, op.place, "it must be an input, and its bytes a multiple of the slices")


def _check_probabilities(node: If) -> None:
    given = [arm.probability for arm in node.arms if arm.probability is not None]
    _check_chances(node, "arms", given, len(given) == len(node.arms))


def _check_iterations(node: Loop) -> None:
    numbers = [number for number, _ in node.chances]
    if numbers and (min(numbers) < 0 or len({*numbers}) < len(numbers) or max(numbers) != node.iterations):
        what = f"'{node.name}' makes {node.iterations} iterations, and by its probabilities {numbers}"
        _refuse(what, node.place, "write different numbers, 0 or more, of which the largest is the loop's")
    if node.chances:
        _check_chances(node, "iterations", [chance for _, chance in node.chances], True)


def _check_chances(node: If | Loop, of: str, chances: Sequence[Fraction], complete: bool) -> None:
    total = sum(chances, Fraction(0))
    if any(chance < 0 for chance in chances) or total > 1 or (complete and total != 1):
        listed = ", ".join(map(_number, chances))
        what = f"the probabilities of the {of} of '{node.name}', {listed}, add up to {_number(total)}"
        hint = "write numbers from 0 to 1 that add up to 1; an arm without one gets what the others leave"
        _refuse(what, node.place, hint)


def _number(value: Fraction) -> str:
    """``value`` as a decimal where that is exact, else as a fraction."""
    return str(float(value)) if Fraction(str(float(value))) == value else str(value)


def _defined(body: tuple[Node, ...]) -> set[str]:
    return {name for op in ops(body) for name in op.outputs}


def _refuse(what: str, place: Place | None, hint: str) -> NoReturn:
    raise BadInput(what, where=place, hint=hint)
