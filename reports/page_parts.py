"""What several pages share: tiles with key figures, columns of sortable tables, and embedded scripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from chipmodel.errors import BadInput
from chipmodel.terminal.escapes import printable


@dataclass(frozen=True, slots=True)
class SummaryTile:
    """One key figure at the top of a page; ``meter`` is a share of 1 to draw as a bar below it."""

    label: str
    value: str
    detail: str
    meter: float | None = None


@dataclass(frozen=True, slots=True)
class PageColumn:
    """A column of a sortable table; ``numeric`` ones are right-aligned and sort from the largest first."""

    key: str
    label: str
    numeric: bool = True


def script_json(value: object) -> str:
    """``value`` as JSON that no HTML parser can mistake for markup inside a script element."""
    text = json.dumps(_shown(value), separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _shown(value: object) -> object:
    """``value`` with its texts, which a script puts on the page, without what turns or hides others."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {_shown(key): _shown(each) for key, each in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_shown(each) for each in cast("Sequence[object]", value)]
    return value


def plotly_script() -> str:
    """plotly.js from the plotly package, read as a file because importing plotly is slow. Raises BadInput
    where the package or the file is missing."""
    spec = find_spec("plotly")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        path = Path(folder) / "package_data" / "plotly.min.js"
        if path.is_file():
            return path.read_text(encoding="utf-8").replace("</script", "<\\/script")
    raise BadInput(
        "the plotly package with its package_data/plotly.min.js is not installed",
        hint="install plotly 6 or newer, or leave out the HTML page",
    )
