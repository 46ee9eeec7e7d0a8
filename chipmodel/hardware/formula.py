"""A number of a chip by a formula of its fields, such as ``shared_memory.bytes/1MiB + 0.05*dma.channels``.

The language is Python's with nothing but numbers, sizes (``384KiB``), names of chip fields, ``+ - * /`` and
parentheses. A formula is parsed by ``ast`` and never executed as Python.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite

from chipmodel.errors import BadInput, Place
from chipmodel.files.sizes import UNITS
from chipmodel.files.suggestions import shown, suggest
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.fields import FIELDS, field_at, read_number
from chipmodel.records import dataclass

MOST_CHARACTERS = 500
"""Far more than a cost model takes, and few enough that no nesting exhausts Python's stack."""
HINT = "write numbers, sizes such as 1MiB, chip fields such as dma.channels, + - * / and parentheses"

_SIZE = re.compile(r"(?<![\w.])(?P<number>\d+(?:\.\d+)?)(?P<unit>[KMG]iB)\b")
Operators = Mapping[type[ast.AST], Callable[..., Fraction]]
FieldValue = Callable[[str, Place], Fraction]
_APPLY: Operators = {
    ast.Add: Fraction.__add__,
    ast.Sub: Fraction.__sub__,
    ast.Mult: Fraction.__mul__,
    ast.Div: Fraction.__truediv__,
    ast.USub: Fraction.__neg__,
    ast.UAdd: Fraction.__pos__,
}


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula that ``parse_formula`` has checked. ``place`` is where it begins in the user's file."""

    text: str
    place: Place

    def value(self, chip: Chip) -> float:
        """The number for ``chip``. Raises BadInput where it has no such field, or for a division by 0."""
        try:
            return float(_value(self, lambda name, place: _field(name, place, chip), _APPLY))
        except ArithmeticError as error:
            raise BadInput(
                f"{shown(self.text)} for {chip.name}: {error}", where=self.place, hint=HINT
            ) from None


def parse_formula(text: str, place: Place) -> Formula:
    """The formula in ``text``. Raises BadInput, at its line and column, for whatever is no formula."""
    formula = Formula(text, place)
    if len(text) > MOST_CHARACTERS:
        what = f"a formula of {len(text)} characters; {MOST_CHARACTERS} are the most"
        raise BadInput(what, where=place, hint="split it into several columns")
    _value(formula, _known_field, dict.fromkeys(_APPLY, lambda *_: Fraction(1)))
    return formula


def _known_field(name: str, place: Place) -> Fraction:
    """Any number for a field that chips may have. Raises BadInput for another."""
    field = field_at(name)
    if field is None:
        hint = suggest(name, FIELDS, "fields are")
        raise BadInput(f"unknown chip field {shown(name)}", where=place, hint=hint)
    if field.kind == "choice":
        raise BadInput(f"{name} is a word, not a number", where=place, hint=HINT)
    return Fraction(1)


def _parsed(formula: Formula) -> tuple[ast.expr, Mapping[int, Fraction]]:
    """The tree, in which a size is a name of as many characters, and the sizes by their columns."""
    sizes = list(_SIZE.finditer(formula.text))
    plain = _SIZE.sub(lambda match: "_" * len(match[0]), formula.text)
    try:
        tree = ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError) as error:
        column = (getattr(error, "offset", None) or 1) - 1
        what = f"{shown(formula.text)} is not a formula"
        raise BadInput(what, where=_place(formula, column), hint=HINT) from None
    return tree, {m.start(): Fraction(m["number"]) * UNITS[m["unit"].lower()] for m in sizes}


def _value(formula: Formula, field: FieldValue, apply: Operators) -> Fraction:
    """The number of a formula by the values of its fields. Raises BadInput for what the language has not."""
    tree, sizes = _parsed(formula)

    def value(node: ast.expr) -> Fraction:
        match node:
            case ast.BinOp(left, operator, right) if type(operator) in apply:
                return apply[type(operator)](value(left), value(right))
            case ast.UnaryOp(operator, operand) if type(operator) in apply:
                return apply[type(operator)](value(operand))
            case ast.Name() if node.col_offset in sizes:
                return sizes[node.col_offset]
            case ast.Name() | ast.Attribute() if _is_dotted(node):
                return field(ast.unparse(node), _place(formula, node.col_offset))
            case ast.Constant(int() | float() as number) if type(number) is not bool and isfinite(number):
                return Fraction(str(number))
            case _:
                what = f"{shown(ast.get_source_segment(formula.text, node) or formula.text)} cannot be here"
                raise BadInput(what, where=_place(formula, node.col_offset), hint=HINT)

    return value(tree)


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _field(name: str, place: Place, chip: Chip) -> Fraction:
    figure = chip.figures.get(name)
    if figure is None:
        hint = "use fields that every chip of the study has"
        raise BadInput(f"{chip.name} has no {name}", where=place, hint=hint)
    return read_number(name, figure.value, place)


def _place(formula: Formula, offset: int) -> Place:
    """Where the character at ``offset``, which ``ast`` counts in bytes of UTF-8, lies in the user's file."""
    before = formula.text.encode()[:offset].decode(errors="ignore")
    place = formula.place
    return Place(place.file, place.line, place.column + len(before)) if place.line else place
