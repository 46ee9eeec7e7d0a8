"""``--merge`` and ``--merges`` as a user meets them."""

import json
from pathlib import Path

import pytest

from solvers.branches.mergers import mergers
from tests.support.command_line import call
from tests.support.folders import WORKLOADS

GATED = str(WORKLOADS / "gated_vision.yaml")


def test_simulate_merges_as_it_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    peaks: dict[str, int] = {}
    for name in mergers():
        plan = str(tmp_path / f"{name}.json")
        code, out, _ = call(capsys, "simulate", GATED, "--merge", name, "--plan", plan, "--json", "-")
        answer = json.loads(out)
        assert (code, answer["merge"]) == (0, name)
        peaks[name] = answer["peak_bytes"]
        assert call(capsys, "check", plan, GATED)[0] == 0
    assert peaks["exact"] <= peaks["conflict"] < peaks["unified-block"] <= peaks["none"]
    _, out, _ = call(capsys, "simulate", GATED, "--json", "-")
    assert json.loads(out)["peak_bytes"] == peaks["conflict"]


def test_an_unknown_merger_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (("simulate", GATED, "--merge", "unified"), ("compare", GATED, "--merges", "unified")):
        code, _, err = call(capsys, *command)
        assert code == 2
        assert "unknown merger 'unified'" in err
        assert "did you mean 'unified-block'" in err
