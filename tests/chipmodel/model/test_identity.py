"""Keys by identity."""

from chipmodel.model.identity import Same


def test_equal_values_are_different_keys() -> None:
    first, second = [1], [1]
    known = {Same(first): "first"}
    assert known.get(Same(first)) == "first"
    assert known.get(Same(second)) is None
    assert Same(first) != first
