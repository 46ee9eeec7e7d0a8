"""``chipmodel simulate`` on a workload with an ``if``: what all paths cost, and which one is shown."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chipmodel.cli.main import commands
from chipmodel.cli.simulate import path_word
from chipmodel.errors import BadInput

WORKLOAD = """\
name: gated
inputs: {x: [1, 4, 8, 8]}
ops:
  - {op: conv, name: c1, channels: 4, kernel: 3, pad: same}
  - op: if
    name: gate
    arms:
      quick: [{op: relu, name: r}]
      slow: [{op: conv, name: s, in: c1, channels: 4, kernel: 3, pad: same}]
    outputs: {y: {quick: r, slow: s}}
  - {op: relu, name: end, in: y}
outputs: [end]
"""
Simulate = Callable[..., dict[str, Any]]


@pytest.fixture
def simulate(tmp_path: Path) -> Simulate:
    def call(*options: str, workload: str = WORKLOAD) -> dict[str, Any]:
        file, answer = tmp_path / "w.yaml", tmp_path / "a.json"
        file.write_text(workload)
        code = commands.main(["simulate", str(file), "--json", str(answer), *options], standalone_mode=False)
        assert code == 0
        document: dict[str, Any] = json.loads(answer.read_text())
        return document

    return call


def test_the_first_arm_is_shown_and_all_are_weighed(simulate: Simulate) -> None:
    answer = simulate()
    paths = answer["paths"]
    assert answer["path"] == {"gate": "quick"}
    assert paths["method"] == "exact"
    assert paths["best"]["cycles"] == answer["total_cycles"]
    assert paths["worst"]["path"] == {"gate": "slow"}
    assert paths["expected_cycles"] == (paths["best"]["cycles"] + paths["worst"]["cycles"]) / 2


def test_the_worst_path_is_shown_on_demand(simulate: Simulate) -> None:
    first, worst, best = simulate(), simulate("--path", "worst"), simulate("--path", "best")
    assert worst["path"] == {"gate": "slow"}
    assert worst["total_cycles"] == first["paths"]["worst"]["cycles"]
    assert worst["lower_bound_cycles"] == first["paths"]["worst"]["lower_bound_cycles"]
    assert worst["paths"] == first["paths"] == best["paths"]
    assert best["total_cycles"] == first["paths"]["best"]["cycles"]


def test_words_and_choices_are_told_apart() -> None:
    assert path_word(("worst", "gate=slow, l=3")) == ("worst", {"gate": "slow", "l": "3"})
    assert path_word(("best,gate=slow",)) == ("best", {"gate": "slow"})
    assert path_word(()) == (None, {})
    with pytest.raises(BadInput, match="both best and worst"):
        path_word(("worst", "best"))
    with pytest.raises(BadInput, match="not NAME=CHOICE"):
        path_word(("worse",))
