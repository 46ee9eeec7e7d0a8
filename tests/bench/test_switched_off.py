"""Steps that are switched off exist; each class of rows has its mean and its worst row."""

from pathlib import Path
from unittest.mock import patch

import pytest

from bench.switched_off import STEPS, summary
from tests.bench.command import printed


def test_each_class_has_its_mean_and_worst_row() -> None:
    assert list(summary({0: [1.0, 1.21], 2: [], 4: [0.5]})) == [
        "own memory: 2 rows, geometric mean 1.1000, worst 1.2100",
        "quarter: 1 rows, geometric mean 0.5000, worst 0.5000",
    ]


@pytest.mark.parametrize("step", STEPS)
def test_every_step_is_a_function_that_is_there(step: str) -> None:
    with patch(*STEPS[step]):
        pass


@pytest.mark.slow
def test_a_step_that_is_off_makes_a_plan_slower(tmp_path: Path) -> None:
    rows = tmp_path / "rows.txt"
    rows.write_text("# network chip part shared_memory.bytes psram.bytes\nds_cnn alif-e7 2 8272 8388608\n")
    told = printed("bench.switched_off", "--rows", str(rows), "--further", "0", "--steps", "cascades")
    assert "| ds_cnn alif-e7 | 2 | " in told
    assert "half: 1 rows, geometric mean 1.0000" not in told
