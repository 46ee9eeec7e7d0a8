"""The model of axi_cdma against cycles of its registers, stepped one by one, and against its RTL."""

import csv
from pathlib import Path

import pytest

from chipmodel.errors import BadInput
from chipmodel.timing.cdma import AxiCdma, CopyCost
from tests.support.folders import HARDWARE, ROOT

TABLES = (ROOT / "tests" / "data" / "cdma_stepped.csv", HARDWARE / "rtl_axi_cdma.csv")


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_burst_by_burst_is_cycle_by_cycle(table: Path) -> None:
    with table.open(encoding="utf-8") as file:
        rows = [tuple(map(int, row)) for row in list(csv.reader(file))[1:]]
    for bits, beats, source, target, size, *cost in rows:
        assert AxiCdma(bits, beats).copy(source, target, size) == CopyCost(*cost), (bits, beats, source, size)


def test_a_terabyte_takes_no_time() -> None:
    assert AxiCdma(64, 2).copy(8, 4080, 1 << 40).cycles > 1 << 37


@pytest.mark.parametrize("traffic", [(4, 0, 64), (0, 4, 64), (0, 0, 0)])
def test_what_the_engine_cannot_copy_is_refused(traffic: tuple[int, int, int]) -> None:
    with pytest.raises(BadInput, match="a copy of"):
        AxiCdma().copy(*traffic)
