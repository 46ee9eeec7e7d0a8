"""``chipmodel sensitivity``: each varied run is the run of that chip, and what is refused."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import call

PLANNERS = ("--packer", "large-first", "--streamer", "sync")
VARIED = ("core_mhz", "dma.channels", "psram.clock_mhz", "shared_memory.alignment", "weights.bits_per_weight")


def _milliseconds(capsys: pytest.CaptureFixture[str], *sets: str) -> float:
    fields = [word for text in sets for word in ("--set", text)]
    _, out, _ = call(capsys, "simulate", "zoo:dnn_kws", *PLANNERS, *fields, "--json", "-")
    return float(json.loads(out)["milliseconds"])


def test_each_value_has_the_time_of_its_chip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vary = [word for name in VARIED for word in ("--vary", name)]
    page = tmp_path / "s.html"
    arguments = ("sensitivity", "zoo:dnn_kws", *PLANNERS, *vary, "--step", "0.25")
    code, out, _ = call(capsys, *arguments, "--json", "-", "--html", str(page))
    assert code == 0
    found = json.loads(out)
    assert found["milliseconds"] == _milliseconds(capsys)
    fields = {each["field"]: each for each in found["fields"]}
    assert found["zero"] == ["weights.bits_per_weight"]
    values = {name: (each["less_value"], each["more_value"]) for name, each in fields.items()}
    assert values == {
        "core_mhz": ("225", "375"),
        "dma.channels": ("0", "2"),
        "psram.clock_mhz": ("180", "300"),
        "shared_memory.alignment": ("8", "32"),
    }
    assert fields["core_mhz"]["less_milliseconds"] == _milliseconds(capsys, "core_mhz=225")
    assert fields["dma.channels"]["more_milliseconds"] == _milliseconds(capsys, "dma.channels=2")
    assert fields["dma.channels"]["less_milliseconds"] is None
    assert "no latency code" in fields["psram.clock_mhz"]["more_reason"]
    assert found["fields"][0]["field"] == "psram.clock_mhz"
    assert "<rect" in page.read_text(encoding="utf-8")
    code, out, _ = call(capsys, *arguments)
    assert code == 0
    assert "Without effect: shared_memory.alignment." in out


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (("--step", "1"), 2, "step is 1.0"),
        (("--vary", "dma.chanels"), 2, "did you mean 'dma.channels'"),
        (("--vary", "dma.model"), 2, "has no number 'dma.model'"),
        (("--set", "psram.bytes=64KiB"), 1, "does not fit"),
    ],
)
def test_what_is_refused(
    arguments: tuple[str, ...], code: int, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found, _, err = call(capsys, "sensitivity", "zoo:dnn_kws", *PLANNERS, *arguments)
    assert (found, what in err) == (code, True), err
