"""``--merge`` and ``--merges`` as a user meets them."""

from __future__ import annotations

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


def test_compare_sets_mergers_side_by_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ("compare", GATED, "--merges", "all", "--node-limit", "2000", "--html", str(page))
    code, out, _ = call(capsys, *arguments, "--packers", "large-first,naive", "--json", "-")
    assert code == 0
    answer = json.loads(out)
    assert [(r["merge"], r["packer"]) for r in answer["merges"]] == [
        (merge, packer) for merge in mergers() for packer in ("large-first", "naive")
    ]
    assert [row["packer"] for row in answer["packers"]] == ["large-first", "naive"]
    assert all(row["fits"] and row["peak_bytes"] >= answer["lower_bound_bytes"] for row in answer["merges"])
    assert "Mergers of branch arms" in page.read_text(encoding="utf-8")
    code, out, _ = call(capsys, "compare", GATED, "--merges", "none,conflict", "--node-limit", "2000")
    assert "unified-block" not in out
    assert "streamer auto" in out
    assert "proven lower bound" in out


def test_a_packing_has_no_arms(capsys: pytest.CaptureFixture[str]) -> None:
    packing = str(WORKLOADS / "packing-example.csv")
    for option in (("--merges", "all"), ("--merge", "none")):
        code, _, err = call(capsys, "compare", packing, *option)
        assert code == 2
        assert option[0] in err


def test_the_mergers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "planners")
    assert all("--merge" in out and name in out for name in mergers())
