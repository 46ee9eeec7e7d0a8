"""Render pages from their templates, with the style sheets and scripts of ``static/`` inside."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from chipmodel.records import dataclass
from chipmodel.terminal.escapes import printable
from reports.words import count, percent, size

if TYPE_CHECKING:
    from jinja2 import Environment

HERE = Path(__file__).parent
PLAIN = ("page.css", "plain.css")
"""Style sheets of pages without scripts."""
PLOTLY = HERE / "static" / "plotly" / "plotly-basic.min.js.gz"
PLOTLY_FILE = PLOTLY.stem
"""The name of Plotly's script where several pages share it."""


FEWEST_SECTIONS = 3
"""Sections from which on a page has a list of them."""
_SECTION = re.compile(r'<h2 id="([^"]+)">(.*?)</h2>')


PlotlyPlace = Literal["inside", "beside", "none"]
"""Where Plotly's script is: a part of the page, or the file ``PLOTLY_FILE`` in its folder."""


@dataclass(frozen=True, slots=True)
class PageScript:
    """What a page runs: files of ``static/``, in their order, and the data that they show."""

    files: tuple[str, ...]
    data: object
    plotly: PlotlyPlace = "inside"
    libraries: tuple[str, ...] = ()
    """Other libraries that are a part of the page: each a folder of ``static/`` with a file of its name."""


def render(
    name: str, values: Mapping[str, object], styles: Sequence[str], script: PageScript | None = None
) -> str:
    """Render ``templates/NAME`` with ``values``, escaped; a missing value is an error."""
    from markupsafe import Markup

    environment = _environment(autoescape=True, finalize=printable_text)
    environment.filters |= {"breaks": breaks, "count": count, "percent": percent, "size": size}
    plotly = script.plotly if script else "none"
    parts: dict[str, object] = {
        "style": Markup(_static(styles)),
        "scripted": script is not None,
        "beside": PLOTLY_FILE if plotly == "beside" else "",
        "libraries": [Markup(_base64(file.read_bytes())) for file in _libraries(script)],
    }
    tables = _static(("tables.js",))
    parts["tables"] = Markup(tables)
    parts["tables_hash"] = Markup(b64encode(sha256(tables.encode()).digest()).decode("ascii"))
    if script:
        parts["script"] = Markup(_static(("common.js", *script.files)))
        parts["data"] = Markup(packed(script.data))
    return with_contents(environment.get_template(name).render({**values, **parts}))


def with_contents(page: str) -> str:
    """``page`` with a list of its sections behind the header of ``main``, where there are several.

    On a wide screen the list stays at the top, on a narrow one it folds.
    """
    before, header, rest = page.partition("</header>")
    sections = _SECTION.findall(rest)
    if len(sections) < FEWEST_SECTIONS or not header:
        return page
    links = "".join(f'<li><a href="#{name}">{title}</a></li>' for name, title in sections)
    wide = f'<nav class="contents" aria-label="Contents"><ul>{links}</ul></nav>'
    narrow = f'<details class="contents"><summary>Contents</summary><ul>{links}</ul></details>'
    return f"{before}{header}\n{wide}\n{narrow}{rest}"


def _libraries(script: PageScript | None) -> list[Path]:
    if script is None:
        return []
    named = [HERE / "static" / name / f"{name}.min.js.gz" for name in script.libraries]
    return [PLOTLY, *named] if script.plotly == "inside" else named


def render_text(
    name: str, values: Mapping[str, object], filters: Mapping[str, Callable[[Any], str]], **settings: Any
) -> str:
    """Render ``templates/NAME`` with ``values`` as they are, unless ``settings`` of Jinja say otherwise; a
    missing value is an error."""
    environment = _environment(keep_trailing_newline=True, **settings)
    environment.filters |= filters
    return environment.get_template(name).render(values)


def _environment(**settings: Any) -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = FileSystemLoader(HERE / "templates")
    return Environment(
        loader=folder, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, **settings
    )


def printable_text(value: object) -> object:
    """Texts without what turns or hides others; markup of ours as it is."""
    return printable(value) if type(value) is str else value


def breaks(name: str) -> str:
    """``name``, escaped, with an optional line break after each dot."""
    from markupsafe import Markup

    return Markup(".<wbr>").join(printable(name).split("."))


def _static(names: Sequence[str]) -> str:
    return "".join((HERE / "static" / name).read_text(encoding="utf-8") for name in names)


def packed(value: object) -> str:
    """``value`` as JSON, compressed, in Base64: no HTML parser can mistake it for markup."""
    text = json.dumps(_texts_shown(value), separators=(",", ":"), allow_nan=False)
    return _base64(gzip.compress(text.encode(), 6, mtime=0))


def _base64(content: bytes) -> str:
    return b64encode(content).decode("ascii")


def _texts_shown(value: object) -> object:
    """``value`` with its texts, which a script puts on the page, as ``printable_text`` makes them."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {_texts_shown(key): _texts_shown(each) for key, each in items}
    if isinstance(value, list | tuple):
        return [_texts_shown(each) for each in cast("Sequence[object]", value)]
    return value


def plotly_script() -> bytes:
    """The content of ``PLOTLY_FILE``."""
    return gzip.decompress(PLOTLY.read_bytes())
