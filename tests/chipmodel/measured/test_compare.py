"""Limits of the model's errors, through the module of ``chipmodel validate``; and tables of users."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip
from chipmodel.measured.compare import (
    ComparedRow,
    TableComparison,
    chip_for,
    compare,
    document,
    parts,
    read_table,
    summary,
)
from chipmodel.measured.kinds import KINDS
from tests.support.folders import HARDWARE
from tests.support.mistakes import mistakes

TABLES = sorted(path.stem for path in HARDWARE.glob("*.csv"))


def compared(text: str, chip: str | None = None, kind: str | None = None, *overrides: str) -> TableComparison:
    table = read_table(text, "t.csv", kind)
    return compare(table, chip_for(table, chip, overrides))


def given_table(name: str, chip: str | None = None, *overrides: str) -> TableComparison:
    return compared((HARDWARE / f"{name}.csv").read_text(encoding="utf-8"), chip, None, *overrides)


def whole_ratio(compared: ComparedRow) -> bool:
    """Whether the reads are in step with the Psram clock, and no narrower than the bus."""
    row = compared.row
    size = row.whole("bytes") if "bytes" in row.cells else row.whole("bytes_each")
    return (row.number("sys_mhz") / row.number("ck_mhz")).denominator == 1 and size >= 8


def others_off(comparison: TableComparison, *names: str) -> Fraction:
    """The largest error in any of the named further columns."""
    return max(abs(c.answers[name] - c.row.number(name)) for c in comparison.rows for name in names)


def test_every_given_table_is_its_own_kind() -> None:
    assert set(TABLES) == set(KINDS)
    for name in TABLES:
        comparison = given_table(name)
        assert comparison.kind.name == name
        assert comparison.chip == KINDS[name].chip


# The bars of "Must show".


@pytest.mark.parametrize("name", ["rtl_hyperbus_read", "rtl_hyperbus_back_to_back"])
def test_hyperbus_errors_stay_below_their_limits(name: str) -> None:
    comparison = given_table(name)
    for row in comparison.rows:
        equal = row.row.number("sys_mhz") == row.row.number("ck_mhz")
        limit = 0 if equal or whole_ratio(row) else 1
        beats = {"first_beat_sys_cycle", comparison.kind.measured} & row.answers.keys()
        assert all(abs(row.answers[beat] - row.row.number(beat)) <= limit for beat in beats), row
    assert others_off(comparison, "cs_low_count", "ck_clocks") == 0


@pytest.mark.parametrize("name", ["rtl_axi_cdma", "rtl_ef_psram"])
def test_the_other_controllers_are_exact(name: str) -> None:
    comparison = given_table(name)
    assert summary(comparison.rows).max_abs_error == 0
    assert others_off(comparison, *comparison.kind.others) == 0


def test_tables_are_summarised_in_parts() -> None:
    transfers, vectors = parts(given_table("luna_transfer")), parts(given_table("luna_vector"))
    assert (transfers["from_1KiB"].rows, transfers["below_1KiB"].rows) == (23, 6)
    assert (vectors["softmax"].rows, vectors["others"].rows) == (7, 45)


# Tables of a user's own.


def test_a_small_table_by_hand() -> None:
    # 534 + 64 / 8 = 542, and 521 + 64 / 4 = 537 (hardware.md, "Vector").
    text = "cycles,elements,op,when\r\n540,64, add ,now\r\n\r\n537,64,mul,later\r\n"
    answer = document(compared(text))
    assert answer["rows"] == [
        row(2, "add", 64, measured=540, predicted=542, error=2, relative_error=2 / 540),
        row(4, "mul", 64, measured=537, predicted=537, error=0, relative_error=0.0),
    ]
    whole: dict[str, Any] = answer["summary"]
    assert whole["softmax"] == {
        "rows": 0,
        "exact": 0,
        "max_abs_error": None,
        "max_relative_error": None,
        "mean_relative_error": None,
    }
    everything = {
        "rows": 2,
        "exact": 1,
        "max_abs_error": 2,
        "max_relative_error": 2 / 540,
        "mean_relative_error": 1 / 540,
    }
    assert whole["others"] == everything
    assert {key: whole[key] for key in everything} == everything
    assert (answer["table"], answer["kind"], answer["chip"]) == ("t.csv", "luna_vector", "luna-arcs")
    assert answer["notes"] == ["column 'when' is not used"]


def row(line: int, op: str, elements: int, **numbers: float) -> dict[str, object]:
    return {"line": line, "op": op, "elements": elements, **numbers}


def test_further_columns_are_predicted_whether_measured_or_not() -> None:
    text = "data_bits,max_burst_beats,src,dst,bytes,cycles,read_bursts\n64,16,0,131072,256,40,3\n"
    (only,) = document(compared(text))["rows"]
    assert (only["measured"], only["predicted"], only["error"]) == (40, 41, 1)
    assert (only["read_bursts"], only["predicted_read_bursts"], only["predicted_write_bursts"]) == (3, 2, 2)
    assert "write_bursts" not in only


def test_queued_reads_may_have_a_latency_column() -> None:
    plain = "sys_mhz,ck_mhz,reads,bytes_each,total_sys_cycles\n100,100,2,64,110\n"
    slow = f"latency_clocks,latency_multiple,{plain}".replace("\n100", "\n6,2,100")
    # Six clocks more for each of the two reads.
    assert [compared(text).rows[0].predicted for text in (plain, slow)] == [110, 122]


CONV = "in_c,in_h,in_w,out_c,kernel_h,kernel_w,stride,pad_h,pad_w,cycles"


def test_conv_and_depthwise_are_recognised_by_the_rows() -> None:
    both = [float(compared(f"{CONV}\n8,8,8,8,3,3,1,1,1,1\n", None, k).rows[0].predicted) for k in NPU]
    assert both[0] != both[1]
    for name, cycles in zip(NPU, both, strict=True):
        comparison = compared(f"{CONV}\n8,8,8,8,3,3,1,1,1,{cycles}\n")
        assert comparison.kind.name == name
        assert comparison.rows[0].error == 0
        assert "smaller sum of errors" in comparison.notes[0]
    differ = compared(f"{CONV}\n8,8,8,8,3,3,1,1,1,{both[1]}\n8,8,8,16,3,3,1,1,1,2000\n")
    assert differ.kind.name == "luna_conv2d"
    assert "in_c and out_c differ" in differ.notes[0]
    assert compared(f"{CONV}\n8,8,8,16,3,3,1,1,1,9\n", None, "luna_depthwise2d").kind.name == NPU[1]


NPU = ("luna_conv2d", "luna_depthwise2d")


@given(st.lists(st.tuples(st.integers(1, 4000), st.integers(1, 10_000)), min_size=1, max_size=8))
def test_the_summary_is_that_of_the_rows(pairs: list[tuple[int, int]]) -> None:
    text = "op,elements,cycles\n" + "".join(f"relu,{n},{cycles}\n" for n, cycles in pairs)
    answer = document(compared(text))
    errors: list[float] = [r["error"] for r in answer["rows"]]
    assert errors == [484 + n / 4 - cycles for n, cycles in pairs]
    shares = [abs(e) / cycles for e, (_, cycles) in zip(errors, pairs, strict=True)]
    assert answer["summary"]["max_abs_error"] == max(abs(error) for error in errors)
    assert answer["summary"]["exact"] == errors.count(0)
    assert answer["summary"]["mean_relative_error"] == pytest.approx(sum(shares) / len(shares))
    assert answer["summary"]["max_relative_error"] == pytest.approx(max(shares))


# What cannot be read.

VECTOR = "op,elements,cycles"


@pytest.mark.parametrize(("text", "words"), mistakes("measurements"))
def test_malformed_tables(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=f"(?s){words}") as caught:
        compared(text)
    assert caught.value.hint


def test_a_depthwise_reading_needs_channels_that_divide() -> None:
    with pytest.raises(BadInput, match=r"t\.csv:2:7: out_c 12 of a depthwise convolution is not a multiple"):
        compared(f"{CONV}\n8,8,8,12,3,3,1,1,1,9\n", None, "luna_depthwise2d")


def test_a_kind_that_does_not_exist_or_lacks_columns_is_refused() -> None:
    with pytest.raises(BadInput, match=r"'luna_vectors' is not a kind of table\n.*'luna_vector'"):
        compared(f"{VECTOR}\nadd,1,2\n", None, "luna_vectors")
    with pytest.raises(BadInput, match="as luna_matmul the table has no column rows, inner"):
        compared(f"{VECTOR}\nadd,1,2\n", None, "luna_matmul")


RTL = [name for name in TABLES if name.startswith("rtl_")]


@pytest.mark.parametrize("name", RTL)
def test_a_controllers_table_has_its_own_default_chip(name: str) -> None:
    own = KINDS[name].chip
    assert document(given_table(name, own)) == document(given_table(name))
    for wrong in ("luna-arcs", "pulp-hyperbus" if own != "pulp-hyperbus" else "ef-psram"):
        with pytest.raises(BadInput, match=f"compared with {own}, not with --chip '{wrong}'"):
            given_table(name, wrong)


# A constant that no column gives, and one that a column does.
@pytest.mark.parametrize(
    ("name", "counts", "ignored"),
    [
        ("rtl_hyperbus_read", "dma.hyperbus.response_cycles=9", "psram.clock_mhz=99"),
        ("rtl_hyperbus_back_to_back", "dma.hyperbus.latency_clocks=7", "core_mhz=999"),
        ("rtl_axi_cdma", "dma.cdma.boundary_bytes=1024", "dma.cdma.max_burst_beats=1"),
        ("rtl_ef_psram", "dma.ef_psram.frame_cycles=3", "dma.ef_psram.wait_clocks=0"),
    ],
)
def test_the_presets_numbers_replace_missing_columns(name: str, counts: str, ignored: str) -> None:
    usual, changed, same = (
        given_table(name),
        given_table(name, None, counts),
        given_table(name, None, ignored),
    )
    assert [r.predicted for r in changed.rows] != [r.predicted for r in usual.rows]
    assert [r.answers for r in same.rows] == [r.answers for r in usual.rows]
    assert (len(changed.notes), len(same.notes)) == (0, 1)
    assert f"{ignored.replace('=', ' = ')} is not used: the table has the column" in same.notes[0]


@pytest.mark.parametrize("name", RTL)
def test_columns_that_the_chip_has_may_be_missing(name: str) -> None:
    """Each of its chip's numbers in turn, in the rows that have the preset's value."""
    header, *lines = [line.split(",") for line in (HARDWARE / f"{name}.csv").read_text().splitlines()]
    chip = load_chip(KINDS[name].chip)
    for column in (c for c in KINDS[name].inputs if c.field and c.name in header):
        at, value = header.index(column.name), chip.figures[column.field or ""].value
        rows = [header, *(line for line in lines if line[at] == value)]
        whole = compared("\n".join(",".join(row) for row in rows))
        without = compared("\n".join(",".join(row[:at] + row[at + 1 :]) for row in rows))
        assert without.kind.name == name
        assert len(rows) > 1
        assert [row.answers for row in without.rows] == [row.answers for row in whole.rows]


def test_a_chip_file_holds_the_parameters(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("base: pulp-hyperbus\ndma.hyperbus.latency_multiple: 2\n")
    text = "reads,bytes_each,total_sys_cycles\n2,64,110\n"
    # Six clocks more for each of the two reads of 100 MHz in rtl_hyperbus_back_to_back.
    assert [compared(text, chip).rows[0].predicted for chip in (None, str(path))] == [110, 122]
