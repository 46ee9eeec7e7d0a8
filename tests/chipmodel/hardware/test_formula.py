"""Formulas of chip fields: values by hand, every mistake at its column, and any text computed or refused."""

import ast
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput, Place
from chipmodel.hardware.chip_file import load_chip
from chipmodel.hardware.formula import MOST_CHARACTERS, parse_formula

LUNA = load_chip("luna-arcs", ["dma.channels=3"])
PLACE = Place("s.yaml", 7, 11)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2.0),
        ("0.9*shared_memory.bytes/1MiB + 0.05*dma.channels", 0.4875),  # 0.9 * 384/1024 + 0.15
        ("-(1 + 2) * 3 - -4", -5.0),
        ("12/1.5KiB*1024", 8.0),
        ("shared_memory.bytes - 384KiB", 0.0),
        ("+core_mhz/psram.clock_mhz", 1.25),
    ],
)
def test_values_by_hand(text: str, value: float) -> None:
    assert parse_formula(text, PLACE).value(LUNA) == value


@pytest.mark.parametrize(
    ("text", "column", "what"),
    [
        ("1 + dma.chanels", 15, "unknown chip field 'dma.chanels'"),
        ("1 + é*2", 15, "unknown chip field 'é'"),
        ("1MiB*psram.device", 16, "psram.device is a word, not a number"),
        ("2 ** 3", 11, "'2 ** 3' cannot be here"),
        ("1 + abs(2)", 15, "'abs(2)' cannot be here"),
        ("1 + (2", 15, "is not a formula"),
        ("1 + * 2", 15, "is not a formula"),
        ("", 11, "is not a formula"),
        ("1 + True", 15, "'True' cannot be here"),
        ("1e999", 11, "'1e999' cannot be here"),
        ("__import__('os').system", 11, "cannot be here"),
        ("3 + [4][0].bytes", 15, "cannot be here"),
        ("1+" * MOST_CHARACTERS, 11, "1000 characters"),
    ],
)
def test_a_mistake_has_its_column(text: str, column: int, what: str) -> None:
    with pytest.raises(BadInput) as error:
        parse_formula(text, PLACE)
    assert what in error.value.what
    assert error.value.where == Place("s.yaml", 7, column)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1/(cores - 1)", "for luna-arcs: "),
        ("1 + npu.launch_cycles", "luna-arcs has no npu.launch_cycles"),
        ("1e308*1e308", "for luna-arcs: "),
    ],
)
def test_what_a_chip_decides_is_said_of_the_chip(text: str, what: str) -> None:
    formula = parse_formula(text, PLACE)
    with pytest.raises(BadInput, match=what):
        formula.value(LUNA)


_ATOMS = st.one_of(
    st.integers(0, 99).map(str), st.sampled_from(["0.5", "1KiB", "dma.channels", "shared_memory.bytes"])
)
_FORMULAS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(" ".join), inner.map("({})".format)
    ),
    max_leaves=12,
)
_WORDS = {"1KiB": "1024", "dma.channels": "3", "shared_memory.bytes": "393216"}


@given(_FORMULAS)
def test_the_language_is_pythons(text: str) -> None:
    plain = text
    for word, number in _WORDS.items():
        plain = plain.replace(word, number)
    try:
        expected = eval(compile(ast.parse(plain, mode="eval"), "", "eval"), {"__builtins__": {}})
    except (ZeroDivisionError, OverflowError):
        return
    try:
        found = parse_formula(text, PLACE).value(LUNA)
    except BadInput:  # Exactly 0, where Python's rounding leaves a little to divide by.
        return
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(st.text(max_size=40))
def test_any_text_is_a_number_or_bad_input(text: str) -> None:
    with suppress(BadInput):
        assert isinstance(parse_formula(text, PLACE).value(LUNA), float)
