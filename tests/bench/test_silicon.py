"""What the presets say of their errors is what the tables of measurements give, with no row left out."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench.accuracy import accuracies
from bench.boards import board_names, load_board
from bench.silicon import (
    covered,
    fitted_numbers,
    fold_lines,
    interval_lines,
    networks,
    predicted_networks,
    table,
)
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.hardware.measured_networks import WIDEST, MeasuredNetwork, NetworkTraits, classes
from chipmodel.measured.network_fit import free_numbers
from chipmodel.measured.network_prediction import workload_of

BOARDS = board_names()
PARTS = 4
"""Parts of a table that are tested one by one, as planning some networks takes ten seconds."""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("board", BOARDS)
def test_a_preset_keeps_every_row_of_its_table_as_it_predicts_it(board: str, part: int) -> None:
    """Where this fails: python -m bench.silicon --write BOARD."""
    kept, read = load_board(board).measured, table(board)
    assert len(kept) == len(read.rows)
    asked = [workload_of(row) for row in read.rows]
    mine = {*sorted({*asked})[part::PARTS]}  # with all rows of each, as it is planned once
    own = [number for number, workload in enumerate(asked) if workload in mine]
    found = predicted_networks(replace(read, rows=tuple(read.rows[n] for n in own)), load_board(board))
    for old, new in zip((kept[n] for n in own), found, strict=True):
        assert (old.measured, old.predicted) == pytest.approx((new.measured, new.predicted), rel=1e-4)
        assert old == replace(new, measured=old.measured, predicted=old.predicted, held_out=old.held_out)


def test_only_presets_with_a_table_keep_rows() -> None:
    presets = [name for name in preset_names() if load_chip(name).measured]
    assert presets == [name for name in BOARDS if name in preset_names()]


def test_a_board_without_a_promise_is_an_example_that_promises_nothing() -> None:
    """Neither a mean error nor an interval."""
    boards = [load_board(name) for name in BOARDS if name not in preset_names()]
    assert [chip.name for chip in boards if chip.withdrawn][:3] == ["esp32p4", "mcxn947", "stm32h7"]
    for chip in boards:
        found = classes(chip.measured, chip.blind, chip.withdrawn).values()
        assert not any(each.is_known for each in found)
        assert all(each.unknown for each in found) or not chip.withdrawn


def test_no_preset_has_an_interval_above_a_factor_of_three() -> None:
    for name in BOARDS:
        chip = load_board(name)
        for each in classes(chip.measured, chip.blind, chip.withdrawn).values():
            low, high = each.interval
            assert each.unknown or high <= WIDEST * low


def share_inside(boards: Sequence[str]) -> float:
    """How much of a family lies in the interval of the others of its class: the mean of all families."""
    found = [
        each for board in boards for each in covered(load_board(board).measured, load_board(board).blind)
    ]
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


def test_what_a_preset_keeps_as_held_out_is_what_fits_without_the_family_give() -> None:
    """Those of other boards take up to minutes: python -m bench.silicon stm32n6."""
    board = "gap9"
    kept, (found, folds) = load_board(board).measured, networks(board, fitted=True)
    assert [row.held_out for row in kept] == pytest.approx([row.held_out for row in found], rel=1e-4)
    heads, _, *numbers = fold_lines(folds)
    assert heads == f"\n| family left out | `{free_numbers(load_board(board))[0]}` |"
    assert {line.split(" | ")[0] for line in numbers} == {f"| {row.family}" for row in kept}


@pytest.mark.parametrize(
    ("board", "count"),
    [("stm32n6", 4), ("stm32h7", 2), ("esp32s3", 1), ("esp32p4", 1), ("stm32l4r5", 0), ("corstone-300", 0)],
)
def test_numbers_that_the_chip_file_calls_fitted_are_fitted_anew(board: str, count: int) -> None:
    assert len(fitted_numbers(load_board(board))) == count


def test_what_luna_arcs_says_of_its_errors_is_what_the_tables_give() -> None:
    tables = [each for each in accuracies() if each.chip == "luna-arcs"]
    inexact = [each for each in tables if each.exact < each.rows]
    assert [each.table for each in inexact] == ["luna_transfer"]
    share = f"{inexact[0].mean_relative * 100:.1f} %"
    assert f"exact, transfers {share} on average" in load_chip("luna-arcs").compared_with
