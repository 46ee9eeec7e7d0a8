"""A run's page, and its summary on the terminal."""

from dataclasses import replace

import pytest

from chipmodel.answers.result import Result
from reports.run.page import render_page
from reports.run.summary import print_summary
from reports.template import PLOTLY_FILE
from tests.reports.console import on_console
from tests.reports.pages import MOST_BYTES, data_of, read
from tests.reports.sample import large, sample


def test_a_page_may_share_plotlys_script_with_others() -> None:
    alone, beside = render_page(sample()), render_page(sample(), plotly="beside")
    assert [a["src"] for _, a in read(beside).tags if "src" in a] == [PLOTLY_FILE]
    assert len(beside) < len(alone) / 5
    assert data_of(beside) == data_of(alone)
    for page, sources in ((alone, "'unsafe-inline'"), (beside, "'unsafe-inline' 'self' file:")):
        assert f"default-src 'none'; script-src {sources}; style-src" in page


def test_names_are_text_and_never_markup() -> None:
    html = render_page(sample())
    reader = read(html)
    assert [tag for tag, _ in reader.tags].count("script") == 5
    assert "<script>alert" not in html
    text = "".join(reader.text)
    assert "dw<script>alert('x')</script>&amp;</b>" in text
    assert "[bold red]head[/] {{ 7*7 }} %{x}" in text
    assert "datasheet V1.8, table 3 <b>not bold</b>" in text


@pytest.mark.slow
def test_a_large_result_stays_small_enough_to_mail() -> None:
    html = render_page(large(4_000))
    assert len(html.encode()) < MOST_BYTES
    assert "events are drawn as" in html


def test_ops_that_did_not_run_are_marked() -> None:
    idle = [
        attributes
        for tag, attributes in read(render_page(sample())).tags
        if tag == "tr" and "class" in attributes
    ]
    assert idle == [{"class": "idle"}]


def printed(result: Result, width: int = 80, colour: bool = False) -> str:
    return on_console(lambda console: print_summary(result, console), width, colour=colour)


def line(text: str, start: str) -> str:
    """The row that begins with ``start``, its blanks squeezed."""
    return next(" ".join(row.split()) for row in text.splitlines() if row.strip().startswith(start))


@pytest.mark.parametrize("result", [sample(), sample(capacity=60000), large(30)])
def test_it_fits_80_columns_without_colour(result: Result) -> None:
    text = printed(result)
    assert max(len(row.rstrip()) for row in text.splitlines()) <= 80
    assert "\x1b" not in text


def test_the_figures_of_the_sample() -> None:
    text = printed(sample())
    assert "fits" in text.splitlines()[0]
    assert line(text, "peak") == "peak 65,280 B 99.6% of 65,536 B"
    assert line(text, "lower bound") == "lower bound 61,184 B gap 6.7% (feasible)"
    assert line(text, "total") == "total 287,264 cycles 957.55 µs"
    assert line(text, "waits for weights") == "waits for weights 12,820 cycles 4.5%"
    assert (
        line(text, "with streamer sync") == "with streamer sync 299,609 cycles ping-pong takes 4.1% less time"
    )
    assert line(text, "hidden by compute") == "hidden by compute 29,888 cycles 31.5% of DMA time"
    assert line(text, "DMA busy") == "DMA busy 94,992 cycles 33.1%"


def test_a_plan_that_does_not_fit() -> None:
    text = printed(sample(capacity=60000))
    assert "does not fit" in " ".join(text.split()[:20])
    assert "108.8% of 60,000 B" in text


def test_the_first_line_says_that_nobody_could_check_the_chip() -> None:
    result = sample()
    assert "not compared with silicon" in " ".join(printed(result).split()[:20])
    checked = replace(result, chip=replace(result.chip, compared_with="a board, 3 networks: mean error 5 %"))
    text = " ".join(printed(checked).split())
    assert "not compared with silicon" not in text
    assert "Accuracy: a board, 3 networks: mean error 5 %" in text
