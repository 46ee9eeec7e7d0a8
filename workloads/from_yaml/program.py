"""Read a YAML workload file as a Program. ``workloads.from_yaml.schema`` describes the format key by key.

Ops run in the order of the file. An op's outputs may be read by later ops of the same list and of the lists
inside it. After an ``if`` only its ``outputs`` may be read, after a loop what it carries and collects.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Unpack, get_args

from chipmodel.errors import BadInput, Place, UnknownSize
from chipmodel.files.suggestions import suggest
from chipmodel.files.yaml_file import read_yaml, validate
from chipmodel.files.yaml_tree import Document
from chipmodel.model.program import Node, Program, ops
from chipmodel.passes.validate import validate_program
from chipmodel.records import dataclass
from workloads.build.builder import ProgramBuilder
from workloads.build.loop_tensors import allocate, collect, hand_over, pick
from workloads.build.read_options import Reading, ReadOptions
from workloads.build.shapes import Value
from workloads.from_yaml import compute_ops, data_movement
from workloads.from_yaml.build_context import BuildContext, build_op, declare, notes_of
from workloads.from_yaml.field_types import MAX_COUNT, Dtype, KeyPath, NpuOp, WeightedOp
from workloads.from_yaml.names import AnyNode, NameTable, arm_block, exits, reads
from workloads.from_yaml.op_models import CustomOp, SimpleOp
from workloads.from_yaml.probabilities import iterations_of, probabilities_of
from workloads.from_yaml.schema import IfOp, LoopCarry, LoopOp, YamlWorkload, schema

__all__ = ["parse_yaml_program", "schema"]

OP_MODULES = (compute_ops, data_movement)
"""Imported for the ops that they register with ``build_op``."""


def parse_yaml_program(text: str, file: str, **options: Unpack[ReadOptions]) -> Program:
    """The program in ``text``; ``file`` is its name in messages."""
    return program_of(read_yaml(text, file), **options)


def program_of(document: Document, **options: Unpack[ReadOptions]) -> Program:
    """The program that a document describes, which may come from a file or from code."""
    file, reading = document.file, Reading(**options)
    dtype, shapes = reading.dtype, reading.shapes
    workload = validate(YamlWorkload, document)
    if dtype is not None and dtype not in get_args(Dtype):
        raise BadInput(f"unknown dtype '{dtype}'", hint=suggest(dtype, get_args(Dtype), "one of"))
    for name in shapes:
        if name not in workload.inputs:
            hint = suggest(name, workload.inputs, "its inputs are") or "it has no inputs"
            what = f"a shape is given for '{name}', which is not an input"
            raise UnknownSize(what, where=Place(file), hint=hint)
    names = NameTable(document, workload)
    builder = ProgramBuilder(workload.name, dtype or workload.dtype, file)
    builder.deadline = reading.deadline
    program = _WorkloadLoader(document, workload, names, builder).load(shapes)
    validate_program(program)
    return program


@dataclass
class _Scope:
    """The tensors that the ops of one list may read; ``previous`` is read by an op without `in`."""

    path: KeyPath
    outer: _Scope | None = None
    values: dict[str, Value] = field(default_factory=dict[str, Value])
    previous: Value | None = None
    no_previous: str = ""
    """The reason for an error message, where there is no ``previous``."""

    def find(self, name: str) -> Value | None:
        value = self.values.get(name)
        return self.outer.find(name) if value is None and self.outer else value

    def visible(self) -> Iterator[str]:
        yield from reversed(self.values)
        if self.outer:
            yield from self.outer.visible()

    def add(self, given: Mapping[str, Value], op: str) -> None:
        """Add the outputs of an op."""
        self.values |= given
        self.previous = next(iter(given.values())) if len(given) == 1 else None
        self.no_previous = f"the op before, '{op}', has {len(given) or 'no'} outputs"


@dataclass(frozen=True, slots=True)
class _WorkloadLoader:
    document: Document
    workload: YamlWorkload
    names: NameTable
    builder: ProgramBuilder

    def load(self, shapes: Mapping[str, tuple[int, ...]]) -> Program:
        top = _Scope(("ops",))
        for name, spec in self.workload.inputs.items():
            path = ("inputs", name)
            self.builder.place = self.document.place(path)
            shape = list(shapes[name]) if name in shapes else spec
            top.values[name] = declare(self.builder, name, shape, self.document, path, is_input=True)
            self._check_size(top.values[name], path)
        given = tuple(top.values.values())
        top.previous = given[0] if len(given) == 1 else None
        top.no_previous = f"the workload has {len(given) or 'no'} inputs"
        last = self._block(self.workload.ops, top)
        self._declare_outputs(top, last)
        program = self.builder.build()
        self._check_weights(program)
        return replace(program, notes=(*program.notes, *notes_of(program, self.names)))

    # -- lists of ops --------------------------------------------------------------------------

    def _block(self, block: Sequence[AnyNode], scope: _Scope, start: int = 0) -> dict[str, Value]:
        """Build the ops of ``block`` from ``start`` on; the outputs of the last one."""
        given: dict[str, Value] = {}
        for index, op in enumerate(block[start:], start):
            path = (*scope.path, index)
            self.builder.place = self.document.place(path)
            match op:
                case IfOp() if exits(op):
                    # The ops that follow are built in the arm that goes on.
                    given = self._if(op, path, scope, block)
                    scope.add(given, self.names.ops[path])
                    return given
                case IfOp():
                    given = self._if(op, path, scope)
                case LoopOp():
                    given = self._loop(op, path, scope)
                case _:
                    given = self._op(op, path, scope)
            scope.add(given, self.names.ops[path])
        return given

    def _op(self, op: SimpleOp, path: KeyPath, scope: _Scope) -> dict[str, Value]:
        name = self.names.ops[path]
        outputs = tuple(n for n, _ in self.names.outputs(op, path))
        inputs = self._inputs(op, path, scope)
        context = BuildContext(self.builder, self.document, path, name, inputs, outputs)
        built = build_op(op, context)
        values = built if isinstance(built, tuple) else (built,)
        if isinstance(op, NpuOp):
            size = None
            if isinstance(op, WeightedOp) and op.weights is not None:
                size = context.bytes(op.weights, "weights")
            scratch = None if op.scratch is None else context.bytes(op.scratch, "scratch")
            self.builder.override(cycles=op.cycles, weight_bytes=size, core=op.core, scratch=scratch)
        for value in values:
            self._check_size(value, path)
        return dict(zip(outputs, values, strict=True))

    def _inputs(self, op: SimpleOp, path: KeyPath, scope: _Scope) -> tuple[Value, ...]:
        named = reads(op)
        if named is None:
            if scope.previous is None:
                what = f"'{self.names.ops[path]}' does not say what it reads, and {scope.no_previous}"
                self.names.refuse(path, what, "add 'in: TENSOR'")
            return (scope.previous,)
        if not named and not isinstance(op, CustomOp):
            self.names.refuse(
                (*path, "in"), f"'{self.names.ops[path]}' reads nothing", "name a tensor in 'in'"
            )
        keys = [(*path, "in", i) for i in range(len(named))] if isinstance(op.in_, list) else [(*path, "in")]
        return tuple(self._find(n, k, scope) for n, k in zip(named, keys, strict=True))

    def _find(self, name: str, path: KeyPath, scope: _Scope) -> Value:
        value = scope.find(name)
        if value is None:
            self.names.refuse_unknown(name, path, scope.path, list(scope.visible()))
        return value

    # -- if ------------------------------------------------------------------------------------

    def _if(
        self, op: IfOp, path: KeyPath, scope: _Scope, block: Sequence[AnyNode] | None = None
    ) -> dict[str, Value]:
        """Build an ``if``; ``block`` is its list of ops where arms exit."""
        name, place = self.names.ops[path], self.builder.place
        going = self._arm_without_exit(op, path, block) if block is not None else None
        condition = None
        if op.condition is not None:
            condition = self._find(op.condition, (*path, "condition"), scope)
        self._check_arms(op, path, name)
        results: dict[str, Value] = {}
        arms: list[tuple[str, list[Node]]] = []
        for arm in op.arms:
            ops, where = arm_block(op, path, arm)
            inner = _Scope(where, scope, previous=scope.previous, no_previous=scope.no_previous)
            with self.builder.block() as body:
                self._block(ops, inner)
                if arm == going and block is not None:
                    inner = _Scope(scope.path, inner, {}, inner.previous, inner.no_previous)
                    self._block(block, inner, int(path[-1]) + 1)
                self.builder.place = place
                self._define_outputs(op, path, arm, inner, body, results)
            arms.append((arm, body))
        self.builder.place = place
        self.builder.add_if(name, arms, condition, probabilities_of(op, path, self.names))
        return results

    def _arm_without_exit(self, op: IfOp, path: KeyPath, block: Sequence[AnyNode]) -> str:
        """The one arm that does not exit, and goes on to the ops after the ``if``."""
        name, leaving = self.names.ops[path], exits(op)
        staying = [arm for arm in op.arms if arm not in leaving]
        if len(staying) != 1:
            listed = ", ".join(staying) or "none"
            what = f"'{name}' has {len(staying)} arms without exit, and needs one: {listed}"
            hint = "let one arm go on; it may hold another 'if'" if staying else "let one arm go on"
            self.names.refuse((*path, "arms"), what, hint)
        if path[-1] == len(block) - 1:
            where = (*path, "arms", next(iter(op.arms.keys() & leaving)), "exit")
            self.names.refuse(where, f"no op follows '{name}' that an exit could skip", "drop 'exit'")
        return staying[0]

    def _check_arms(self, op: IfOp, path: KeyPath, name: str) -> None:
        for output, given in op.outputs.items():
            where = (*path, "outputs", output)
            for arm in given:
                if arm not in op.arms:
                    hint = suggest(arm, op.arms, "its arms are")
                    self.names.refuse((*where, arm), f"'{name}' has no arm '{arm}'", hint)
            for arm in op.arms:
                if arm in given:
                    continue
                fault = "gives no tensor for it" if arm_block(op, path, arm)[0] else "is empty"
                what = f"'{name}' has the output '{output}', but the arm '{arm}' {fault}"
                self.names.refuse(
                    where, what, f"add '{arm}: TENSOR'; a tensor from before the 'if' is copied"
                )

    def _define_outputs(
        self, op: IfOp, path: KeyPath, arm: str, inner: _Scope, body: list[Node], results: dict[str, Value]
    ) -> None:
        """Let an arm, after it is built, define the outputs of its ``if``."""
        for output, given in op.outputs.items():
            where = (*path, "outputs", output, arm)
            value = self._find(given[arm], where, inner)
            first = results.setdefault(output, Value(output, value.shape, value.dtype))
            if (value.shape, value.dtype) != (first.shape, first.dtype):
                what = f"'{output}' is {_described(value)} in the arm '{arm}' and {_described(first)} before"
                self.names.refuse(where, what, "let every arm give the same shape and dtype")
            if value.name == output:
                continue
            if self.builder.defines(body, value.name) and value.name not in results:
                self.builder.rename(body, value.name, output)
                _rename(inner, value.name, output)
                continue
            copy = f"{self.names.ops[path]}.{arm}.{output}"
            self.builder.elementwise("copy", copy, [value], outputs=[output])
            self.builder.notes.append(f"the arm '{arm}' copies '{given[arm]}' to '{output}'")

    # -- loop ----------------------------------------------------------------------------------

    def _loop(self, op: LoopOp, path: KeyPath, scope: _Scope) -> dict[str, Value]:
        name, place = self.names.ops[path], self.builder.place
        carried: dict[str, Value] = {}
        for tensor, carry in op.carry.items():
            first = self._find(carry.from_, (*path, "carry", tensor, "from"), scope)
            carried[tensor] = self.builder.elementwise(
                "copy", f"{name}.{tensor}.first", [first], outputs=[tensor]
            )
        iterations, chances = iterations_of(op, path, self.names)
        inner = _Scope((*path, "ops"), scope, dict(carried))
        inner.no_previous = "it is the first op of the loop"
        wholes: dict[str, Value] = {}
        with self.builder.block() as body:
            for tensor, whole in op.each.items():
                inner.values[tensor] = self._each(tensor, whole, path, scope, iterations)
            self._block(op.ops, inner)
            self.builder.place = place
            for tensor, piece in op.collect.items():
                wholes[tensor] = self._collect(tensor, piece, path, inner, iterations)
            self._next_iteration(op.carry, path, inner, carried)
        kept = [tensor for tensor in wholes if iterations > 1]
        for tensor in kept:
            value = wholes[tensor]
            allocate(self.builder, f"{name}.{tensor}.room", tensor, value.shape, value.dtype)
        self.builder.add_loop(name, iterations, body, (*carried, *kept), chances)
        return carried | wholes

    def _each(self, tensor: str, whole: str, path: KeyPath, scope: _Scope, iterations: int) -> Value:
        where = (*path, "each", tensor)
        value = self._find(whole, where, scope)
        if value.shape[0] < iterations:
            what = f"'{whole}' is {_described(value)}: fewer slices than the {iterations} iterations"
            self.names.refuse(where, what, "its first axis must have one for every iteration")
        if value.bytes % value.shape[0]:
            what = f"a slice of '{whole}', which is {_described(value)}, is not a whole number of bytes"
            self.names.refuse(where, what, "take slices of whole bytes")
        return pick(self.builder, tensor, value, value.shape[0], value.shape[1:] or (1,))

    def _collect(self, tensor: str, piece: str, path: KeyPath, inner: _Scope, iterations: int) -> Value:
        name, where = self.names.ops[path], (*path, "collect", tensor)
        value = self._find(piece, where, inner)
        if not iterations:
            what = f"'{name}' makes no iteration, so '{tensor}' would be empty"
            self.names.refuse(where, what, "drop it, or let the loop run")
        whole = Value(tensor, (iterations, *value.shape), value.dtype)
        self._check_size(whole, where)
        if whole.bytes != iterations * value.bytes:
            what = f"'{piece}', which is {_described(value)}, is not a whole number of bytes"
            self.names.refuse(where, what, "collect slices of whole bytes")
        if iterations == 1:
            copied = self.builder.elementwise("copy", f"{name}.{tensor}.slice", [value], outputs=[tensor])
            return self.builder.reshape(copied, whole.shape)
        collect(self.builder, f"{name}.{tensor}.slice", value, whole, iterations)
        return whole

    def _next_iteration(
        self, carries: Mapping[str, LoopCarry], path: KeyPath, inner: _Scope, carried: Mapping[str, Value]
    ) -> None:
        """Copy the carried tensors' next values to where the next iteration reads them."""
        following: dict[str, Value] = {}
        for tensor, carry in carries.items():
            where = (*path, "carry", tensor, "next")
            value = following[tensor] = self._find(carry.next, where, inner)
            old = carried[tensor]
            if value.name == tensor:
                hint = "name the tensor with its next value; a tensor that never changes need not be carried"
                self.names.refuse(where, f"'{tensor}' is carried to itself", hint)
            if (value.shape, value.dtype) != (old.shape, old.dtype):
                what = f"'{carry.next}' is {_described(value)}, and '{tensor}' is {_described(old)}"
                self.names.refuse(where, what, "both must have the same shape and dtype")
        hand_over(self.builder, self.names.ops[path], following)

    # -- outputs and sizes ---------------------------------------------------------------------

    def _declare_outputs(self, top: _Scope, last: Mapping[str, Value]) -> None:
        listed = self.workload.outputs
        if listed is None and not last:
            what = "the workload lists no outputs, and its last op has none"
            self.names.refuse(("ops", len(self.workload.ops) - 1), what, "add 'outputs: [TENSOR]'")
        for index, name in enumerate(listed if listed is not None else last):
            path = ("outputs", index) if listed is not None else ("ops", len(self.workload.ops) - 1)
            value = self._find(name, path, top) if listed is not None else last[name]
            if listed is not None and name in listed[:index]:
                self.names.refuse(path, f"the output '{name}' is listed twice", "remove one of the two")
            if value.name in self.workload.inputs:
                what = f"the output '{name}' is the input '{value.name}' unchanged"
                self.names.refuse(path, what, "name a tensor that an op makes")
            self.builder.output(value)

    def _check_size(self, value: Value, path: KeyPath) -> None:
        if value.bytes > MAX_COUNT:
            what = f"'{value.name}' is {_described(value)}: more than 2^40 bytes"
            self.names.refuse(path, what, "check its sizes")

    def _check_weights(self, program: Program) -> None:
        for op in ops(program.body):
            for weight in op.weights:
                if program.weights[weight].bytes > MAX_COUNT:
                    what = f"the weights of '{op.name}' are more than 2^40 bytes"
                    raise BadInput(what, where=op.place, hint="check its sizes")


def _rename(scope: _Scope | None, old: str, new: str) -> None:
    while scope is not None:
        for name, value in scope.values.items():
            if value.name == old:
                scope.values[name] = Value(new, value.shape, value.dtype)
        scope = scope.outer


def _described(value: Value) -> str:
    return f"{list(value.shape)} {value.dtype}"
