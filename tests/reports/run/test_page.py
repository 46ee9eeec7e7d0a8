from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from chipmodel.terminal.escapes import printable
from reports.page_parts import plotly_script, script_json
from reports.run.page import render_page
from tests.reports.sample import large, sample

MOST_BYTES = 12_000_000


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


def without_plotly(html: str) -> str:
    return html.replace(plotly_script(), "")


def test_same_result_same_bytes() -> None:
    slower = replace(sample(), solved=replace(sample().solved, seconds=99.0))
    assert render_page(sample()) == render_page(slower)


def test_nothing_on_the_page_refers_to_another_file() -> None:
    for tag, attributes in read(render_page(sample())).tags:
        assert "src" not in attributes, tag
        assert (attributes.get("href") or "data:").startswith("data:")
    html = without_plotly(render_page(sample()))
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src 'none'" in html


def test_names_are_text_and_never_markup() -> None:
    html = without_plotly(render_page(sample()))
    reader = read(html)
    assert [tag for tag, _ in reader.tags].count("script") == 3
    assert "<script>alert" not in html
    text = "".join(reader.text)
    assert "dw<script>alert('x')</script>&amp;</b>" in text
    assert "[bold red]head[/] {{ 7*7 }} %{x}" in text
    assert "datasheet V1.8, table 3 <b>not bold</b>" in text


@given(st.text() | st.sampled_from(["</script>", "<!--<script>", "]]>", "\u2028&"]))
def test_script_json_cannot_leave_its_element(text: str) -> None:
    made = script_json({"name": text})
    assert not re.search("[<>&\u2028\u2029]", made)
    assert json.loads(made) == {"name": printable(text)}


def test_the_answer_and_every_origin_are_there() -> None:
    text = " ".join("".join(read(render_page(sample())).text).split())
    assert "Fits One run takes 957.55 µs (287,264 cycles at 300 MHz)" in text
    for mark in ("published", "derived", "assumed", "given"):
        assert mark in text
    assert "Does not fit" in " ".join("".join(read(render_page(sample(capacity=60000))).text).split())


def test_a_large_result_stays_small_enough_to_mail() -> None:
    html = render_page(large(12_000))
    assert len(html.encode()) < MOST_BYTES
    assert "events are drawn as" in html


def test_ops_that_did_not_run_are_marked() -> None:
    idle = [
        attributes
        for tag, attributes in read(render_page(sample())).tags
        if tag == "tr" and "class" in attributes
    ]
    assert idle == [{"class": "idle"}]
