"""Statements of compiled functions, and whole functions.

The subset: assignments to variables, to elements of arrays, of several values at once, and ``x += y`` and its
like; arrays are given names at the function's top level, once each; ``if``, ``while``, ``for ... in range``
with a constant step, ``break``, ``continue``, ``return``; calls. Nothing is allocated and nothing raised.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from solvers.search.native.arithmetic import binary, converted, joined
from solvers.search.native.expressions import Expressions, Names, declared, symbol
from solvers.search.native.types import (
    BOOL,
    INT,
    NOTHING,
    Record,
    Scalar,
    Signature,
    Untranslatable,
    signature,
)
from solvers.search.native.writer import RecordValue, ScalarValue, TableValue, Writer

Function = Callable[..., Any]


def translate(function: Function) -> tuple[str, list[Function]]:
    """The definition of ``function`` in LLVM's language, and the compiled functions that it calls.

    Raises Untranslatable, with file and line, where it leaves the subset.
    """
    types = signature(function)
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    scalars = {name: kind for name, kind in types.parameters if isinstance(kind, Scalar)}
    while True:
        names = Names(function.__globals__, scalars)
        writer = Writer()
        _FunctionBody(function, types, writer, names).write(tree)
        if names.scalars == scalars:
            break
        scalars = names.scalars
    head = ", ".join(declared(name, kind) for name, kind in types.parameters)
    definition = f"define internal {types.result.llvm} {symbol(function)}({head}) #0 {{\n{writer.text()}\n}}"
    return definition, names.called


class _FunctionBody:
    def __init__(self, function: Function, types: Signature, writer: Writer, names: Names) -> None:
        self.function, self.types, self.writer, self.names = function, types, writer, names
        self.expressions = Expressions(writer, names)
        self.loops: list[tuple[str, str]] = []
        """Labels of the loops around: where ``continue`` and ``break`` lead."""
        self.depth = 0

    def write(self, tree: ast.FunctionDef) -> None:
        """Write the whole body."""
        for name, kind in self.types.parameters:
            if isinstance(kind, Scalar):
                self._assign(name, ScalarValue(kind, f"%{name}"))
            elif isinstance(kind, Record):
                self.names.arrays[name] = RecordValue(kind, f"%{name}")
            else:
                parts = (f"%{name}", f"%{name}.rows", f"%{name}.columns")
                self.names.arrays[name] = TableValue(kind, *parts)
        self._block(tree.body)
        # Python returns None here; where a value is promised, mypy has shown that this is not reached.
        result = self.types.result
        zero = ScalarValue(result, "0.0" if result.llvm == "double" else "0")
        self.writer.leave(None if result == NOTHING else zero)

    def _block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            try:
                self._statement(statement)
            except Untranslatable as error:
                if ".py:" in str(error):
                    raise
                line = self.function.__code__.co_firstlineno + statement.lineno - 1
                raise Untranslatable(f"{self.function.__code__.co_filename}:{line}: {error}") from None

    def _nested(self, statements: list[ast.stmt]) -> None:
        self.depth += 1
        self._block(statements)
        self.depth -= 1

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets, value):
                self._assignment(targets, value)
            case ast.AugAssign(target, operator, value):
                self._change(target, operator, value)
            case ast.If(test, body, orelse):
                self._if(test, body, orelse)
            case ast.While(test, body, []):
                self._while(test, body)
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), arguments, []), body, []):
                self._for(name, arguments, body)
            case ast.Return(value):
                self._return(value)
            case ast.Break() | ast.Continue():
                self.writer.jump(self.loops[-1][isinstance(node, ast.Break)])
                self.writer.begin(self.writer.fresh("unreached"))
            case ast.Expr(ast.Constant(str())) | ast.Pass():
                pass
            case ast.Expr(ast.Call() as call):
                self.expressions.scalar(call)
            case _:
                raise Untranslatable(f"outside the subset: {ast.unparse(node)}")

    def _assignment(self, targets: list[ast.expr], value: ast.expr) -> None:
        target = targets[0]
        if len(targets) == 1 and isinstance(target, ast.Tuple):
            if not isinstance(value, ast.Tuple) or len(value.elts) != len(target.elts):
                raise Untranslatable("several variables get as many values")
            found = [self.expressions.any(part) for part in value.elts]
            for part, one in zip(target.elts, found, strict=True):
                self._store(part, one)
            return
        single = self.expressions.any(value)
        for target in targets:
            self._store(target, single)

    def _store(self, target: ast.expr, value: ScalarValue | TableValue | RecordValue) -> None:
        if isinstance(target, ast.Subscript) and isinstance(value, ScalarValue):
            kind, address = self.expressions.place(target)
            self.writer.store(self._as_element(value, kind), address)
        elif isinstance(target, ast.Name) and isinstance(value, ScalarValue):
            self._assign(target.id, value)
        elif isinstance(target, ast.Name) and not isinstance(value, ScalarValue):
            if self.depth or target.id in self.names.arrays or target.id in self.names.scalars:
                raise Untranslatable(f"an array gets its name once, at the top level: {target.id}")
            self.names.arrays[target.id] = value
        else:
            raise Untranslatable(f"no place for this value: {ast.unparse(target)}")

    def _as_element(self, value: ScalarValue, kind: Scalar) -> ScalarValue:
        """A whole number may be stored among words: its lowest 64 bits."""
        if value.type == INT and kind.name == "word":
            return ScalarValue(kind, value.text)
        return converted(self.writer, value, kind)

    def _assign(self, name: str, value: ScalarValue) -> None:
        if value.type == NOTHING or name in self.names.arrays:
            raise Untranslatable(f"no number for {name}")
        kind = joined(self.names.scalars.get(name, value.type), value.type)
        self.names.scalars[name] = kind
        if name not in self.names.slots:
            self.names.slots[name] = self.writer.slot(kind.llvm)
        self.writer.store(converted(self.writer, value, kind), self.names.slots[name])

    def _change(self, target: ast.expr, operator: ast.operator, value: ast.expr) -> None:
        """``target operator= value``; the place of an element is computed once."""
        if isinstance(target, ast.Name):
            old = self.expressions.scalar(ast.Name(target.id, ast.Load()))
            self._assign(target.id, binary(self.writer, operator, old, self.expressions.scalar(value)))
        elif isinstance(target, ast.Subscript):
            kind, address = self.expressions.place(target)
            old = self.writer.load(kind, address)
            new = binary(self.writer, operator, old, self.expressions.scalar(value))
            self.writer.store(converted(self.writer, new, kind), address)
        else:
            raise Untranslatable(f"no place: {ast.unparse(target)}")

    def _if(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        yes, no, done = (self.writer.fresh(name) for name in ("then", "else", "endif"))
        self.writer.fork(self.expressions.condition(test), yes, no)
        self.writer.begin(yes)
        self._nested(body)
        self.writer.jump(done)
        self.writer.begin(no)
        self._nested(orelse)
        self.writer.begin(done)

    def _while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        again, inside, done = (self.writer.fresh(name) for name in ("again", "inside", "after"))
        self.writer.begin(again)
        self.writer.fork(self.expressions.condition(test), inside, done)
        self.writer.begin(inside)
        self.loops.append((again, done))
        self._nested(body)
        self.loops.pop()
        self.writer.jump(again)
        self.writer.begin(done)

    def _for(self, name: str, arguments: list[ast.expr], body: list[ast.stmt]) -> None:
        """A counter of its own: neither a change of the variable nor of the limit changes the iterations."""
        parts = [converted(self.writer, self.expressions.scalar(part), INT) for part in arguments]
        first = parts[0] if len(parts) > 1 else ScalarValue(INT, "0")
        stop = parts[min(1, len(parts) - 1)]
        step = int(parts[2].text) if len(parts) > 2 and parts[2].text.lstrip("-").isdigit() else 1
        if len(parts) > 2 and (step == 0 or parts[2].text.startswith("%")):
            raise Untranslatable("the step of a range is a constant, and not 0")
        counter = self.writer.slot("i64")
        self.writer.store(first, counter)
        again, inside, more, done = (self.writer.fresh(n) for n in ("again", "inside", "more", "after"))
        self.writer.begin(again)
        now = self.writer.load(INT, counter)
        order = "slt" if step > 0 else "sgt"
        test = self.writer.compute(f"icmp {order} i64 {now.text}, {stop.text}")
        self.writer.fork(ScalarValue(BOOL, test), inside, done)
        self.writer.begin(inside)
        self._assign(name, now)
        self.loops.append((more, done))
        self._nested(body)
        self.loops.pop()
        self.writer.begin(more)
        self.writer.store(ScalarValue(INT, self.writer.compute(f"add nsw i64 {now.text}, {step}")), counter)
        self.writer.jump(again)
        self.writer.begin(done)

    def _return(self, node: ast.expr | None) -> None:
        value = None if node is None else self.expressions.scalar(node)
        if value is None or value.type == NOTHING:
            if self.types.result != NOTHING:
                raise Untranslatable("a value is to be returned")
            self.writer.leave(None)
        else:
            self.writer.leave(converted(self.writer, value, self.types.result))
        self.writer.begin(self.writer.fresh("unreached"))
