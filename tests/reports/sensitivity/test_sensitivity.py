"""The numbers of a chip by what they matter: sentence, tables and tornado chart from a known answer."""

import pytest

from chipmodel.answers.sensitivity import SensitivityAnswer, VariedField, VariedRun
from reports.sensitivity import field_rows, headline, page as page_of, refused_rows, tornado
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


def test_bars_are_as_long_as_the_changes_and_on_their_side() -> None:
    chart = tornado(ANSWER)
    less, more = chart.traces
    assert dict(zip(less["y"], less["x"], strict=True)) == pytest.approx({"core_mhz": 0.25, "setup": -0.01})
    assert dict(zip(more["y"], more["x"], strict=True)) == pytest.approx(
        {"core_mhz": -0.1, "dma.channels": -0.05, "setup": -0.02}
    )
    assert less["hovertext"][0] == "core_mhz 240: +25.0%"
    assert chart.layout["yaxis"]["categoryarray"] == ["setup", "dma.channels", "core_mhz"]


def test_the_page_is_whole_and_escaped() -> None:
    page = render_tables(page_of(ANSWER))
    assert "net&lt;1&gt;" in page
    assert "dma.channels is 0" in page
