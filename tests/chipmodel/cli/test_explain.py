"""``chipmodel explain``: a cause is the run of the chip that it makes, and what is refused."""

import json
import re
from pathlib import Path

import pytest

from tests.support.command_line import call


def _milliseconds(capsys: pytest.CaptureFixture[str], *arguments: str) -> float:
    _, out, _ = call(capsys, "simulate", "zoo:resnet8", "--streamer", "vendor", *arguments, "--json", "-")
    return float(json.loads(out)["milliseconds"])


def test_a_cause_leads_to_the_time_of_its_chip(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(
        capsys, "explain", "zoo:resnet8", "--chip", "stm32n6", "--measured", "50ms", "--json", "-"
    )
    assert code == 0
    found = json.loads(out)
    assert found["predicted_milliseconds"] == _milliseconds(capsys, "--chip", "stm32n6")
    assert found["measured_milliseconds"] == 50
    assert "a CPU computes instead of the NPU" in found["causes"][0]["cause"]
    (clock,) = (each for each in found["causes"] if each["set"] == ["core_mhz=250"])
    assert clock["milliseconds"] == _milliseconds(capsys, "--chip", "stm32n6", "--set", "core_mhz=250")


def test_of_two_boards_each_group_is_taken_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "explained.html"
    command = ("explain", "zoo:resnet8", "--chip", "stm32n6", "--chip", "esp32s3", "--html", str(page))
    code, out, _ = call(capsys, *command)
    assert code == 0
    assert "<h2 id=" in page.read_text()
    assert re.search(r"<td[^>]*>the NPU or the kernels|<th[^>]*>the NPU or the kernels", page.read_text())
    assert "stm32n6 takes 533 µs by its own tool, esp32s3" in " ".join(out.split())
    assert "the NPU or the kernels" in out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ((), "there is nothing to explain"),
        (("--measured", "3"), "'3' is not a time"),
        (("--chip", "gap9", "--chip", "stm32n6", "--measured", "3ms"), "two things at once"),
        (("--chip", "gap9", "--chip", "stm32n6", "--chip", "gap9"), "more than twice"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "explain", "zoo:resnet8", *arguments)
    assert (code, what in err) == (2, True), err
