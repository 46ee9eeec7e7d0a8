"""Requirements and columns from the study file through the store to the rows, the table and the page."""

import sqlite3
from pathlib import Path

import pytest

from chipmodel.answers.design_question import DesignQuestion, Requirements
from chipmodel.api.report import report
from chipmodel.api.study import study
from chipmodel.errors import BadInput
from chipmodel.studies.design_question import read_stored, stored_text
from chipmodel.studies.export import columns_of

TEXT = """\
workloads: zoo:dnn_kws
packers: large-first
streamers: sync
set: {dma.channels: [2, 1]}
requirements: {milliseconds: 5, peak_bytes: 64KiB}
columns:
  area: FORMULA
  pins: 8
"""


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


def test_a_store_of_before_has_no_question(tmp_path: Path) -> None:
    file = _run(tmp_path, "1")
    with sqlite3.connect(file.with_suffix(".sqlite")) as link:
        link.execute("DELETE FROM header WHERE name = 'designs'")
    assert report(file).results.requirements == Requirements()
