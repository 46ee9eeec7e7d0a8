"""The table of exported networks, on a small model in place of an exported one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy
import pytest

from bench.exported_networks import COUNTS, large_chips, main
from tests.workloads.from_onnx.support_models import model, node


def test_a_network_is_planned_simulated_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = model([node("MatMul", "x w", "y")], {"x": [1, 8, 16]}, "y", {"w": numpy.eye(16, dtype="f")})
    (tmp_path / "small.onnx").write_bytes(made.SerializeToString())
    (tmp_path / COUNTS).write_text(json.dumps({"small": {"macs": 2048, "parameters": 256}}))
    given = ["--folder", str(tmp_path), "--networks", "small", "--chips", "stm32n6,alif-e7"]
    assert main(given) == 0
    shown = capsys.readouterr().out
    assert "1 ops, 2,048 MACs (torch 2,048, +0.00%), 256 parameters (torch 256)" in shown
    assert len(re.findall(r"(stm32n6|alif-e7) +[1-9][\d,]* cycles .* correct", shown)) == 2


def test_what_does_not_fit_is_said_and_makes_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / COUNTS).write_text("{}")
    assert main(["--folder", str(tmp_path), "--networks", "missing", "--chips", "stm32n6"]) == 1
    assert "missing: " in capsys.readouterr().out


def test_chips_have_at_least_512_kib() -> None:
    chips = list(large_chips())
    assert {"stm32n6", "alif-e7"} <= set(chips)
    assert not {"ef-psram", "axi-cdma"} & set(chips)
