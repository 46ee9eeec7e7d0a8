"""The solvers that are compared answer the same models."""

from __future__ import annotations

import pytest

from bench import residency_solvers


def test_both_solvers_find_the_same_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residency_solvers, "PARTS", (4,))
    found = list(residency_solvers.rows("ds_cnn:stm32n6", 10))
    assert [row[3] for row in found] == ["bound", "plan"]
    for row in found:
        scip, cp_sat = (int(row[at].replace(",", "")) for at in (7, 11))
        assert cp_sat == pytest.approx(scip, rel=0.002), "shares are thousandths"
        assert float(row[9].rstrip("%")) <= 0.05
