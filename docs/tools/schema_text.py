"""What a field of a JSON Schema takes, in a few words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

Form = Mapping[str, Any]

_NAME_PATTERN = "^[A-Za-z0-9_][A-Za-z0-9_.:/-]*$"
_MANY = 12
"""Choices beyond these are not listed: the element types are, once, on the page."""


def takes(form: Form) -> str:
    """``whole number from 1``, ``name``, ``list of ...``, or the choices."""
    if "$ref" in form:
        return f"mapping ({form['$ref'].rpartition('/')[2].lower()})"
    for key in ("anyOf", "oneOf"):
        if key in form:
            each = [takes(one) for one in cast("list[Form]", form[key]) if one.get("type") != "null"]
            return " or ".join(dict.fromkeys(each)) if len(each) <= _MANY else "op"
    if "const" in form:
        return f"`{form['const']}`"
    if "enum" in form:
        return _choices(cast("list[str]", form["enum"]))
    return _typed(form)


def _choices(options: list[str]) -> str:
    return "element type" if len(options) > _MANY else ", ".join(f"`{option}`" for option in options)


def _typed(form: Form) -> str:
    kind = form.get("type", "")
    if kind in ("integer", "number"):
        return _number(form, "whole number" if kind == "integer" else "number")
    if kind == "array":
        return f"list of {_plural(takes(form.get('items', {})))}"
    if kind == "object":
        patterns = cast("Mapping[str, Form]", form.get("patternProperties", {}))
        values = [takes(value) for value in patterns.values()] or [
            takes(form.get("additionalProperties") or {})
        ]
        return f"mapping of names to {_plural(values[0])}"
    if kind == "string":
        pattern = form.get("pattern", "")
        return "name" if pattern == _NAME_PATTERN else "bytes such as 4KiB" if "Kk" in pattern else "text"
    return {"boolean": "true or false"}.get(kind, "value")


def _number(form: Form, word: str) -> str:
    least, most = form.get("minimum"), form.get("maximum")
    if most is not None and most < 1 << 20:
        return f"{word} from {least if least is not None else '...'} to {most}"
    return f"{word} from {least}" if least else word


def _plural(text: str) -> str:
    """The plural of each alternative, of those words that have one."""
    return re.sub(r"\b(name|op|text|number|value)\b", r"\1s", text)


def default_of(form: Form, required: bool) -> str:
    """The default as it would be written, ``required``, or nothing."""
    if required:
        return "required"
    value = form.get("default")
    if value in (None, [], {}):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"
