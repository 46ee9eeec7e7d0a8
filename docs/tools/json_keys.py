"""Print every key of the JSON document that a command writes, with a value that it has there.

    python -m docs.tools.json_keys simulate zoo:ds_cnn --json FILE

FILE stands for the document; of lists the first element is shown, of mappings with many keys the first few.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any, cast

from docs.tools.markdown import code, table
from docs.tools.samples import json_document

LONGEST = 48
"""Characters of a value that are shown."""
FREE = ("chip_fields", "chips[].figures")
"""Mappings whose keys are names; one of them is shown."""
MEASURED = re.compile(r"seconds|time")
"""Keys whose values differ from run to run; none is shown."""


def rows(value: Any, path: str = "") -> Iterator[list[str]]:
    """Path, kind and value of every key below ``value``."""
    if isinstance(value, dict):
        items = list(cast("dict[str, Any]", value).items())
        for key, inner in items[: 1 if path in FREE else None]:
            yield from _row(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        yield from rows(value[0], f"{path}[]")


def _row(value: Any, path: str) -> Iterator[list[str]]:
    if isinstance(value, dict | list):
        size = len(cast("dict[str, Any] | list[Any]", value))
        yield [code(path), "mapping" if isinstance(value, dict) else f"list of {size}", ""]
        yield from rows(value, path)
        return
    kinds = {bool: "true or false", int: "whole number", float: "number", str: "text", type(None): "nothing"}
    text = json.dumps(value)
    shown = "" if MEASURED.search(path) else code(text if len(text) <= LONGEST else f'{text[:LONGEST]}..."')
    yield [code(path), kinds[type(value)], shown]


if __name__ == "__main__":
    print(table(["key", "kind", "for instance"], rows(json_document(sys.argv[1:]))))
