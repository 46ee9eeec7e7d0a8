"""pydantic's errors about a YAML document, in plain words and at their places."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import Discriminator, Field, RootModel, Tag, field_validator

from chipmodel.errors import BadInput, Place
from chipmodel.files.strict_model import StrictModel
from chipmodel.files.yaml_file import read_yaml, validate
from tests.support.mistakes import mistakes
from tests.support.narrowed import of_kind

FILE = "f.yaml"


class Conv(StrictModel):
    op: Literal["conv"]
    kernel: list[int] = Field(min_length=1, max_length=2)
    stride: int = Field(1, ge=1, le=64)
    mode: Literal["same", "valid"] = "same"


class Add(StrictModel):
    op: Literal["add"]
    inputs: list[str]
    source: str | None = Field(None, alias="from")


class If(StrictModel):
    op: Literal["if"]
    arms: dict[str, list[Op]]


Op = Annotated[Conv | Add | If, Field(discriminator="op")]


def form(value: Any) -> str:
    return "short" if isinstance(value, int) else "long"


class Long(StrictModel):
    bytes: int
    kind: str = ""


class Names(RootModel[list[str]]):
    pass


class Net(StrictModel):
    name: str
    ops: list[Op] = Field(default_factory=list["Op"])
    size: Annotated[Annotated[int, Tag("short")] | Annotated[Long, Tag("long")], Discriminator(form)] = 1
    plain: int | Long | None = None
    pair: Annotated[tuple[int, Add], Field(strict=False)] | None = None
    flag: bool = False
    rate: float = 1.0
    names: Names | None = None

    @field_validator("name")
    @classmethod
    def _short(cls, value: str) -> str:
        if len(value) > 10:
            raise ValueError("a name has at most 10 letters")
        return value


If.model_rebuild()
Net.model_rebuild()


def mistake(text: str) -> BadInput:
    with pytest.raises(BadInput) as caught:
        validate(Net, read_yaml(text, FILE))
    return caught.value


def test_a_good_document_becomes_the_model() -> None:
    branch = "- {op: if, arms: {x: [{op: conv, kernel: [3]}], y: []}}"
    text = f"name: a\nops:\n{branch}\n- {{op: add, inputs: [a], from: b}}"
    net = validate(Net, read_yaml(text, FILE))
    first, second = net.ops
    assert isinstance(of_kind(If, first).arms["x"][0], Conv)
    assert of_kind(Add, second).source == "b"


@pytest.mark.parametrize(("place", "text", "what", "hint"), mistakes("yaml_values"))
def test_a_mistake_is_explained_in_plain_words(place: str, text: str, what: str, hint: str) -> None:
    error = mistake(f"{'' if text.startswith('nam:') else 'name: a'}\n{text}\n")
    assert what in error.what
    assert hint in error.hint
    assert str(error.where) == f"{FILE}:{place}"


def test_a_document_that_is_not_a_mapping() -> None:
    assert "the file must be a mapping, not a list" in mistake("- 1\n").what
    error = mistake("ops: []\n")
    assert "the key 'name' is missing" in error.what
    assert error.where == Place(FILE, 1, 1)
    assert mistake("name: 12345678901\n").what == "'name' must be a text, not 12345678901"
    assert "at most 10 letters" in mistake("name: a-long-long-name\n").what
    assert "not 'aaaaa" in mistake(f"name: a\nrate: {'a' * 5000}\n").what
    assert len(str(mistake(f"name: a\nrate: {'a' * 5000}\n"))) < 300


def test_several_mistakes_are_listed_the_most_specific_first() -> None:
    text = "name: 3\nops:\n- op: conv\n  kernal: [3]\n- op: conv\n  kernel: [3]\n  stride: x\n"
    error = mistake(text)
    lines = str(error).splitlines()
    assert lines == [
        "f.yaml:4:3: unknown key 'kernal' in 'ops[0]' "
        "(did you mean 'kernel'? keys here are op, kernel, stride, mode)",
        "f.yaml:7:3: 'ops[1].stride' must be a whole number, not 'x' (write plain digits, such as 16)",
        "f.yaml:1:1: 'name' must be a text, not 3 (put it in quotes)",
    ]


def test_many_mistakes_end_in_a_count() -> None:
    error = mistake("name: a\nops:\n" + "- {op: conv}\n" * 5000)
    lines = str(error).splitlines()
    assert lines[-1] == "and 4990 more"
    assert len(lines) == 11


def odd_form(value: object) -> str | None:
    return "short" if isinstance(value, int) else "other" if isinstance(value, list) else None


def test_a_value_of_no_member_of_a_union() -> None:
    class Sizes(StrictModel):
        size: Annotated[Annotated[int, Tag("short")] | Annotated[Long, Tag("long")], Discriminator(odd_form)]

    for text, value in (("size: [1]\n", "a list"), ("size: x\n", "'x'")):
        with pytest.raises(BadInput, match=f"f.yaml:1:1: 'size' cannot be {value}"):
            validate(Sizes, read_yaml(text, FILE))


def test_a_plain_union_lists_what_each_member_expects() -> None:
    lines = str(mistake("name: a\nplain: x\n")).splitlines()
    assert lines == [
        "f.yaml:2:1: 'plain' must be a whole number, not 'x' (write plain digits, such as 16)",
        "f.yaml:2:1: 'plain' must be a mapping, not 'x' (write 'key: value' lines, indented)",
    ]
