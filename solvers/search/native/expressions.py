"""Expressions of compiled functions.

The subset: names; numbers, and those of modules as ``NAME`` or ``module.NAME``; ``record.array``,
``array.shape[0]`` and ``[1]``; ``array[i]``, ``array[i, j]`` with indices from 0, which are not checked;
``+ - * / // % << >> & | ^``; single comparisons; ``and``, ``or`` and ``not``, of any scalars in conditions
and of bools elsewhere; ``a if b else c``; ``min``, ``max``, ``abs``, ``int``, ``float``, ``bool``; calls of
other compiled functions by name.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from solvers.search.native.arithmetic import (
    absolute,
    binary,
    compare,
    constant,
    converted,
    joined,
    least_or_most,
    negative,
    truth,
    whole,
)
from solvers.search.native.mark import is_compiled
from solvers.search.native.types import (
    BOOL,
    FLOAT,
    INT,
    NOTHING,
    Record,
    Scalar,
    Table,
    Type,
    Untranslatable,
    signature,
)
from solvers.search.native.writer import AnyValue, RecordValue, ScalarValue, TableValue, Writer

Function = Callable[..., Any]
BUILT_IN = ("min", "max", "abs", "int", "float", "bool")


def symbol(function: Function) -> str:
    """The name of a compiled function in the machine code."""
    return f'@"{function.__module__}.{function.__qualname__}"'


def declared(name: str, kind: Type) -> str:
    """A parameter in a function's head: an array is its address, rows and columns."""
    if isinstance(kind, Scalar):
        return f"{kind.llvm} %{name}"
    if isinstance(kind, Record):
        return f"ptr %{name}"
    return f"ptr %{name}, i64 %{name}.rows, i64 %{name}.columns"


class Names:
    """What the names in a function mean: arrays and records, variables, and what is outside of it."""

    def __init__(self, outside: Mapping[str, object], scalars: Mapping[str, Scalar]) -> None:
        self.outside = outside
        self.arrays: dict[str, TableValue | RecordValue] = {}
        self.scalars = dict(scalars)
        """Types of the variables; an assignment of another type widens it, and the function is written
        again."""
        self.slots: dict[str, str] = {}
        self.called: list[Function] = []


