"""``chipmodel sensitivity`` and ``explain``: each varied run is the run of that chip, and what is refused."""

import json
import re
from pathlib import Path

from tests.support.command_line import Call

PLANNERS = ("--packer", "large-first", "--streamer", "sync")
VARIED = ("core_mhz", "dma.channels", "psram.clock_mhz", "shared_memory.alignment", "weights.bits_per_weight")


def _milliseconds(call: Call, *sets: str) -> float:
    fields = [word for text in sets for word in ("--set", text)]
    _, out, _ = call("simulate", "zoo:dnn_kws", *PLANNERS, *fields, "--json", "-")
    return float(json.loads(out)["milliseconds"])


def test_each_value_has_the_time_of_its_chip(tmp_path: Path, call: Call) -> None:
    vary = [word for name in VARIED for word in ("--vary", name)]
    page = tmp_path / "s.html"
    arguments = ("sensitivity", "zoo:dnn_kws", *PLANNERS, *vary, "--step", "0.25")
    code, out, _ = call(*arguments, "--json", "-", "--html", str(page))
    assert code == 0
    found = json.loads(out)
    assert found["milliseconds"] == _milliseconds(call)
    fields = {each["field"]: each for each in found["fields"]}
    assert found["zero"] == ["weights.bits_per_weight"]
    values = {name: (each["less_value"], each["more_value"]) for name, each in fields.items()}
    assert values == {
        "core_mhz": ("225", "375"),
        "dma.channels": ("0", "2"),
        "psram.clock_mhz": ("180", "300"),
        "shared_memory.alignment": ("8", "32"),
    }
    assert fields["core_mhz"]["less_milliseconds"] == _milliseconds(call, "core_mhz=225")
    assert fields["dma.channels"]["more_milliseconds"] == _milliseconds(call, "dma.channels=2")
    assert fields["dma.channels"]["less_milliseconds"] is None
    assert "no latency code" in fields["psram.clock_mhz"]["more_reason"]
    assert found["fields"][0]["field"] == "psram.clock_mhz"
    assert 'id="tornado"' in page.read_text(encoding="utf-8")
    code, out, _ = call(*arguments)
    assert code == 0
    assert "Without effect: shared_memory.alignment." in out


def test_of_two_boards_each_group_is_taken_alone(call: Call, tmp_path: Path) -> None:
    page = tmp_path / "explained.html"
    command = ("explain", "zoo:resnet8", "--chip", "stm32n6", "--chip", "esp32s3", "--html", str(page))
    code, out, _ = call(*command)
    assert code == 0
    assert "<h2 id=" in page.read_text()
    assert re.search(r"<td[^>]*>the NPU or the kernels|<th[^>]*>the NPU or the kernels", page.read_text())
    assert "stm32n6 takes 533 µs by its own tool, esp32s3" in " ".join(out.split())
    assert "the NPU or the kernels" in out
