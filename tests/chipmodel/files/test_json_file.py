import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput, Place
from chipmodel.files.json_file import JsonValue, read_json
from tests.support.narrowed import some

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def _counts(node: JsonValue) -> tuple[int, ...]:
    return node.each(JsonValue.count)


def place_of(node: JsonValue) -> Place:
    with pytest.raises(BadInput) as refused:
        node.fail("no")
    return some(refused.value.where)


def everything(node: JsonValue) -> list[JsonValue]:
    """``node`` and all below it."""
    found = [node]
    if isinstance(node.value, dict):
        for key in node.mapping():
            found += everything(node.at(key))
    elif isinstance(node.value, list):
        for nodes in node.each(everything):
            found += nodes
    return found


@given(values, st.sampled_from([None, 0, 1, 4]), st.booleans())
def test_an_error_names_the_position_of_its_value(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    lines = text.split("\n")
    for node in everything(read_json(text, "f.json", "")):
        place = place_of(node)
        rest = "\n".join([lines[place.line - 1][place.column - 1 :], *lines[place.line :]])
        found, _ = json.JSONDecoder().raw_decode(rest)
        assert found == node.value


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ('{"a": 1,\n "b" 2}', 2, 6, "Expecting ':'"),
        ("", 1, 1, "Expecting value"),
        ('{"a": 1,\n "a": 2}', 2, 2, "the key 'a' is given twice"),
        ('{"a": ["a", {"a": 1}],\n "b": {"a": 1, "\\u0061": "}"}}', 2, 16, "the key 'a' is given twice"),
        ('{"n": ' + "9" * 5000 + "}", 0, 0, "too long"),
        ("[" * 100_000, 0, 0, "nested too deeply"),
    ],
)
def test_what_is_not_json_is_refused(text: str, line: int, column: int, what: str) -> None:
    with pytest.raises(BadInput, match=what) as refused:
        read_json(text, "f.json", "fix it")
    assert refused.value.where == Place("f.json", line, column)
    assert refused.value.hint == "fix it"


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (JsonValue.count, "-1"),
        (JsonValue.count, "1.5"),
        (JsonValue.count, "true"),
        (JsonValue.number, '"1"'),
        (JsonValue.number, "NaN"),
        (JsonValue.number, "true"),
        (JsonValue.text, "1"),
        (JsonValue.flag, "1"),
        (JsonValue.mapping, "[]"),
        (_counts, "{}"),
    ],
)
def test_values_of_another_type_are_refused_with_their_path(
    read: Callable[[JsonValue], object], text: str
) -> None:
    with pytest.raises(BadInput, match=r"^f\.json:2:11: list\[0\]\.value: expected .*, not ") as refused:
        read(
            read_json('{"list":\n[{"value":' + text + "}]}", "f.json", "")
            .at("list")
            .each(lambda n: n)[0]
            .at("value")
        )
    assert refused.value.exit_code == 2


def test_a_missing_key_is_named_at_its_object() -> None:
    with pytest.raises(BadInput, match=r"f\.json:2:3: a: the key 'b' is missing"):
        read_json('{"a":\n  {}}', "f.json", "").at("a").at("b")
