from pathlib import Path

import pytest

from tests.support.command_line import Call

NETWORKS = """\
workload,milliseconds,family
zoo:resnet8,0.9,small
zoo:autoencoder,1.0,dense
zoo:resnet8?classes=20,0.95,small
zoo:ds_cnn,0.5,small
zoo:dnn_kws,0.4,dense
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "board.csv"
    path.write_text(NETWORKS)
    return path


def test_validate_writes_a_page(table: Path, call: Call) -> None:
    page = table.with_suffix(".html")
    assert call("validate", str(table), "--chip", "stm32n6", "--html", str(page))[0] == 0
    text = page.read_text()
    assert 'id="scatter"' in text
    assert "chipmodel validate" in text


def test_a_calibrated_chip_has_a_page_and_says_how_far_off_it_is(table: Path, call: Call) -> None:
    page, chip = table.with_suffix(".html"), table.with_suffix(".yaml")
    words = ("--chip", "stm32n6", "--free", "npu.launch_cycles", "--html", str(page), "-o", str(chip))
    assert call("calibrate", str(table), *words)[0] == 0
    text = page.read_text()
    assert 'id="scatter"' in text
    assert "families held out" in text
    assert "npu.launch_cycles" in chip.read_text()
    status, shown, _ = call("simulate", "zoo:resnet8", "--chip", str(chip), "--streamer", "vendor")
    assert status == 0
    text = " ".join(shown.split())
    assert "expected; no error promised; 5 networks with tensors in SharedMemory, spread as on other" in text
    assert "nearest measured zoo:resnet8, predicted" in text
    assert "Accuracy: board.csv, with the schedule of the board's own tool: mean error" in text
