"""Times with units."""

import pytest

from chipmodel.errors import BadInput
from chipmodel.files.sizes import parse_milliseconds


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
