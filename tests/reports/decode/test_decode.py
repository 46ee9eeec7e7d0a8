"""A language model by its context: sentence, table and page from a known answer."""

from dataclasses import replace

from chipmodel.answers.decode import ContextLength, DecodeAnswer, TimedRun, TokenRun
from reports.decode import headline, length_rows, page as page_of
from reports.table_page import render_tables


def timed(cycles: int, bound: int) -> TimedRun:
    return TimedRun(cycles, bound, cycles / 2000)


def token(further: int, kept: int, cache: int, off_chip: int) -> TokenRun:
    run = timed(3 * further, 2 * further)
    speed = further / 2000, 2e6 / further
    return TokenRun(
        3, run, further + 5, further, *speed, 900, {"head<1>": kept}, cache, off_chip, 50, off_chip
    )


ANSWER = DecodeAnswer(
    "net<1>",
    "chip",
    2.0,
    4096,
    1000,
    (
        ContextLength(1, timed(4000, 2000), None),
        ContextLength(2, timed(5000, 2000), token(2000, 800, 64, 0)),
        ContextLength(64, timed(9000, 9000), token(4000, 250, 2048, 0)),
        ContextLength(512, None, token(8000, 0, 16384, 8192)),
        ContextLength(4096, None, None),
    ),
)


def test_the_sentence_has_both_ends_and_where_the_cache_leaves() -> None:
    assert headline(ANSWER) == (
        "net<1> on chip: 1,000.0 tokens a second at a context of 2 and 250.0 tokens a second at a context of "
        "512; from 512 on a part of the cache is in Psram."
    )
    short = replace(ANSWER, lengths=ANSWER.lengths[:2])
    assert headline(short).endswith("1,000.0 tokens a second at a context of 2; the cache stays on chip.")
    assert headline(replace(ANSWER, lengths=ANSWER.lengths[:1])).endswith(
        "no token with a cache was planned."
    )


def test_the_table() -> None:
    assert length_rows(ANSWER) == [
        ("1", "2.000", "as prompt", "", "", "", "", ""),
        ("2", "2.500", "1.000", "1,000.0", "50.0%", "800 B", "64 B", "0"),
        ("64", "4.500", "2.000", "500.0", "50.0%", "250 B", "2.0 KiB", "0"),
        ("512", "no plan", "4.000", "250.0", "50.0%", "0 B", "16.0 KiB", "8.0 KiB"),
        ("4,096", "no plan", "no plan", "", "", "", "", ""),
    ]
    assert not ANSWER.fits
    assert replace(ANSWER, lengths=ANSWER.lengths[:3]).fits


def test_a_page_without_a_plan_says_why() -> None:
    page = page_of(replace(ANSWER, lengths=ANSWER.lengths[:1], reason="too large"))
    assert page.sentences == ("No token with a cache was planned: too large.",)
    assert "A token is the last" not in render_tables(page)


def test_the_page_is_whole_and_escaped() -> None:
    page = render_tables(page_of(ANSWER))
    assert "net&lt;1&gt;" in page
    assert "net<1>" not in page
    assert "head&lt;1&gt; 800 B" in page
    speed, memory = (each.chart for each in page_of(ANSWER).charts)
    assert [(trace["x"], trace["y"]) for trace in speed.traces] == [([2, 64, 512], [1000, 500, 250])]
    assert [trace["y"] for trace in memory.traces] == [[800, 250, 0], [64, 2048, 8192], [0, 0, 8192]]


def test_a_single_length_has_no_chart() -> None:
    page = page_of(replace(ANSWER, lengths=ANSWER.lengths[1:2]))
    assert not any(each.chart.traces for each in page.charts)
