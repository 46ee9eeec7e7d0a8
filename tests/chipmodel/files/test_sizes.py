"""Sizes in bytes and times with units: parsing, refusals with hints, and formatting."""

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput
from chipmodel.files.sizes import format_bytes, parse_bytes, parse_milliseconds
from tests.support.mistakes import mistakes


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (393216, 393216),
        (0, 0),
        ("393216", 393216),
        ("384KiB", 393216),
        ("384 KiB", 393216),
        ("384 kib", 393216),
        (" 8 MiB ", 8 << 20),
        ("2.5 MiB", 2_621_440),
        ("1GiB", 1 << 30),
        ("1,234 B", 1234),
        ("0.5 KiB", 512),
        ("640B", 640),
    ],
)
def test_sizes_are_parsed(value: int | str, size: int) -> None:
    assert parse_bytes(value) == size


@pytest.mark.parametrize(
    ("value", "what", "hint"),
    [
        *mistakes("size"),
        (-1, "negative", "384 KiB"),
        (True, "true is not a size", "384 KiB"),
        ("9" * 100_000, "not a size", "384 KiB"),
    ],
)
def test_wrong_sizes_are_refused(value: int | str, what: str, hint: str) -> None:
    with pytest.raises(BadInput, match=what) as caught:
        parse_bytes(value)
    assert hint in caught.value.hint
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (0, "0 B"),
        (1234, "1,234 B"),
        (393216, "384 KiB"),
        (8 << 20, "8 MiB"),
        (3 << 29, "1,536 MiB"),
        (1 << 30, "1 GiB"),
    ],
)
def test_sizes_are_formatted(n: int, text: str) -> None:
    assert format_bytes(n) == text


@given(st.integers(min_value=0, max_value=1 << 60), st.sampled_from([1, 1 << 10, 1 << 20, 1 << 30]))
def test_a_formatted_size_parses_to_itself(n: int, factor: int) -> None:
    assert parse_bytes(format_bytes(n * factor)) == n * factor


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("3.6s", 3600), ("20ms", 20), (" 850us ", 0.85), ("850 µs", 0.85), ("0.5 s", 500)],
)
def test_a_time_is_a_number_and_a_unit(text: str, milliseconds: float) -> None:
    assert parse_milliseconds(text) == pytest.approx(milliseconds)


@pytest.mark.parametrize("text", ["3.6", "s", "-3s", "0ms", "1e3s", "3 min", ""])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not a time"):
        parse_milliseconds(text)
