"""The table of quantised networks, on small models in place of exported ones."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy
import pytest

from bench.quantised_networks import FORMS, NETWORKS, differences, main
from tests.workloads.from_onnx.support_models import model, node

PLAIN = [node("MatMul", "x w", "m"), node("Relu", "m", "y")]
VIEWED = [node("MatMul", "x w", "m"), node("Reshape", "m flat", "r"), node("Relu", "r", "y")]


def test_files_of_equal_ops_have_a_row_without_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    constants = {"w": numpy.eye(16, dtype="f"), "flat": numpy.array([-1])}
    for form in FORMS:
        made = model(VIEWED if form else PLAIN, {"x": [1, 8, 16]}, "y", constants)
        (tmp_path / f"small{form}.onnx").write_bytes(made.SerializeToString())
    assert main(["--folder", str(tmp_path), "--networks", "timm:small"]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"\| small \| 1 \| 1 \| 1 \| 1 \| [\d,]+ \| \+0.0% \| \+0.0% \| \+0.0% \|  \|", row)


def test_what_cannot_be_read_makes_the_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--folder", str(tmp_path), "--networks", "timm:missing"]) == 1
    assert "| missing | " in capsys.readouterr().out


def test_each_difference_is_said_once() -> None:
    more, less = Counter(conv=2, relu=1), Counter(conv=1, add=2)
    assert differences([Counter(conv=2), more, more, less]) == "+1 relu; +2 add, -1 conv"


def test_there_are_thirty_networks() -> None:
    assert len(set(NETWORKS)) == 30
