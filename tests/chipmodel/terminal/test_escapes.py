"""What is printed shows and does nothing else; different names are never shown alike."""

import re
import sys
import unicodedata

import pytest
from hypothesis import given, strategies as st

from chipmodel.terminal.escapes import cell_text, escape, printable, printable_line, visible

HOSTILE = (
    "\x00\a\b\r\x1b\x7f\x85\x9b\xad\u034f\u061c\u200b\u200d\u200e\u2028\u202a\u202e\u2066\u2069"
    "\u3164\ud800\udfff\ufe0f\ufeff\uffa0\ufff9\uffff\U000e0001\U000e0100\U000e0020"
)


def seen(shown: str) -> str:
    """The name that ``visible`` shows so: the only one."""

    def read(found: re.Match[str]) -> str:
        slashes, digits = found[1], found[2]
        half = "\\" * (len(slashes) // 2)
        return half + (chr(int(digits[1:], 16)) if len(slashes) % 2 else digits)

    return re.sub(r"(\\+)(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})", read, shown)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("conv_1/ReLU:0", "conv_1/ReLU:0"),
        ("naïve · 日本語 µs", "naïve · 日本語 µs"),
        ("\x1b[31mred", r"\x1b[31mred"),
        (r"\x1b[31mred", r"\\x1b[31mred"),
        (r"\\x1b", r"\\\\x1b"),
        ("\\\x1b", r"\\\x1b"),
        (r"C:\new\models", r"C:\new\models"),
        ("a\u202eb\tc\nd", r"a\u202eb\x09c\x0ad"),
        ("\U000e0041", r"\U000e0041"),
        ("a\u00a0b", r"a\xa0b"),
        ("end\\", "end\\"),
    ],
)
def test_a_name_is_shown_on_one_line(name: str, shown: str) -> None:
    assert visible(name) == shown
    assert seen(shown) == name


@given(st.text(st.sampled_from(HOSTILE + "\\\\\\\\x1bu202eU0001abcé\n\t"), max_size=12))
def test_every_name_can_be_told_from_what_is_shown(name: str) -> None:
    shown = visible(name)
    assert shown.isprintable()
    assert seen(shown) == name
    assert printable(shown) == shown == printable_line(shown)


def test_no_character_that_is_not_drawn_is_left() -> None:
    for number in range(sys.maxunicode + 1):
        kind = unicodedata.category(chr(number))
        if kind in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert visible(chr(number)) == escape(chr(number))
            assert printable(chr(number)) in (escape(chr(number)), "\n", "\t")
    for character in HOSTILE:
        assert printable(f"a{character}b") == f"a{escape(character)}b"


def test_a_composed_text_keeps_its_lines_and_spaces_and_what_is_escaped_in_it() -> None:
    text = "error: w.yaml:3:1: unknown op '\\x1b[31m' of 1\u2009000\n\thint: \u00a0none"
    assert printable(text) == text
    assert printable("a\x1b\nb") == "a\\x1b\nb"


def test_one_line_keeps_the_line_feed_before_it_only() -> None:
    assert printable_line("\nCores") == "\nCores"
    assert printable_line("a\n  hint: b\tc\x1b") == r"a\x0a  hint: b\x09c\x1b"


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-a", "@SUM(A1)", "-", "=\u202e"])
def test_a_cell_is_no_formula(text: str) -> None:
    assert cell_text(text) == f"'{printable(text)}"


@pytest.mark.parametrize("text", ["-5", "+1.5e-3", "-0.25", "conv=1", "a-b", ""])
def test_numbers_and_other_texts_are_cells_as_they_are(text: str) -> None:
    assert cell_text(text) == text
