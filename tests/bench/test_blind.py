"""Rows that nobody had seen: their errors, their intervals, and what a preset keeps of them."""

import pytest

from bench.blind import lines, newest, recorded, tried
from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip

TABLE = """board,network,input,measured,unit,source
STM32N6570-DK,MobileNet v2 0.35 128 [zoo:mobilenetv2?width=0.35&input=128],128x128x3,6.4,ms,a
STM32N6570-DK,mobilenetv2_0.35_food101,128x128x3,3000,us,a
GAP9,no_such_net,,1,ms,a
luna-arcs,ds_cnn,,0.001,s,a
"""


def test_rows_are_compared_with_what_is_predicted() -> None:
    first, second, unknown, unmeasured = rows = list(tried(TABLE, "rows.csv"))
    assert [row.measured for row in rows] == [6.4, 3.0, 1.0, 1.0]
    assert unknown.found is None
    assert "'no_such_net' is not predicted" in unknown.refused
    assert first.record
    assert second.record
    assert unmeasured.record
    assert first.record.inside is True
    assert second.record.low < second.record.predicted < second.record.high
    assert (unmeasured.record.high, unmeasured.record.inside) == (0, None)
    *_, board, luna, every = lines(rows)
    assert board.startswith("`stm32n6`: tensors in SharedMemory: 2 rows, mean error ")
    assert luna.startswith("`luna-arcs`: not measured: 1 row, mean error ")
    assert every.startswith("all: 3 rows, mean error ")
    kept = recorded(rows, "2026-11-28")
    assert set(kept) == {"stm32n6", "luna-arcs"}
    assert [each.date for each in kept["stm32n6"][-2:]] == ["2026-11-28"] * 2


@pytest.mark.parametrize("cells", ["fast,ms", "0,ms", "nan,ms", "3,hours"])
def test_a_time_that_is_none_is_refused_with_its_place(cells: str) -> None:
    with pytest.raises(BadInput, match=r"^rows.csv:2:13: .* is no measured time"):
        list(tried(f"chip,network,measured,unit\ngap9,ds_cnn,{cells}\n", "rows.csv"))


def test_the_newest_blind_result_is_that_of_the_last_date() -> None:
    chip = load_chip("stm32n6")
    assert newest(chip).startswith("2026-11-28: 8 rows, mean error 29.5%, 3 of 8 inside")
    assert newest(load_chip("gap9")) == ""
