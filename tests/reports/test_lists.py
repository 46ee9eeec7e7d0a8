"""The lists on the terminal: every row, and the user's own text without markup."""

from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import fmean

import pytest

from bench.boards import load_board
from chipmodel.api.listings import planners
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.hardware.fields import FIELDS
from dma.stream import streamers
from reports.lists import chip_page, chips_page, networks_page, planners_page
from reports.page_parts import TablePage
from solvers.branches.mergers import mergers
from solvers.registry import packers
from tests.reports.console import printed as printed_page
from tests.support.chips import LUNA_LIKE
from tests.support.small_networks import small_network


@dataclass
class Thing:
    name: str
    title: str
    source: str


def printed(page: TablePage, width: int = 300) -> list[list[str]]:
    """The lines of a list, cut into cells."""
    lines = printed_page(page, width).splitlines()
    return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines if line.strip()]


def test_networks_by_name_with_what_their_programs_count() -> None:
    rows = [(Thing("net", "A network", "Somebody 2020"), small_network("lists net"))]
    heading, _, row = printed(networks_page(rows))
    assert heading == ["name", "MACs", "weights", "description and source"]
    assert row == ["net", "2,200.0 M", "2,200.0 k", "A network. Somebody 2020"]


def test_planners_by_the_option_that_takes_them() -> None:
    heading, _, *rows = printed(planners_page(planners()))
    assert heading == ["chosen by", "name", "what it does", "source"]
    assert [row[:2] for row in rows] == [
        *(["--packer", name] for name in packers()),
        *(["--merge", name] for name in mergers()),
        *(["--streamer", name] for name in streamers()),
        *(["npu.model", name] for name in FIELDS["npu.model"].options),
        *(["suffix", name] for name in ("yaml", "yml", "onnx", "tflite")),
    ]
    assert all(len(row) == 4 for row in rows)


def test_each_chip_is_a_row() -> None:
    odd = replace(LUNA_LIKE, name="odd", title="[b]odd[/b] :x:", core_mhz=Fraction(400, 3))
    chips = [LUNA_LIKE, odd, load_board("esp32p4")]
    above, heading, _, *rows = printed(chips_page(chips))
    assert above == ["Shared", "core", "MACs a", "mean"]
    assert heading == ["name", "Memory", "MHz", "cycle", "error", "description"]
    measured = rows.pop()
    assert measured[4:] == [f"{fmean(abs(row.error) for row in chips[2].measured):.1%}", chips[2].title]
    assert rows == [
        ["test-chip", "384 KiB", "300", "64", "a chip like LUNA ARCS; not compared with silicon"],
        ["odd", "384 KiB", "133.333", "64", "[b]odd[/b] :x:; not compared with silicon"],
    ]


@pytest.mark.parametrize("name", preset_names())
def test_every_number_of_a_chip_has_its_source(name: str) -> None:
    chip = load_chip(name)
    lines = printed(chip_page(chip), 2000)
    heading = lines.index(["field", "value", "origin", "source"])
    title = " ".join(cell for line in lines[:heading] for cell in line)
    assert title == f"{chip.name}: {chip.title}; {chip.accuracy}"
    rows = lines[heading + 2 :]
    assert [row[:3] for row in rows] == [[path, f.value, f.mark] for path, f in chip.figures.items()]
