"""Operations on scalars with Python's meaning.

Whole numbers have 64 bits: where Python's result does not fit, the compiled one wraps. Not checked, so that a
compiled function never fails: a divisor is not 0, a shift is by 0 to 63 bits, and a float made of a whole
number, or compared with one, loses what is beyond 53 bits.
"""

from __future__ import annotations

import ast

from solvers.search.native.types import BOOL, FLOAT, INT, WORD, Scalar, Untranslatable
from solvers.search.native.writer import ScalarValue, Writer

_INT_OPERATORS: dict[type[ast.operator], str] = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_FLOAT_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "fadd",
    ast.Sub: "fsub",
    ast.Mult: "fmul",
    ast.Div: "fdiv",
}
_BIT_OPERATORS: dict[type[ast.operator], str] = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("eq", "oeq"),
    ast.NotEq: ("ne", "une"),
    ast.Lt: ("slt", "olt"),
    ast.LtE: ("sle", "ole"),
    ast.Gt: ("sgt", "ogt"),
    ast.GtE: ("sge", "oge"),
}


def constant(value: object) -> ScalarValue:
    """A number of the program's text or of a module. Raises Untranslatable."""
    if isinstance(value, bool):
        return ScalarValue(BOOL, str(int(value)))
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        return ScalarValue(INT, str(value))
    if isinstance(value, float):
        return ScalarValue(FLOAT, _exact(value))
    raise Untranslatable(f"no number of 64 bits: {value!r}")


def _exact(value: float) -> str:
    """``value`` in hexadecimal, bit by bit, as LLVM reads it."""
    from struct import pack

    return "0x" + pack(">d", value).hex().upper()


def joined(one: Scalar, other: Scalar) -> Scalar:
    """The type that holds the values of both. Raises Untranslatable."""
    if one == other:
        return one
    if {one, other} <= {BOOL, INT}:
        return INT
    if {one, other} <= {BOOL, INT, FLOAT}:
        return FLOAT
    raise Untranslatable(f"a value is {one.name} here and {other.name} there")


def converted(writer: Writer, value: ScalarValue, to: Scalar) -> ScalarValue:
    """``value`` as a type that holds all values of its own. Raises Untranslatable."""
    if value.type == to:
        return value
    if joined(value.type, to) != to:
        raise Untranslatable(f"{value.type.name} where {to.name} is needed")
    if to == INT:
        return ScalarValue(INT, writer.compute(f"zext i1 {value.text} to i64"))
    kind = "uitofp" if value.type == BOOL else "sitofp"
    return ScalarValue(FLOAT, writer.compute(f"{kind} {value.type.llvm} {value.text} to double"))


def truth(writer: Writer, value: ScalarValue) -> ScalarValue:
    """Whether ``value`` is true in a condition."""
    if value.type == BOOL:
        return value
    compare = "fcmp une double" if value.type == FLOAT else "icmp ne i64"
    zero = "0.0" if value.type == FLOAT else "0"
    return ScalarValue(BOOL, writer.compute(f"{compare} {value.text}, {zero}"))


def binary(writer: Writer, operator: ast.operator, left: ScalarValue, right: ScalarValue) -> ScalarValue:
    """``left operator right``. Raises Untranslatable."""
    kind = type(operator)
    if WORD in (left.type, right.type):
        return _word_operation(writer, operator, left, right)
    both = joined(joined(left.type, right.type), FLOAT if kind is ast.Div else INT)
    if both == FLOAT:
        if kind not in _FLOAT_OPERATORS:
            raise Untranslatable(f"no {kind.__name__} of floats")
        a, b = converted(writer, left, FLOAT), converted(writer, right, FLOAT)
        return ScalarValue(FLOAT, writer.compute(f"{_FLOAT_OPERATORS[kind]} double {a.text}, {b.text}"))
    a, b = converted(writer, left, INT), converted(writer, right, INT)
    if kind is ast.FloorDiv or kind is ast.Mod:
        return _division(writer, a, b, remainder=kind is ast.Mod)
    operators = _INT_OPERATORS | _BIT_OPERATORS | {ast.LShift: "shl", ast.RShift: "ashr"}
    if kind not in operators:
        raise Untranslatable(f"no {kind.__name__} of whole numbers")
    return ScalarValue(INT, writer.compute(f"{operators[kind]} i64 {a.text}, {b.text}"))


