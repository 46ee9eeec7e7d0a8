"""What tests read in a page: its tags, its texts, its data."""

import gzip
import json
import re
from base64 import b64decode
from html.parser import HTMLParser
from typing import Any

from reports.chart import Chart
from tests.support.narrowed import some

MOST_BYTES = 1_300_000
"""Of a page, which is to be small enough to mail."""


class Reader(HTMLParser):
    """Collects every tag with its attributes, and the text outside of scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if not {"script", "style"} & set(self.open):
            self.text.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def unpacked(packed: str) -> Any:
    return json.loads(gzip.decompress(b64decode(packed, validate=True)))


def told(trace: dict[str, Any]) -> list[list[str]]:
    """The lines that a reader sees who points at a mark, for each mark of a trace."""
    return [re.sub("</?b>", "", text).split("<br>") for text in trace["hovertext"]]


def data_of(page: str) -> Any:
    """What the page's script gets."""
    found = some(re.search(r'<script type="text/plain" id="data">(.*?)</script>', page))
    return unpacked(found[1])


def refers_to_nothing(page: str) -> bool:
    """Whether the page needs no other file, near or far."""
    near = all(
        "src" not in attributes and (attributes.get("href") or "#").startswith(("#", "data:"))
        for _, attributes in read(page).tags
    )
    return (
        near
        and "url(" not in page.replace("url(#", "")
        and "@import" not in page
        and "default-src 'none'" in page
    )


def traces(chart: Chart) -> list[dict[str, Any]]:
    return chart.traces


def marks(chart: Chart) -> int:
    """Bars and boxes that are drawn."""
    return sum(len(trace["x"]) for trace in traces(chart) if trace["type"] == "bar")
