"""Whole programs: functions that are called from outside, and all that they call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from solvers.search.native.expressions import declared, symbol
from solvers.search.native.statements import translate
from solvers.search.native.types import NOTHING, Scalar, Signature, signature

Function = Callable[..., Any]


def program(entries: Sequence[Function]) -> str:
    """The text of a module in LLVM's language in which ``entries`` can be called by their plain names.

    Raises Untranslatable, with file and line, for a function that leaves the subset.
    """
    definitions: dict[Function, str] = {}
    waiting = list(entries)
    while waiting:
        function = waiting.pop()
        if function not in definitions:
            definitions[function], called = translate(function)
            waiting += called
    doors = [_door(function) for function in entries]
    declarations = ["declare double @llvm.fabs.f64(double)", "declare i64 @llvm.fptosi.sat.i64.f64(double)"]
    # Without built-ins: else the short loops over words become calls of memset and memcpy.
    attributes = 'attributes #0 = { nounwind "no-builtins" }\n\n!0 = !{}\n'
    return "\n\n".join([*declarations, *definitions.values(), *doors, attributes])


def modules_of(entries: Sequence[Function]) -> frozenset[str]:
    """The modules whose functions ``entries`` call, directly or not, themselves included."""
    found: set[Function] = set()
    waiting = list(entries)
    while waiting:
        function = waiting.pop()
        if function not in found:
            found.add(function)
            waiting += translate(function)[1]
    return frozenset(function.__module__ for function in found)


def _door(function: Function) -> str:
    types: Signature = signature(function)
    head = ", ".join(declared(name, kind) for name, kind in types.parameters)
    result = types.result.llvm
    call = f"call {result} {symbol(function)}({head})"
    body = f"  {call}\n  ret void" if types.result == NOTHING else f"  %r = {call}\n  ret {result} %r"
    return f"define {_extended(types.result)} @{function.__name__}({head}) #0 {{\n{body}\n}}"


def _extended(kind: Scalar) -> str:
    return f"zeroext {kind.llvm}" if kind.llvm == "i1" else kind.llvm