def _word_operation(
    writer: Writer, operator: ast.operator, left: ScalarValue, right: ScalarValue
) -> ScalarValue:
    """A bit operation: a whole number stands for its lowest 64 bits."""
    operators = _BIT_OPERATORS | ({ast.LShift: "shl", ast.RShift: "lshr"} if right.type == INT else {})
    if type(operator) not in operators or not {left.type, right.type} <= {INT, WORD}:
        raise Untranslatable(f"no {type(operator).__name__} of {left.type.name} and {right.type.name}")
    return ScalarValue(WORD, writer.compute(f"{operators[type(operator)]} i64 {left.text}, {right.text}"))


def _division(writer: Writer, a: ScalarValue, b: ScalarValue, *, remainder: bool) -> ScalarValue:
    """Rounded down; the processor rounds towards 0."""
    rest = writer.compute(f"srem i64 {a.text}, {b.text}")
    uneven = writer.compute(f"icmp ne i64 {rest}, 0")
    signs = writer.compute(f"xor i64 {rest}, {b.text}")
    differ = writer.compute(f"icmp slt i64 {signs}, 0")
    lower = writer.compute(f"and i1 {uneven}, {differ}")
    if remainder:
        more = writer.compute(f"select i1 {lower}, i64 {b.text}, i64 0")
        return ScalarValue(INT, writer.compute(f"add i64 {rest}, {more}"))
    quotient = writer.compute(f"sdiv i64 {a.text}, {b.text}")
    one = writer.compute(f"zext i1 {lower} to i64")
    return ScalarValue(INT, writer.compute(f"sub i64 {quotient}, {one}"))


def compare(writer: Writer, operator: ast.cmpop, left: ScalarValue, right: ScalarValue) -> ScalarValue:
    """``left operator right``. Raises Untranslatable."""
    if type(operator) not in _COMPARISONS:
        raise Untranslatable(f"no comparison by {type(operator).__name__}")
    whole, fraction = _COMPARISONS[type(operator)]
    if WORD in (left.type, right.type):
        positive = all(v.type == WORD or v.text.isdigit() for v in (left, right))
        if not positive or whole not in ("eq", "ne"):
            raise Untranslatable("a word is only compared by == or !=, with a word or a constant")
        return ScalarValue(BOOL, writer.compute(f"icmp {whole} i64 {left.text}, {right.text}"))
    both = joined(joined(left.type, right.type), INT)
    a, b = converted(writer, left, both), converted(writer, right, both)
    kind = f"fcmp {fraction} double" if both == FLOAT else f"icmp {whole} i64"
    return ScalarValue(BOOL, writer.compute(f"{kind} {a.text}, {b.text}"))


def least_or_most(writer: Writer, name: str, values: list[ScalarValue]) -> ScalarValue:
    """``min`` or ``max`` of two or more; the first where several are equal."""
    both = INT
    for value in values:
        both = joined(both, value.type)
    best, *rest = (converted(writer, value, both) for value in values)
    operator = ast.Lt() if name == "min" else ast.Gt()
    for value in rest:
        better = compare(writer, operator, value, best)
        choice = f"select i1 {better.text}, {both.llvm} {value.text}, {both.llvm} {best.text}"
        best = ScalarValue(both, writer.compute(choice))
    return best


def negative(writer: Writer, value: ScalarValue) -> ScalarValue:
    """``-value``."""
    if value.type == FLOAT:
        return ScalarValue(FLOAT, writer.compute(f"fneg double {value.text}"))
    return binary(writer, ast.Sub(), ScalarValue(INT, "0"), value)


def absolute(writer: Writer, value: ScalarValue) -> ScalarValue:
    """``abs(value)``."""
    if value.type == FLOAT:
        return ScalarValue(FLOAT, writer.compute(f"call double @llvm.fabs.f64(double {value.text})"))
    return least_or_most(writer, "max", [value, negative(writer, value)])


def whole(writer: Writer, value: ScalarValue) -> ScalarValue:
    """``int(value)``: a fraction is cut off."""
    if value.type == FLOAT:
        return ScalarValue(INT, writer.compute(f"call i64 @llvm.fptosi.sat.i64.f64(double {value.text})"))
    return converted(writer, value, INT)
