"""The numbers of a chip by what they matter: sentence, tables and tornado chart from a known answer."""

import pytest

from chipmodel.answers.sensitivity import SensitivityAnswer, VariedField, VariedRun
from reports.sensitivity import SHAPES, field_rows, headline, page as page_of, refused_rows, tornado
from reports.table_page import render_tables

ANSWER = SensitivityAnswer(
    "net<1>",
    "chip",
    0.2,
    10.0,
    (
        VariedField("core_mhz", "300", VariedRun("240", 12.5), VariedRun("360", 9.0)),
        VariedField("dma.channels", "1", VariedRun("0", reason="dma.channels is 0"), VariedRun("2", 9.5)),
        VariedField("setup", "5", VariedRun("4", 9.9), VariedRun("6", 9.8)),
        VariedField("psram.bytes", "8 MiB", VariedRun("7", 10.0), VariedRun("9", 10.0)),
    ),
    ("gap",),
)


def test_the_sentence_names_what_matters_most() -> None:
    assert headline(ANSWER) == (
        "10.000 ms. By 20.0% less or more, what matters most is core_mhz (+25.0%, \N{MINUS SIGN}10.0%), "
        "dma.channels (no run, \N{MINUS SIGN}5.0%), setup (\N{MINUS SIGN}1.0%, \N{MINUS SIGN}2.0%); "
        "1 of 4 do not matter."
    )


def test_the_tables() -> None:
    assert [row[0] for row in field_rows(ANSWER)] == ["core_mhz", "dma.channels", "setup"]
    assert field_rows(ANSWER)[1] == ("dma.channels", "1", "0", "no run", "2", "\N{MINUS SIGN}5.0%")
    assert refused_rows(ANSWER) == [("dma.channels", "0", "dma.channels is 0")]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape[0])
def test_bars_are_as_long_as_the_changes_and_on_their_side(shape: tuple[str, int]) -> None:
    chart = tornado(ANSWER, *shape)
    slower, faster, channels, *setup = chart.boxes
    assert (slower.kind, slower.low[0], slower.high[0]) == ("less", 0, 0.25)
    assert (faster.kind, round(faster.low[0], 6), faster.high[0]) == ("more", -0.1, 0)
    assert slower.low[1] == faster.low[1] > channels.low[1] > setup[0].low[1]
    assert [box.kind for box in (channels, *setup)] == ["more", "more", "less"]  # The longer bar lies behind.
    assert chart.y.labels[0] == (2.5, "core_mhz")
    assert chart.across(0.25) < chart.edges[1]


def test_the_page_is_whole_and_escaped() -> None:
    page = render_tables(page_of(ANSWER))
    assert "net&lt;1&gt;" in page
    assert page.count("<rect") == 2 * 5
    assert "dma.channels is 0" in page
