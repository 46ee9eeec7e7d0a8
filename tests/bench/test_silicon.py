"""What the presets say of their errors is what the tables of measurements give, with no row left out."""

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log

import pytest

from bench.accuracy import accuracies
from bench.silicon import (
    TABLES,
    alternatives,
    chooses,
    covered,
    fitted_numbers,
    fold_lines,
    interval_lines,
    lines,
    networks,
    outset,
    predicted_networks,
    table,
)
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.hardware.measured_networks import MeasuredNetwork, NetworkTraits, classes
from chipmodel.measured.network_fit import free_numbers
from chipmodel.measured.network_prediction import workload_of

BOARDS = sorted(path.stem for path in TABLES.glob("*.csv"))
PARTS = 4
"""Parts of a table that are tested one by one, as planning some networks takes ten seconds."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("board", BOARDS)
def test_a_preset_keeps_every_row_of_its_table_as_it_predicts_it(board: str, part: int) -> None:
    """Where this fails: python -m bench.silicon --write BOARD."""
    kept, read = load_chip(board).measured, table(board)
    assert len(kept) == len(read.rows)
    asked = [workload_of(row) for row in read.rows]
    mine = {*sorted({*asked})[part::PARTS]}  # with all rows of each, as it is planned once
    own = [number for number, workload in enumerate(asked) if workload in mine]
    found = predicted_networks(replace(read, rows=tuple(read.rows[n] for n in own)), load_chip(board))
    for old, new in zip((kept[n] for n in own), found, strict=True):
        assert (old.measured, old.predicted) == pytest.approx((new.measured, new.predicted), rel=1e-4)
        assert old == replace(new, measured=old.measured, predicted=old.predicted, held_out=old.held_out)


def test_only_presets_with_a_table_keep_rows() -> None:
    assert [name for name in preset_names() if load_chip(name).measured] == BOARDS


def share_inside(boards: Sequence[str]) -> float:
    """How much of a family lies in the interval of the others of its class: the mean of all families."""
    found = [each for board in boards for each in covered(load_chip(board).measured)]
    return sum(share * families for _, share, families in found) / sum(each[2] for each in found)


def test_an_interval_is_tried_on_the_families_that_it_has_not_seen() -> None:
    """Of 14 families 13 are within the others' interval; the fourteenth, far off, is not."""
    rows = [measured_row(str(number), 1 + number / 100) for number in range(13)]
    rows += [measured_row("far", 9), measured_row("alone", 1, kind="another class")]
    ((kind, share, families),) = covered(rows)
    assert (kind, families) == ("a class", 14)
    assert 0.7 < share < 0.95
    assert next(iter(interval_lines(rows))).endswith(
        "of 14 families with a class lie in the interval of the others."
    )


def measured_row(family: str, measured: float, kind: str = "a class") -> MeasuredNetwork:
    return MeasuredNetwork(family, family, measured, 1, 1, NetworkTraits(kind, 1, 1, 1, frozenset()))


@pytest.mark.parametrize("board", ["stm32n6", "esp32s3", "stm32h7"])
def test_intervals_hold_for_families_that_were_left_out(board: str) -> None:
    assert share_inside([board]) >= 0.8


def test_intervals_hold_on_boards_with_few_families() -> None:
    assert share_inside([board for board in BOARDS if load_chip(board).measured]) >= 0.8


def test_what_a_preset_keeps_as_held_out_is_what_fits_without_the_family_give() -> None:
    """Those of other boards take up to minutes: python -m bench.silicon stm32n6."""
    board = "gap9"
    kept, (found, folds) = load_chip(board).measured, networks(board, fitted=True)
    assert [row.held_out for row in kept] == pytest.approx([row.held_out for row in found], rel=1e-4)
    heads, _, *numbers = fold_lines(folds)
    assert heads == f"\n| family left out | `{free_numbers(load_chip(board))[0]}` |"
    assert {line.split(" | ")[0] for line in numbers} == {f"| {row.family}" for row in kept}


