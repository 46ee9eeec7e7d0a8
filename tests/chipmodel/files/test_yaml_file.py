"""Reading YAML: values, positions, mistakes and malicious files."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import chipmodel.files.text_file
from chipmodel.errors import BadInput, Place
from chipmodel.files.text_file import read_text
from chipmodel.files.yaml_file import read_yaml
from chipmodel.files.yaml_tree import MAX_DEPTH, MAX_VALUES, Document
from tests.support.mistakes import mistakes
from tests.support.narrowed import some
from tests.support.work import calls

FILE = "f.yaml"
BIG = 10_000_000


def refused(text: str) -> BadInput:
    with pytest.raises(BadInput) as caught:
        read_yaml(text, FILE)
    return caught.value


# -- values ----------------------------------------------------------------------------------------


TEXTS = ("on", "No", "yes", "y", "1_000", "0o17", "0b1", "1:30", "12:30:45", "2024-01-02", ".inf", ".nan")
"""Texts, though other versions of YAML take them for something else."""
NUMBERS = {"12": 12, "-3": -3, "+3": 3, "0": 0, "0x1F": 31, "1.5": 1.5, ".5": 0.5, "1e3": 1000.0}
OTHERS = {"true": True, "False": False, "~": None, "null": None, "-": [None], "'12'": "12", '"true"': "true"}
SCALARS = {**{text: text for text in (*TEXTS, "=", "1.2.3")}, **NUMBERS, **OTHERS, "|\n  12\n": "12\n"}


@pytest.mark.parametrize(("text", "value"), SCALARS.items())
def test_scalars_of_the_core_schema(text: str, value: object) -> None:
    data = read_yaml(f"a: {text}\n" if text != "-" else "a:\n-\n", FILE).data
    assert data == {"a": value}
    assert repr(data) == repr({"a": value})


def test_keys_stay_texts() -> None:
    assert read_yaml("no: 1\non: 2\ny: 3\n1:30: 4\n'8': 5\n9: 6\n", FILE).data == {
        "9": 6,
        "no": 1,
        "on": 2,
        "y": 3,
        "1:30": 4,
        "8": 5,
    }


def test_numbers_are_kept_as_written() -> None:
    document = read_yaml("a: [30.891000, 0x10]\nb: {c: 1e3}\n", FILE)
    assert document.written(("a", 0)) == "30.891000"
    assert document.written(("a", 1)) == "0x10"
    assert document.written(("b", "c")) == "1e3"
    with pytest.raises(KeyError):
        document.written(("b", "d"))


def test_aliases_stand_for_their_anchors() -> None:
    data = read_yaml("a: &x {k: [1, 2]}\nb: *x\nc: [*x, *x]\n", FILE).data
    assert data == {"a": {"k": [1, 2]}, "b": {"k": [1, 2]}, "c": [{"k": [1, 2]}, {"k": [1, 2]}]}


def test_positions_of_values() -> None:
    text = "# first\nname: x\nops:\n  - kind: conv\n    kernel: [3,\n      5]\n  - {kind: add}\n"
    document = read_yaml(text, FILE)
    assert document.place(()) == Place(FILE, 2, 1)
    assert document.place(("ops",)) == Place(FILE, 3, 1)
    assert document.place(("ops", 0)) == Place(FILE, 4, 5)
    assert document.place(("ops", 0, "kernel")) == Place(FILE, 5, 5)
    assert document.place(("ops", 0, "kernel", 1)) == Place(FILE, 6, 7)
    assert document.place(("ops", 1, "kind")) == Place(FILE, 7, 6)
    assert document.place(("ops", 1, "nothing", "there")) == Place(FILE, 7, 5)
    assert document.place(("ops", 9)) == Place(FILE, 3, 1)


KEYS = st.text(st.characters(max_codepoint=0x2FF, exclude_categories=["Cc"]), max_size=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LEAVES: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), st.integers(), FLOATS, KEYS)


@pytest.mark.slow
@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=30))
def test_json_is_read_as_yaml(data: Any) -> None:
    import json

    document = read_yaml(json.dumps({"a": data}, ensure_ascii=False), FILE)
    assert document.data == {"a": data}


def test_a_large_file_takes_few_calls_for_each_value() -> None:
    """Each op has six keys, seven scalars, two lists and itself: 219 calls for some 16 values."""
    op = "- name: conv{0}\n  kind: conv\n  in: [t{0}, u{0}]\n  kernel: [3, 3]\n  stride: 1\n  out: {0}\n"
    text = "ops:\n" + "".join(op.format(i) for i in range(5000))
    documents: list[Document] = []
    assert calls(lambda: documents.append(read_yaml(text, FILE))) < 5000 * 330
    assert documents[0].place(("ops", 4999, "out")) == Place(FILE, 30_001, 3)


# -- mistakes --------------------------------------------------------------------------------------

TOO_LONG = ("1:4", f"a: {'9' * 5000}\n", "is too long", "plain number")


@pytest.mark.parametrize(("place", "text", "what", "hint"), [*mistakes("yaml"), TOO_LONG])
def test_mistakes_have_line_and_column(place: str, text: str, what: str, hint: str) -> None:
    error = refused(text)
    assert what in error.what
    assert hint in error.hint
    assert str(error.where) == f"{FILE}:{place}"


@given(st.text(max_size=200) | st.text("[]{}:,-?&*!|>'\"%@`# \n\tab1.<~", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        place: Place | None = read_yaml(text, FILE).place(("a", 0))
        hint = "none"
    except BadInput as error:
        place, hint = error.where, error.hint
    assert hint
    assert place is not None
    assert place.line > 0
    assert place.column > 0


def bomb(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines)


def alias_chain(length: int) -> str:
    return "\n".join(["a0: &a0 [x]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, length))])


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[" * BIG, "nested more than"),
        ("{a: " * (BIG // 4), "nested more than"),
        ("- " * (BIG // 2), "nested more than"),
        ("[\n" * (BIG // 2), "nested more than"),
        ("a: [" + "- " * (BIG // 2), ""),
        ("? " * (BIG // 2), "a key must be a text"),
        ("{" * BIG, "a key must be a text"),
        ("\n".join(" " * i + "a:" for i in range(4000)), "nested more than"),
        ("[" + "a, " * (BIG // 3) + "]", "more than 30,000 values"),
        ("\n".join(f"k{i}: 1" for i in range(BIG // 10)), "more than 30,000 values"),
        (bomb(30), "more than 30,000 values"),
        (alias_chain(200), "nested more than"),
        ("9" * BIG, "is too long"),
        ('"' + "b" * BIG, "quoted scalar"),
        ("a: 1\n" * (BIG // 5), "given twice"),
        ("a:" * (BIG // 2), "not YAML"),
        ("\n" * BIG, "empty"),
        ("#" * BIG, "empty"),
        ("!" * BIG, "tag"),
        ("&a " * (BIG // 3), ""),
        ("---\n" * (BIG // 4), "second YAML document"),
        ("%" * BIG, ""),
        ("a: 1\n" + "\0" * BIG, "U+0000"),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else None,
)
def test_malicious_files_are_refused_after_little_work(
    text: str, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most some 24 calls for each value that is read before it is refused, here of at most 30,000.

    Work inside of the parser, which is compiled, is not counted; were it quadratic in these 10 million
    characters, it would not end. ``python -m bench.quick`` prints seconds.
    """
    monkeypatch.setattr("chipmodel.files.yaml_tree.MAX_VALUES", 30_000)
    errors: list[BadInput] = []
    assert calls(lambda: errors.append(refused(text))) < 36 * 30_000
    (error,) = errors
    assert what in error.what
    assert len(str(error)) < 500
    assert some(error.where).line > 0


