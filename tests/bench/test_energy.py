"""The energies of boards: the preset's numbers are those of the fit, and the errors are as documented."""

import re

import pytest

from bench.boards import board_names, load_board
from bench.energy import fitted, free_energies, lines, measured_energies, networks
from chipmodel.hardware.chip_file import preset_names


def test_gap9_has_the_numbers_of_the_fit_to_all_rows() -> None:
    """The least of three numbers; python -m bench.energy gap9."""
    rows, now = measured_energies("gap9"), free_energies(load_board("gap9"))
    assert len(now) == 3
    assert fitted([row.in_measured_time() for row in rows], now) == pytest.approx(now, rel=0.01)
    for row in rows:
        assert row.predicted == pytest.approx(row.measured, rel=0.04)


def test_gap9_is_within_10_percent_with_a_network_held_out() -> None:
    assert errors("gap9")[1] < 10


@pytest.mark.parametrize("board", ["stm32l4r5", "stm32u5"])
def test_boards_of_st_are_within_15_percent(board: str) -> None:
    assert max(errors(board)[1:]) < 15
    assert len(free_energies(load_board(board))) == 1


@pytest.mark.parametrize("board", ["gap9", "stm32l4r5", "stm32u5"])
def test_a_preset_keeps_its_energies_as_it_predicts_them(board: str) -> None:
    """Where this fails: python -m bench.energy --write BOARD."""
    kept, found = load_board(board).measured_energy, networks(board)
    assert [row.workload for row in kept] == [row.workload for row in found]
    for old, new in zip(kept, found, strict=True):
        assert (old.predicted, old.held_out) == pytest.approx((new.predicted, new.held_out), rel=1e-4)
        assert old.traits == new.traits


def test_every_preset_with_energy_keeps_some() -> None:
    """Presets of the same board by another tool have the power of their base."""
    chips = [
        load_board(name)
        for name in sorted({*preset_names(), *board_names()})
        if not name.endswith("-cubeai8")
    ]
    assert [chip.name for chip in chips if chip.energy] == [c.name for c in chips if c.measured_energy]


def errors(board: str) -> list[float]:
    """Mean errors in percent: predicted, held out, and both in the measured time."""
    (summary,) = [line for line in lines(board) if line.startswith("\nMean error")]
    return [float(each) for each in re.findall(r"([0-9.]+)%", summary)]