def test_a_family_is_held_out_without_what_the_others_would_not_choose() -> None:
    """Each choice that the board's networks decided is taken back for families without which it would not be
    made: one that only "b" has a say in for "b", and one that makes the others worse for all."""
    rows = [measured_row("a", 10.0), measured_row("b", 20.0), measured_row("c", 10.0)]
    rows = [replace(row, predicted=row.measured) for row in rows]
    assert [chooses(rows, [1, 0.5, 1], family) for family in "abc"] == [True, False, True]
    assert [chooses(rows, [0.9, 0.5, 1.1], family) for family in "abc"] == [True, True, True]
    off = [replace(row, predicted=1.2 * row.measured) for row in rows]
    assert [chooses(off, [0.9, 0.9, 1], family) for family in "abc"] == [False, False, False]


def test_numbers_and_choices_that_networks_decided_are_counted() -> None:
    """Those of a base were decided by the networks of another board."""
    decided = {board: load_chip(board).decided for board in ("stm32n6", "stm32l4r5", "corstone-300", "imx93")}
    assert {board: len(fields) for board, fields in decided.items()} == {
        "stm32n6": 17, "stm32l4r5": 0, "corstone-300": 0, "imx93": 1,
    }  # fmt: skip
    assert "; 17 numbers or choices decided by these networks" in load_chip("stm32n6").accuracy
    assert "; no numbers or choices decided by these networks" in load_chip("stm32l4r5").accuracy
    taken_back = alternatives(load_chip("stm32n6"), fitted_numbers(load_chip("stm32n6")))
    assert "cpu.cycles_per_element.resize_linear=0" in taken_back
    assert not any("launch" in setting or "tensor_share" in setting for setting in taken_back)


@pytest.mark.parametrize(
    ("board", "count"),
    [("stm32n6", 4), ("stm32h7", 2), ("esp32s3", 1), ("esp32p4", 1), ("stm32l4r5", 0), ("corstone-300", 0)],
)
def test_numbers_that_the_chip_file_calls_fitted_are_fitted_anew(board: str, count: int) -> None:
    assert len(fitted_numbers(load_chip(board))) == count


def test_the_older_tool_on_two_cores_has_the_factor_measured_on_the_other() -> None:
    """What is left of the other board's factor is what its own rows have beside it."""
    off = {}
    for board in ("stm32l4r5-cubeai8", "stm32u5-cubeai8"):
        like = classes(load_chip(board).measured)["tensors in SharedMemory"]
        ratios = [(log(each.measured / each.predicted), like.families[each.family]) for each in like.networks]
        off[board] = exp(sum(ratio / count for ratio, count in ratios) / len(like.families))
    assert off["stm32l4r5-cubeai8"] * 1.143 == pytest.approx(1.16, rel=0.01)
    assert off["stm32u5-cubeai8"] * 1.16 == pytest.approx(1.143, rel=0.01)


def test_fits_begin_at_powers_of_ten() -> None:
    chip = load_chip("stm32n6")
    assert [float(value) for value in outset(chip, free_numbers(chip)).values()] == [10_000, 1, 100, 10]


def test_the_table_ends_with_the_errors() -> None:
    *_, last = lines("gap9", load_chip("gap9").measured)
    assert last.startswith(
        "\nmean error 1.9% over 6 published rows; no error promised of 3 networks with tensors in Shared"
    )


def test_what_luna_arcs_says_of_its_errors_is_what_the_tables_give() -> None:
    tables = [each for each in accuracies() if each.chip == "luna-arcs"]
    inexact = [each for each in tables if each.exact < each.rows]
    assert [each.table for each in inexact] == ["luna_transfer"]
    share = f"{inexact[0].mean_relative * 100:.1f} %"
    assert f"exact, transfers {share} on average" in load_chip("luna-arcs").compared_with
