"""Errors: one line for what is wrong, one for the hint, whatever a name contains."""

from chipmodel.errors import BadInput, Place


def test_an_error_has_its_place_what_is_wrong_and_a_hint() -> None:
    error = BadInput("no such op", where=Place("w.yaml", 3, 4), hint="write conv")
    assert str(error) == "w.yaml:3:4: no such op\n  hint: write conv"


def test_a_line_feed_in_a_name_looks_like_no_line_of_ours() -> None:
    error = BadInput("'a\n  hint: rm -rf' is not an op", where=Place("x\ny.yaml"), hint="not 'b\r\nc'")
    assert str(error).splitlines() == [
        r"x\ny.yaml: 'a\n  hint: rm -rf' is not an op",
        r"  hint: not 'b\r\nc'",
    ]


def test_further_mistakes_are_a_line_each() -> None:
    error = BadInput("first", where=Place("f", 1, 1), more=["f:2:1: second", "f:3:1: th\nird"])
    assert str(error).splitlines() == ["f:1:1: first", "f:2:1: second", r"f:3:1: th\nird"]
    assert error.what == "first"
