"""The names of ops and tensors in a YAML workload: where each is defined, and errors about unknown ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import NoReturn

from chipmodel.errors import BadInput
from chipmodel.files.suggestions import shown, suggest
from chipmodel.files.yaml_tree import Document
from chipmodel.records import dataclass
from workloads.from_yaml.field_types import NAME_PATTERN, KeyPath
from workloads.from_yaml.op_models import CustomOp, SimpleOp, SplitOp
from workloads.from_yaml.schema import IfArm, IfOp, LoopOp, YamlWorkload

AnyNode = SimpleOp | IfOp | LoopOp
MAX_NAME_LENGTH = 100
_NAME = re.compile(NAME_PATTERN)


@dataclass(frozen=True, slots=True)
class TensorDefinition:
    """A tensor's name, the key that defines it (``path``), its list of ops (``block``), and its op."""

    name: str
    path: KeyPath
    block: KeyPath
    op: str = ""
    """Empty for an input of the workload."""


@dataclass
class NameTable:
    """All names of a workload. Raises ``BadInput`` for a name that is malformed or used twice."""

    document: Document
    workload: YamlWorkload
    ops: dict[KeyPath, str] = field(default_factory=dict[KeyPath, str])
    """The name of each op, generated where the file gives none."""
    tensors: dict[str, TensorDefinition] = field(default_factory=dict[str, TensorDefinition])
    _arm_results: dict[tuple[KeyPath, str], TensorDefinition | None] = field(
        default_factory=dict[tuple[KeyPath, str], TensorDefinition | None]
    )
    """Lists of ops with the names that they may define beside an ``if``, and where they do."""

    def __post_init__(self) -> None:
        if not self.workload.name.isprintable():
            self.refuse(("name",), f"{shown(self.workload.name)} cannot be a name", "write it on one line")
        self._name_ops()
        for name in self.workload.inputs:
            self._define(TensorDefinition(name, ("inputs", name), ("ops",)))
        for path, op in self.nodes:
            self._define_all(op, path)

    # -- ops -----------------------------------------------------------------------------------

    @property
    def nodes(self) -> list[tuple[KeyPath, AnyNode]]:
        """Every op at any depth, in the order of the file, with its path."""
        return list(walk(self.workload.ops, ("ops",)))

    def _name_ops(self) -> None:
        taken: dict[str, KeyPath] = {}
        nodes = self.nodes
        for path, op in nodes:
            if op.name is None:
                continue
            where = (*path, "name")
            self._check(op.name, where)
            if op.name in taken:
                self._refuse_twice("op", op.name, where, (*taken[op.name], "name"))
            taken[op.name] = path
            self.ops[path] = op.name
        avoid = {*taken, *self.workload.inputs, *(name for node in nodes for name in self._written(*node))}
        counts: dict[str, int] = {}
        for path, op in nodes:
            if op.name is None:
                self.ops[path] = _generated_name(op.op, counts, avoid)

    # -- tensors -------------------------------------------------------------------------------

    def _define_all(self, op: AnyNode, path: KeyPath) -> None:
        """Add what an op defines, and what an arm, or ops after an exit, may define for their ``if``."""
        for name, key in self.outputs(op, path):
            self._define(TensorDefinition(name, key, path[:-1], self.ops[path]))
        if isinstance(op, LoopOp):
            for name in op.each:
                self._define(TensorDefinition(name, (*path, "each", name), (*path, "ops"), self.ops[path]))
        if isinstance(op, IfOp):
            for arm in op.arms:
                self._check(arm, (*path, "arms", arm))
            same = [(name, arm) for name, given in op.outputs.items() for arm in given if given[arm] == name]
            for name, arm in same:
                if arm in op.arms:
                    self._arm_results[arm_block(op, path, arm)[1], name] = None
                if exits(op) and arm not in exits(op):
                    self._arm_results.setdefault((path[:-1], name))

    def _define(self, definition: TensorDefinition) -> None:
        self._check(definition.name, definition.path)
        key = (definition.block, definition.name)
        first = self._arm_results.get(key) if key in self._arm_results else self.tensors.get(definition.name)
        if first is not None:
            self._refuse_twice("tensor", definition.name, definition.path, first.path)
        if key in self._arm_results:
            self._arm_results[key] = definition
        else:
            self.tensors[definition.name] = definition

    def outputs(self, op: AnyNode, path: KeyPath) -> Iterator[tuple[str, KeyPath]]:
        """The name of each output of an op, with the key that defines it."""
        match op:
            case IfOp():
                yield from ((name, (*path, "outputs", name)) for name in op.outputs)
            case LoopOp():
                yield from ((name, (*path, "carry", name)) for name in op.carry)
                yield from ((name, (*path, "collect", name)) for name in op.collect)
            case CustomOp():
                yield from ((name, (*path, "out", name)) for name in op.out)
            case SplitOp():
                yield from ((name, (*path, "out", i)) for i, name in enumerate(op.out))
            case _:
                yield (op.out, (*path, "out")) if op.out else (self.ops.get(path, ""), (*path, "name"))

    def _written(self, path: KeyPath, op: AnyNode) -> Iterator[str]:
        """The tensor names in the keys of an op."""
        yield from (name for name, _ in self.outputs(op, path))
        yield from op.each if isinstance(op, LoopOp) else ()

    # -- mistakes ------------------------------------------------------------------------------

    def _check(self, name: str, path: KeyPath) -> None:
        if len(name) > MAX_NAME_LENGTH:
            what = f"a name of {len(name)} characters: {shown(name)}"
            self.refuse(path, what, f"names have at most {MAX_NAME_LENGTH} characters")
        if not _NAME.match(name):
            what = f"{shown(name)} cannot be a name"
            self.refuse(path, what, "use letters, digits and _ . : / - (the first a letter, digit or _)")

    def refuse(self, path: KeyPath, what: str, hint: str) -> NoReturn:
        """Raise ``BadInput`` at ``path``."""
        raise BadInput(what, where=self.document.place(path), hint=hint)

    def _refuse_twice(self, thing: str, name: str, path: KeyPath, first: KeyPath) -> NoReturn:
        line = self.document.place(first).line
        what = f"the {thing} name '{name}' is used twice, first on line {line}"
        hint = "; both arms' results become one through the outputs of the 'if'" if "arms" in path else ""
        hint = f"give each {thing} a name of its own ('name' or 'out'){hint}"
        self.refuse(path, what, hint if thing == "tensor" else "give each op a name of its own")

    def refuse_unknown(self, name: str, path: KeyPath, block: KeyPath, visible: Sequence[str]) -> NoReturn:
        """Raise ``BadInput`` for ``name``, which an op in ``block`` reads at ``path`` and cannot see."""
        definition = self.tensors.get(name)
        if definition is None:
            self._refuse_undefined(name, path, visible)
        line = self.document.place(definition.path).line
        if block[: len(definition.block)] != definition.block:
            self._refuse_hidden(definition, line, path)
        if block == definition.block:
            self._refuse_around_exits(definition, line, path)
        what = f"'{name}' is read before it is defined, by '{definition.op}' on line {line}"
        hint = f"ops run in the order of the file: move '{definition.op}' before what reads it"
        self.refuse(path, what, f"{hint}; between iterations of a loop, use 'carry'")

    def _refuse_undefined(self, name: str, path: KeyPath, visible: Sequence[str]) -> NoReturn:
        gives = next(((p, op) for p, op in self.nodes if self.ops[p] == name), None)
        if gives is not None:
            outputs = ", ".join(f"'{n}'" for n, _ in self.outputs(gives[1], gives[0])) or "none"
            what = f"'{name}' is an op, and no tensor has this name; its outputs: {outputs}"
            self.refuse(path, what, "name one of its outputs")
        where = suggest(name, visible, "tensors here are") or "there are none yet: add one to 'inputs'"
        self.refuse(path, f"unknown tensor {shown(name)}", where)

    def _refuse_hidden(self, definition: TensorDefinition, line: int, path: KeyPath) -> NoReturn:
        if definition.block[:-1] in self.ops:
            owner = self.ops[definition.block[:-1]]
            what = f"'{definition.name}' (line {line}) exists only inside the loop '{owner}'"
            last = f"carry: {{H: {{from: FIRST, next: {definition.name}}}}} in '{owner}', and read H"
            hint = f"write collect: {{ALL: {definition.name}}} or {last}"
        else:
            end = -2 if definition.block[:-2] in self.ops else -3
            owner, arm = self.ops[definition.block[:end]], definition.block[end + 1]
            what = f"'{definition.name}' (line {line}) exists only inside the arm '{arm}' of '{owner}'"
            outputs = f"outputs: {{RESULT: {{{arm}: {definition.name}, ...}}}}"
            hint = f"write {outputs} in '{owner}', and read RESULT"
        self.refuse(path, what, hint)

    def _refuse_around_exits(self, definition: TensorDefinition, line: int, path: KeyPath) -> None:
        """Refuse reads that cross the end of a list with exits: inside the list, the outputs of the ``if``
        with exits do not exist yet; outside, tensors made after an exit exist only where it was not taken."""
        depth = len(definition.block)
        leaving = [
            p for p, op in self.nodes if p[:-1] == definition.block and isinstance(op, IfOp) and exits(op)
        ]
        inside = path[:depth] == definition.block
        if inside and definition.path[:-2] in leaving:
            why = f"'{definition.op}' (line {line}) exits"
            what = f"'{definition.name}' exists only after the end of this list: {why}"
            self.refuse(path, what, "read a tensor that the arm without exit makes")
        if not inside and leaving and leaving[0] < definition.path[: depth + 1]:
            gate = self.ops[leaving[0]]
            what = (
                f"'{definition.name}' (line {line}) does not exist on every path: '{gate}' may exit before it"
            )
            outputs = f"outputs: {{RESULT: {{ARM: TENSOR, OTHER: {definition.name}}}}}"
            hint = f"write {outputs} in '{gate}', and read RESULT"
            self.refuse(path, what, hint)