def test_the_limits_themselves_are_allowed() -> None:
    assert read_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH, FILE).place((0,) * 99).column == 100
    assert "nested" in refused("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)).what
    hundred = f"a: &a [{', '.join(['x'] * 99)}]\n"
    # One value for "b", 100 for each alias in it, and 100 for "a".
    fits = (MAX_VALUES - 101) // 100
    assert read_yaml(hundred + f"b: [{', '.join(['*a'] * fits)}]\n", FILE).data
    assert "more than" in refused(hundred + f"b: [{', '.join(['*a'] * (fits + 1))}]\n").what


# -- files -----------------------------------------------------------------------------------------


def test_text_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfname: gr\xc3\xbcn\r\nb: 1\r\n")
    document = read_yaml(read_text(path), str(path))
    assert document.data == {"name": "grün", "b": 1}
    assert document.place(("b",)) == Place(str(path), 2, 1)


@pytest.mark.parametrize(
    ("raw", "line", "column", "byte"),
    [(b"a: 1\nb: gr\xfcn\n", 2, 6, "0xfc"), (b"\xff\xfea\x00", 1, 1, "0xff"), (b"a: \xe4\xb8", 1, 4, "0xe4")],
)
def test_bytes_that_are_not_text(tmp_path: Path, raw: bytes, line: int, column: int, byte: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(raw)
    with pytest.raises(BadInput, match=f"{byte} is not UTF-8") as caught:
        read_text(path)
    assert caught.value.where == Place(str(path), line, column)
    assert "UTF-8" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "what"), [("a.onnx", "an ONNX model"), ("b.TFLITE", "a TensorFlow Lite model")]
)
def test_a_model_that_is_no_text(tmp_path: Path, name: str, what: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\x08\x07\xe4")
    with pytest.raises(BadInput, match=f"this is {what}, not a text file") as caught:
        read_text(path)
    assert "as WORKLOAD" in caught.value.hint


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, what in (
        (tmp_path / "none.yaml", "no such file"),
        (tmp_path, "directory"),
        (tmp_path / "a\0b", "cannot be read"),
        (tmp_path / ("x" * 5000), "cannot be read"),
    ):
        with pytest.raises(BadInput, match=what) as caught:
            read_text(path)
        assert caught.value.where == Place(str(path))
        assert caught.value.hint
    monkeypatch.setattr(chipmodel.files.text_file, "MAX_FILE_BYTES", 1 << 20)
    (tmp_path / "large").write_bytes(b" " * ((1 << 20) + 1))
    with pytest.raises(BadInput, match="larger than 1 MiB"):
        read_text(tmp_path / "large")


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "open", deny)
    with pytest.raises(BadInput, match="may not be read"):
        read_text(tmp_path / "a")
