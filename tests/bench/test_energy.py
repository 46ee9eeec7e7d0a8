"""The energies of boards: the preset's numbers are those of the fit, and the errors are as documented."""

from __future__ import annotations

import pytest

from bench.energy import MeasuredEnergy, fitted, free_energies, lines, measured_energies, predicted
from chipmodel.hardware.chip_file import load_chip

NOW = {"energy.static_mw": 2.0, "energy.pj.cycle": 10.0}


def test_gap9_has_the_numbers_of_the_fit_to_all_rows() -> None:
    """The least of three numbers; python -m bench.energy gap9."""
    rows, now = measured_energies("gap9"), free_energies(load_chip("gap9"))
    assert len(now) == 3
    assert fitted(rows, now) == pytest.approx(now, rel=0.01)
    for row in rows:
        assert row.predicted == pytest.approx(row.measured, rel=0.03)


def test_gap9_is_within_10_percent_with_a_network_held_out() -> None:
    (summary,) = [line for line in lines("gap9") if line.startswith("\nMean error")]
    error = summary.split(" rows, ")[1].split("%")[0]
    assert float(error) < 10


def test_a_fit_finds_the_numbers_that_made_the_energies() -> None:
    parts = [
        {"leakage": a, "clock": b, "weights loaded": 1.0} for a, b in ((2.0, 5.0), (4.0, 1.0), (1.0, 1.0))
    ]
    rows = [MeasuredEnergy("w", "f", 3 * p["leakage"] + p["clock"] / 2 + 1, p) for p in parts]
    found = fitted(rows, NOW)
    assert found == pytest.approx({"energy.static_mw": 6.0, "energy.pj.cycle": 5.0})
    assert [predicted(row, NOW, found) for row in rows] == pytest.approx([row.measured for row in rows])


def test_no_number_falls_below_zero() -> None:
    """The energies fall with time, so leakage would be negative."""
    rows = [MeasuredEnergy("w", "f", 10 - t, {"leakage": t, "clock": 5.0}) for t in (1.0, 2.0, 3.0)]
    assert fitted(rows, NOW)["energy.static_mw"] == 0
