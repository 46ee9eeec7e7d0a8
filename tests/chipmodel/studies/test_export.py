"""Tables of rows as promised; requirements from the study file through the store to the table."""

import csv
import io
import sys
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chipmodel.answers.design_question import DesignQuestion, Requirements
from chipmodel.answers.study_columns import columns_of
from chipmodel.answers.study_row import Point, Row
from chipmodel.api.report import report
from chipmodel.api.study import study
from chipmodel.errors import BadInput
from chipmodel.studies.design_question import read_stored, stored_text
from chipmodel.studies.export import csv_bytes, parquet_bytes, table_of, writer_of
from chipmodel.terminal.escapes import cell_text
from tests.chipmodel.studies.support import row, rows
from tests.support.folders import data

PARQUET: Any = import_module("pyarrow.parquet")
PROMISED = [
    *("workload", "chip", "packer", "merge", "streamer", "seed", "status", "peak_bytes"),
    *("peak_lower_bound_bytes", "total_cycles", "lower_bound_cycles", "seconds"),
]


def swept(size: str, packer: str = "pool") -> Row:
    point = Point("w", "c", packer, "m", "s", 0, (("shared_memory.bytes", size), ("psram.clock_mhz", "80")))
    return Row(point, size + packer, "optimal", 0.25, 120, 100, 128, 1500, 1000)


def parsed(raw: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(raw.decode(), newline="")))


def test_the_columns() -> None:
    columns = columns_of([row("k1"), swept("64KiB")])
    assert set(PROMISED) <= set(columns)
    assert columns[:4] == ("workload", "chip", "psram.clock_mhz", "shared_memory.bytes")
    assert columns[-1] == "answered"
    assert not {"seconds", "origin", "answered"} & {*columns_of([], times=False)}


def test_values_and_gaps() -> None:
    (line,) = parsed(csv_bytes([swept("64KiB")]))
    assert line["shared_memory.bytes"] == "64KiB"
    assert (line["peak_bytes"], line["peak_gap"], line["cycle_gap"]) == ("120", "0.19999999999999996", "0.5")
    assert (line["seconds"], line["milliseconds"], line["error"]) == ("0.25", "", "")


def test_rows_are_in_order_of_values_whatever_order_they_come_in() -> None:
    found = [swept(size, packer) for size in ("64KiB", "128KiB", "1MiB") for packer in ("exact", "pool")]
    mixed = Random(1).sample(found, len(found))
    sizes = [line["shared_memory.bytes"] for line in parsed(csv_bytes(mixed))]
    assert sizes == ["64KiB"] * 2 + ["128KiB"] * 2 + ["1MiB"] * 2
    assert csv_bytes(mixed) == csv_bytes(found)
    assert parquet_bytes(mixed) == parquet_bytes(found)


@pytest.mark.slow
@given(st.lists(rows, max_size=6, unique_by=lambda each: each.point))
def test_csv_and_parquet_have_the_same_cells(found: list[Row]) -> None:
    columns, lines = table_of(found)
    table = PARQUET.read_table(io.BytesIO(parquet_bytes(found)))
    assert tuple(table.column_names) == columns
    assert [tuple(each.values()) for each in table.to_pylist()] == lines
    as_text = [["" if value is None else cell_text(str(value)) for value in line] for line in lines]
    assert list(csv.reader(io.StringIO(csv_bytes(found).decode(), newline="")))[1:] == as_text


def test_a_traceback_is_not_in_the_table_but_the_error_is() -> None:
    bad = row("k1", "failed", None, "internal error: E: why\nTraceback (most recent call last):\n  here")
    assert parsed(csv_bytes([bad]))[0]["error"] == "internal error: E: why"


def test_times_can_be_left_out() -> None:
    as_csv, as_parquet = (writer_of(Path(name))([row("k1")], False) for name in ("t.csv", "t.parquet"))
    assert "seconds" not in parsed(as_csv)[0]
    assert "seconds" not in PARQUET.read_schema(io.BytesIO(as_parquet)).names


def test_other_names_and_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match=r"FILE\.csv or FILE\.parquet"):
        writer_of(Path("t.xlsx"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadInput, match=r"install chipmodel\[parquet\]"):
        writer_of(Path("t.parquet"))
    assert writer_of(Path("t.csv"))([], False).startswith(b"workload,chip,")


TEXT = data("small/study_of_channels.yaml")


def _run(folder: Path, formula: str) -> Path:
    file = folder / "s.yaml"
    file.write_text(TEXT.replace("FORMULA", formula))
    study(file, only_status=False, workers=1)
    return file


def test_a_column_goes_from_the_formula_to_the_rows_and_a_new_one_answers_no_point_again(
    tmp_path: Path,
) -> None:
    file = _run(tmp_path, "0.1*dma.channels + 384KiB/shared_memory.bytes")
    found = report(file)
    assert {row.costs for row in found.results.rows} == {
        (("area", 1.1), ("pins", 8.0)),
        (("area", 1.2), ("pins", 8.0)),
    }
    assert found.results.requirements == Requirements(5.0, 65536)
    assert columns_of(found.results.rows)[2:5] == ("dma.channels", "area", "pins")
    assert "the cheapest is area 1.1, pins 8, dma.channels 1" in found.headline()
    seconds = [row.seconds for row in found.results.rows]
    again = report(_run(tmp_path, "5 - dma.channels")).results.rows
    assert [row.seconds for row in again] == seconds
    assert {row.costs[0] for row in again} == {("area", 3.0), ("area", 4.0)}


def test_a_field_that_a_chip_does_not_have_is_said_at_the_formula(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"s\.yaml:7:13: luna-arcs has no npu\.launch_cycles"):
        _run(tmp_path, "1 + npu.launch_cycles")


def test_the_question_is_read_back_from_a_store(tmp_path: Path) -> None:
    asked = DesignQuestion(
        Requirements(2.5, None), ("area",), {("luna-arcs", (("dma.channels", "2"),)): (0.3,)}
    )
    assert read_stored(stored_text(asked), tmp_path) == asked
    assert read_stored("", tmp_path) == DesignQuestion()
    with pytest.raises(BadInput, match="no study writes"):
        read_stored('[{"milliseconds": "soon"}, [], []]', tmp_path)
