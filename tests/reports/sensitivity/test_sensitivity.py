"""The numbers of a chip by what they matter: sentence, tables and tornado chart from a known answer."""

import pytest

from chipmodel.answers.sensitivity import SensitivityAnswer, VariedField, VariedRun
from reports.sensitivity import (
    SHAPES,
    TornadoShape,
    field_rows,
    headline,
    page as page_of,
    refused_rows,
    tornado,
)
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


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.kind)
def test_bars_are_as_long_as_the_changes_and_on_their_side(shape: TornadoShape) -> None:
    core, channels, setup = tornado(ANSWER, shape)
    middle = (shape.left + shape.width) / 2
    slower, faster = core.bars
    assert (slower.kind, slower.x, slower.anchor) == ("less", middle, "start")
    assert (faster.kind, faster.x + faster.width, faster.anchor) == ("more", middle, "end")
    assert round(slower.width / faster.width, 2) == 2.5
    assert [bar.kind for bar in channels.bars] == ["more"]
    # Both changes on one side: the longer bar lies behind and has the text.
    assert [(bar.kind, bool(bar.text)) for bar in setup.bars] == [("more", True), ("less", False)]
    assert slower.x + slower.width < shape.width


def test_the_page_is_whole_and_escaped() -> None:
    page = render_tables(page_of(ANSWER))
    assert "net&lt;1&gt;" in page
    assert page.count("<rect") == 2 * 5
    assert "dma.channels is 0" in page