def walk(block: Sequence[AnyNode], path: KeyPath) -> Iterator[tuple[KeyPath, AnyNode]]:
    """Every op of ``block`` at any depth, in the order of the file, with its path."""
    for index, op in enumerate(block):
        here = (*path, index)
        yield here, op
        match op:
            case IfOp():
                for arm in op.arms:
                    yield from walk(*arm_block(op, here, arm))
            case LoopOp():
                yield from walk(op.ops, (*here, "ops"))
            case _:
                pass


def arm_block(op: IfOp, path: KeyPath, arm: str) -> tuple[Sequence[AnyNode], KeyPath]:
    """The ops of an arm of the ``if`` at ``path``, and the path of their list."""
    arm_nodes = op.arms[arm]
    if isinstance(arm_nodes, IfArm):
        return arm_nodes.ops, (*path, "arms", arm, "ops")
    return arm_nodes, (*path, "arms", arm)


def exits(op: IfOp) -> frozenset[str]:
    """The arms that exit, after which the list of ops around the ``if`` ends."""
    return frozenset(name for name, arm in op.arms.items() if isinstance(arm, IfArm) and arm.exit)


def reads(op: SimpleOp) -> tuple[str, ...] | None:
    """The names in `in`; None where it is left out."""
    if op.in_ is None:
        return None
    return (op.in_,) if isinstance(op.in_, str) else tuple(op.in_)


def _generated_name(kind: str, counts: dict[str, int], avoid: set[str]) -> str:
    while True:
        counts[kind] = counts.get(kind, 0) + 1
        name = f"{kind}_{counts[kind]}"
        if name not in avoid:
            avoid.add(name)
            return name