class Expressions:
    """Writes the expressions of one function."""

    def __init__(self, writer: Writer, names: Names) -> None:
        self.writer, self.names = writer, names

    def any(self, node: ast.expr) -> AnyValue:
        """The value of an expression, which may be an array. Raises Untranslatable."""
        if isinstance(node, ast.Name) and node.id in self.names.arrays:
            return self.names.arrays[node.id]
        if isinstance(node, ast.Attribute):
            owner = self.any(node.value) if self._is_array(node.value) else None
            if isinstance(owner, RecordValue):
                return self._field(owner, node.attr)
        return self.scalar(node)

    def _is_array(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute):
            return self._is_array(node.value)
        return isinstance(node, ast.Name) and node.id in self.names.arrays

    def _field(self, owner: RecordValue, name: str) -> TableValue:
        names = [field for field, _ in owner.record.fields]
        if name not in names:
            raise Untranslatable(f"the record has no {name}")
        parts = [f"%{self.writer.fresh('part')}" for _ in range(3)]
        for number, (part, kind) in enumerate(zip(parts, ("ptr", "i64", "i64"), strict=True)):
            at = 3 * names.index(name) + number
            address = self.writer.compute(f"getelementptr inbounds i64, ptr {owner.address}, i64 {at}")
            self.writer.do(f"{part} = load {kind}, ptr {address}, !invariant.load !0")
        return TableValue(owner.record.fields[names.index(name)][1], *parts)

    def scalar(self, node: ast.expr) -> ScalarValue:
        """The value of an expression that is no array. Raises Untranslatable."""
        match node:
            case ast.Constant() | ast.Name() | ast.Attribute() | ast.Subscript():
                return self._leaf(node)
            case ast.BinOp(left, operator, right):
                return binary(self.writer, operator, self.scalar(left), self.scalar(right))
            case ast.UnaryOp():
                return self._unary(node)
            case ast.Compare(left, [operator], [right]):
                return compare(self.writer, operator, self.scalar(left), self.scalar(right))
            case ast.BoolOp():
                return self._short_circuit(node, self._only_bool)
            case ast.IfExp():
                return self._either(node)
            case ast.Call(ast.Name(name), arguments, []):
                return self._call(name, arguments)
            case _:
                raise Untranslatable(f"outside the subset: {ast.unparse(node)}")

    def _leaf(self, node: ast.expr) -> ScalarValue:
        match node:
            case ast.Constant(value):
                return constant(value)
            case ast.Name(name):
                return self._name(name)
            case ast.Attribute(ast.Name(owner), name):
                return self._of_module(owner, name)
            case ast.Subscript():
                return self._element(node)
            case _:
                raise Untranslatable(f"outside the subset: {ast.unparse(node)}")

    def _unary(self, node: ast.UnaryOp) -> ScalarValue:
        match node:
            case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
                return constant(-value)
            case ast.UnaryOp(ast.USub(), operand):
                return negative(self.writer, self.scalar(operand))
            case ast.UnaryOp(ast.Not(), operand):
                return self._not(self.condition(operand))
            case _:
                raise Untranslatable(f"outside the subset: {ast.unparse(node)}")

    def condition(self, node: ast.expr) -> ScalarValue:
        """Whether the value of an expression is true."""
        match node:
            case ast.BoolOp():
                return self._short_circuit(node, self.condition)
            case ast.UnaryOp(ast.Not(), operand):
                return self._not(self.condition(operand))
            case _:
                return truth(self.writer, self.scalar(node))

    def _only_bool(self, node: ast.expr) -> ScalarValue:
        value = self.scalar(node)
        if value.type != BOOL:
            raise Untranslatable(f"and, or of {value.type.name} as a value: {ast.unparse(node)}")
        return value

    def _not(self, value: ScalarValue) -> ScalarValue:
        return ScalarValue(BOOL, self.writer.compute(f"xor i1 {value.text}, 1"))

    def _short_circuit(self, node: ast.BoolOp, part: Callable[[ast.expr], ScalarValue]) -> ScalarValue:
        """``and``, ``or``: what follows a part that decides is not computed."""
        result, done = self.writer.slot("i1"), self.writer.fresh("done")
        for number, operand in enumerate(node.values):
            value = part(operand)
            self.writer.store(value, result)
            if number + 1 < len(node.values):
                more = self.writer.fresh("more")
                yes, no = (more, done) if isinstance(node.op, ast.And) else (done, more)
                self.writer.fork(value, yes, no)
                self.writer.begin(more)
        self.writer.begin(done)
        return self.writer.load(BOOL, result)

    def _either(self, node: ast.IfExp) -> ScalarValue:
        # Both sides are written once to learn their types, and dropped; then with the type that holds both.
        draft = Expressions(Writer(), self.names)
        kind = joined(draft.scalar(node.body).type, draft.scalar(node.orelse).type)
        result = self.writer.slot(kind.llvm)
        yes, no, done = (self.writer.fresh(name) for name in ("yes", "no", "done"))
        self.writer.fork(self.condition(node.test), yes, no)
        for label, side in ((yes, node.body), (no, node.orelse)):
            self.writer.begin(label)
            self.writer.store(converted(self.writer, self.scalar(side), kind), result)
            self.writer.jump(done)
        self.writer.begin(done)
        return self.writer.load(kind, result)

    def _name(self, name: str) -> ScalarValue:
        if name in self.names.slots:
            return self.writer.load(self.names.scalars[name], self.names.slots[name])
        if name in self.names.outside and name not in self.names.scalars:
            return constant(self.names.outside[name])
        raise Untranslatable(f"no number: {name}")

    def _of_module(self, owner: str, name: str) -> ScalarValue:
        module = self.names.outside.get(owner)
        if not isinstance(module, ModuleType) or owner in self.names.scalars or not hasattr(module, name):
            raise Untranslatable(f"no number of a module: {owner}.{name}")
        return constant(getattr(module, name))

    def _element(self, node: ast.Subscript) -> ScalarValue:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            table = self.any(node.value.value)
            axis = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(table, TableValue) and axis in (0, 1):
                return ScalarValue(INT, table.columns if axis else table.rows)
            raise Untranslatable(f"only shape[0] and shape[1] of arrays: {ast.unparse(node)}")
        kind, address = self.place(node)
        return self.writer.load(kind, address)

    def place(self, node: ast.Subscript) -> tuple[Scalar, str]:
        """The type and address of an element of an array."""
        table = self.any(node.value)
        if not isinstance(table, TableValue):
            raise Untranslatable(f"no array: {ast.unparse(node.value)}")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if len(parts) > 2:
            raise Untranslatable(f"arrays have at most two dimensions: {ast.unparse(node)}")
        at = [converted(self.writer, self.scalar(part), INT).text for part in parts]
        index = at[0]
        if len(at) == 2:
            row = self.writer.compute(f"mul nsw i64 {at[0]}, {table.columns}")
            index = self.writer.compute(f"add nsw i64 {row}, {at[1]}")
        element = table.table.element
        address = f"getelementptr inbounds {element.llvm}, ptr {table.address}, i64 {index}"
        return element, self.writer.compute(address)

    def _call(self, name: str, arguments: list[ast.expr]) -> ScalarValue:
        function = self.names.outside.get(name)
        if is_compiled(function) and callable(function):
            return self._call_compiled(function, arguments)
        if function is not None or name not in BUILT_IN:
            raise Untranslatable(f"no compiled function: {name}")
        if name == "bool" and len(arguments) == 1:
            return self.condition(arguments[0])
        values = [self.scalar(argument) for argument in arguments]
        if name in ("min", "max") and len(values) > 1:
            return least_or_most(self.writer, name, values)
        if len(values) == 1 and name == "abs":
            return absolute(self.writer, values[0])
        if len(values) == 1 and name == "int":
            return whole(self.writer, values[0])
        if len(values) == 1 and name == "float":
            return converted(self.writer, values[0], FLOAT)
        raise Untranslatable(f"{name} of {len(values)} values")

    def _call_compiled(self, function: Function, arguments: list[ast.expr]) -> ScalarValue:
        types = signature(function)
        if len(arguments) != len(types.parameters):
            raise Untranslatable(f"{function.__name__} takes {len(types.parameters)} values")
        given = [
            self._argument(argument, kind)
            for argument, (_, kind) in zip(arguments, types.parameters, strict=True)
        ]
        self.names.called.append(function)
        call = f"call {types.result.llvm} {symbol(function)}({', '.join(given)})"
        if types.result == NOTHING:
            self.writer.do(call)
            return ScalarValue(NOTHING, "")
        return ScalarValue(types.result, self.writer.compute(call))

    def _argument(self, node: ast.expr, kind: Type) -> str:
        value = self.any(node)
        if isinstance(value, ScalarValue) and isinstance(kind, Scalar):
            return f"{kind.llvm} {converted(self.writer, value, kind).text}"
        if isinstance(value, TableValue) and isinstance(kind, Table) and value.table == kind:
            return f"ptr {value.address}, i64 {value.rows}, i64 {value.columns}"
        if isinstance(value, RecordValue) and isinstance(kind, Record) and value.record == kind:
            return f"ptr {value.address}"
        raise Untranslatable(f"a value of another type is needed: {ast.unparse(node)}")
