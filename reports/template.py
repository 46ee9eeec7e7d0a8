"""Render pages from their templates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from chipmodel.terminal.escapes import printable
from reports.words import count, percent, size

HERE = Path(__file__).parent


def render(name: str, values: Mapping[str, object]) -> str:
    """Render ``templates/NAME`` with ``values``; a missing value is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {"breaks": breaks, "count": count, "percent": percent, "size": size}
    return environment.get_template(name).render(values)


def _shown(value: object) -> object:
    """Texts without what turns or hides others; markup of ours as it is."""
    return printable(value) if type(value) is str else value


def breaks(name: str) -> str:
    """``name``, escaped, with an optional line break after each dot."""
    from markupsafe import Markup

    return Markup(".<wbr>").join(printable(name).split("."))


def static(name: str) -> str:
    """The text of a style sheet or script, to be embedded in the page."""
    return (HERE / "static" / name).read_text(encoding="utf-8")
