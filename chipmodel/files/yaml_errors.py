"""The YAML parser's and pydantic's errors in plain words, as ``BadInput``. Imported only after an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import yaml
from pydantic import ValidationError

from chipmodel.errors import BadInput, Place
from chipmodel.files.strict_model import UNKNOWN_KEY
from chipmodel.files.suggestions import shown, suggest
from chipmodel.records import dataclass

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from chipmodel.files.yaml_tree import Document, YamlNode


MAX_REPORTED = 10
"""Mistakes in one message."""

_EXPECTED: Mapping[str, tuple[str, str]] = {
    "int": ("a whole number", "write plain digits, such as 16"),
    "float": ("a number", "write plain digits, such as 1.5"),
    "finite": ("a number", "write plain digits, such as 1.5"),
    "decimal": ("a number", "write plain digits, such as 1.5"),
    "string": ("a text", "put it in quotes"),
    "bool": ("true or false", "write true or false"),
    "list": ("a list", "write [a, b], or one '- item' a line"),
    "tuple": ("a list", "write [a, b], or one '- item' a line"),
    "dict": ("a mapping", "write 'key: value' lines, indented"),
    "mapping": ("a mapping", "write 'key: value' lines, indented"),
    "model": ("a mapping", "write 'key: value' lines, indented"),
}
_BOUNDS: Mapping[str, str] = {
    "greater_than": "greater than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
}


def syntax_mistake(error: yaml.YAMLError, text: str, file: str) -> BadInput:
    """The parser's ``error`` in ``text``."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return BadInput(f"this is not YAML: {error}", where=Place(file), hint="check that it is a YAML file")
    mark = error.problem_mark
    where = Place(file, mark.line + 1, mark.column + 1)
    # The parser counts lines as YAML does; text.split alone agrees with it on \r\n and \n.
    lines = text.split("\n", mark.line + 1)
    line = lines[mark.line] if mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return BadInput("a tab stands in the indentation", where=where, hint="indent with spaces")
    problem = error.problem or "this is not YAML"
    if "cannot start any token" in problem:
        what = f"the character {line[mark.column : mark.column + 1]!r} cannot begin a value"
        return BadInput(what, where=where, hint="quote the text")
    begun = error.context_mark
    since = f", {error.context} that begins on line {begun.line + 1}" if begun and error.context else ""
    hint = "check the indentation, the brackets and the quotes"
    return BadInput(f"this is not YAML: {problem}{since}", where=where, hint=hint)


Loc = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class _Mistake:
    what: str
    hint: str
    place: Place
    path: Loc

    @property
    def order(self) -> tuple[int, int, int]:
        return -len(self.path), self.place.line, self.place.column


def model_mistakes(error: ValidationError, document: Document) -> BadInput:
    """Everything that pydantic found wrong, the most specific first, as one error."""
    mistakes = [_mistake(e, document) for e in error.errors(include_url=False)]
    ordered = sorted({(m.what, m.path): m for m in mistakes}.values(), key=lambda m: m.order)
    first = ordered[0]
    if len(ordered) == 1:
        return BadInput(first.what, where=first.place, hint=first.hint)
    more = [f"{m.place}: {_line(m)}" for m in ordered[1:MAX_REPORTED]]
    if len(ordered) > MAX_REPORTED:
        more.append(f"and {len(ordered) - MAX_REPORTED} more")
    return BadInput(_line(first), where=first.place, more=more)


def _line(mistake: _Mistake) -> str:
    return f"{mistake.what} ({mistake.hint})" if mistake.hint else mistake.what


def _mistake(details: ErrorDetails, document: Document) -> _Mistake:
    loc, kind = details["loc"], details["type"]
    path = path_in(document.root, loc)
    if kind == UNKNOWN_KEY:
        context = details.get("ctx", {})
        key = context["key"]
        hint = suggest(key, context["known"], "keys here are") or "remove it"
        within = (*path, key)
        return _Mistake(f"unknown key '{key}'{_inside(path)}", hint, document.place(within), within)
    place = document.place(path)
    if kind == "missing":
        key = str(loc[-1])
        return _Mistake(f"the key '{key}' is missing{_inside(path)}", f"add '{key}: ...'", place, path)
    what, hint = _wrong_value(kind, details)
    return _Mistake(f"{_label(path)} {what}", hint, place, path)


def _wrong_value(kind: str, details: ErrorDetails) -> tuple[str, str]:
    """What is wrong with the value and how to fix it, for every other type of pydantic's errors."""
    context: Mapping[str, Any] = details.get("ctx", {})
    value = shown(details["input"])
    if kind in _BOUNDS:
        bound = _BOUNDS[kind].format(**context)
        return f"must be {bound}, not {value}", f"write a number that is {bound}"
    if kind in ("literal_error", "enum"):
        choices = re.findall(r"'([^']*)'", str(context["expected"]))
        hint = suggest(str(details["input"]), choices, "known are") or f"write {context['expected']}"
        return f"cannot be {value}", hint
    if kind.startswith("union_tag") and str(context["discriminator"]).endswith("()"):
        # The discriminator is a function: its name and the tag mean nothing to the user.
        return f"cannot be {value}", "write it in one of the forms that the format describes"
    if kind == "union_tag_invalid":
        tags = re.findall(r"'([^']*)'", str(context["expected_tags"]))
        key = str(context["discriminator"]).strip("'")
        written = cast("dict[str, object]", details["input"])[key]
        if not isinstance(written, str):
            return f"has {shown(written)} for its {key}", suggest("", tags, f"{key} is one of")
        return f"has the unknown {key} '{context['tag']}'", suggest(str(context["tag"]), tags, "known are")
    if kind == "union_tag_not_found":
        key = str(context["discriminator"]).strip("'")
        return f"does not say its {key}", f"add '{key}: ...'"
    if kind in ("value_error", "assertion_error") and "error" in context:
        return f"is wrong: {context['error']}", ""
    if kind in ("too_short", "too_long"):
        bound = (
            f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        )
        items = "item" if bound.endswith(" 1") else "items"
        hint = "add what is missing" if kind == "too_short" else "remove what is too many"
        return f"must have {bound} {items}, not {context['actual_length']}", hint
    if expected := _EXPECTED.get(kind.split("_")[0]):
        single = expected[0] == "a text" and isinstance(details["input"], list | dict)
        return f"must be {expected[0]}, not {value}", "write one text" if single else expected[1]
    return f"is {value}: {details['msg'][:1].lower()}{details['msg'][1:]}", ""


def path_in(node: YamlNode, loc: Loc) -> Loc:
    """``loc`` without the elements that are not in the document, such as the tag of a union."""
    path: list[int | str] = []
    for step in loc:
        if step in node.children:
            path.append(step)
            node = node.children[step][0]
    return tuple(path)


def _label(path: Loc) -> str:
    """``ops[3].kernel`` for ("ops", 3, "kernel")."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return f"'{text}'" if text else "the file"


def _inside(path: Loc) -> str:
    return f" in {_label(path)}" if path else ""
