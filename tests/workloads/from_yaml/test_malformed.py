"""Mistakes in a YAML workload: each is one BadInput with its place, the mistake and a hint."""

import re
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput
from tests.support.folders import WORKLOADS
from tests.support.narrowed import some
from workloads.from_yaml.program import parse_yaml_program
from workloads.load import load

HERE = Path(__file__).parent
EXAMPLES = sorted(WORKLOADS.glob("*.yaml"))
assert EXAMPLES
HEAD = "name: t\ninputs: {x: [1, 8, 16, 16], y: [1, 8, 16, 16], flat: [4, 32], raw: 64}\nops:\n"

Case = tuple[str, int, str]
"""text, line of the message, a part of the message"""


def read_cases() -> dict[str, Case]:
    text = (HERE / "malformed.txt").read_text(encoding="utf-8")
    # Headings and the blank line between two cases are no part of a case.
    sections = re.split(r"^#### ", re.sub(r"^##### .*\n", "", text, flags=re.MULTILINE), flags=re.MULTILINE)[
        1:
    ]
    cases: dict[str, Case] = {}
    for section in sections:
        title, _, body = section.partition("\n")
        found = re.fullmatch(r"(.+) @ (\d+): (.+)", title)
        assert found is not None, title
        assert found[1] not in cases, title
        cases[found[1]] = (body.rstrip("\n").replace("HEAD\n", HEAD, 1) + "\n", int(found[2]), found[3])
    return cases


def laughs() -> str:
    levels = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    levels += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
    return "\n".join(levels) + "\n"


def of_input(size: str) -> str:
    return f"name: t\ninputs: {{x: {size}}}\nops:\n  - {{op: relu, in: x}}\n"


GENERATED: dict[str, Case] = {
    "empty file": ("", 1, "empty"),
    "exploding aliases": (laughs(), 6, "values"),
    "control character": ("name: t\x07\n", 1, "control character"),
    "binary junk": ("\x00\x01\x02ELF\x03", 1, "control character"),
    "deep brackets": ("ops: " + "[" * 100_000, 1, "nested"),
    "10 MB of nesting": ("[" * 10_000_000, 1, "nested"),
    "deep mappings": ("".join(" " * i + "a:\n" for i in range(300)), 101, "nested"),
    "ifs 60 deep": (HEAD + "  - " + "{op: if, arms: {b: [], a: [" * 60, 4, "nested"),
    "a number of 5000 digits": (of_input("9" * 5000), 2, "too long"),
    "a size of 60 digits": (of_input(f"[{'9' * 60}]"), 2, "at most"),
    "a name of 500 characters": (of_input(f"4, {'a' * 500}: 4"), 2, "500 characters"),
    "an escape sequence in the name": ('name: "\\e[31m"\n' + of_input("4")[8:], 1, "cannot be a name"),
}
CASES = {**read_cases(), **GENERATED}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_message_has_place_mistake_and_hint(case: Case) -> None:
    text, line, part = case
    with pytest.raises(BadInput) as raised:
        parse_yaml_program(text, "w.yaml")
    message = str(raised.value)
    assert re.match(rf"w\.yaml:{line}:\d+: ", message)
    assert part in message
    assert raised.value.hint or re.search(r"\(.+\)$", message)
    assert len(message) < 1500


def test_a_missing_file_and_a_directory(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    for path in (tmp_path / "none.yaml", tmp_path / "folder.yaml"):
        with pytest.raises(BadInput) as raised:
            load(str(path))
        assert str(path) in str(raised.value)
        assert raised.value.hint


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    path.write_bytes(b"name: t\nops: \xff\xfe\n")
    with pytest.raises(BadInput, match=r"w\.yaml:2:6: ") as raised:
        load(str(path))
    assert raised.value.hint


def loads_or_says_why(text: str) -> None:
    failure: BadInput | None = None
    try:
        parse_yaml_program(text, "w.yaml")
    except BadInput as error:
        failure = error
    if failure is not None:
        assert some(failure.where).line > 0
        assert str(failure).startswith("w.yaml:")


@given(st.sampled_from(EXAMPLES), st.data())
def test_any_typing_error_in_an_example_is_bad_input_or_harmless(path: Path, data: st.DataObject) -> None:
    text = path.read_text(encoding="utf-8")
    start = data.draw(st.integers(0, len(text) - 1))
    stop = start + data.draw(st.integers(0, 12))
    typed = data.draw(st.one_of(st.just(""), st.text(alphabet="[]{}:,-'\"&*#\n\t 019.axz", max_size=5)))
    loads_or_says_why(text[:start] + typed + text[stop:])
