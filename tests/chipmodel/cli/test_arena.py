import json
from pathlib import Path

import pytest

from tests.support.command_line import Call
from tests.support.tflite_models import residual
from workloads.from_tflite.offline_plan import METADATA


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return residual().write(tmp_path / "net.tflite")


def test_it_says_the_head_to_the_byte_and_writes_the_model(model: Path, call: Call) -> None:
    out_file = model.with_name("planned.tflite")
    code, out, _ = call("arena", str(model), "--write-model", str(out_file))
    assert code == 0
    assert "3,456  proven smallest" in " ".join(out.split("planned here")[1].split()).replace(" p", "  p")
    assert "4,608" in out
    assert max(map(len, out.splitlines())) <= 80
    assert METADATA in out_file.read_bytes()


def test_other_files_have_no_arena(tmp_path: Path, call: Call) -> None:
    code, _, err = call("plan", "zoo:resnet8", "--write-model", str(tmp_path / "x.tflite"))
    assert (code, "--write-model is for TFLite files" in err) == (2, True)
    (tmp_path / "text.tflite").write_text("hello, this is text")
    code, _, err = call("arena", str(tmp_path / "text.tflite"))
    assert (code, "this is not a TensorFlow Lite model" in err) == (2, True)


def test_a_model_that_the_runtime_refuses_is_refused_with_the_reason(tmp_path: Path, call: Call) -> None:
    source = str(Path(__file__).parents[2] / "data/cases/fp16_dequantize.tflite")
    for more in ((), ("--sram", "1MiB", "--psram", "1MiB"), ("--write-model", str(tmp_path / "x.tflite"))):
        code, out, err = call("arena", source, *more)
        assert (code, out, "DEQUANTIZE 0 (FLOAT16 to FLOAT32)" in " ".join(err.split())) == (2, "", True)


def test_two_memories_have_a_price_and_a_header(model: Path, call: Call) -> None:
    header, page = model.with_name("net_arena.h"), model.with_name("net.html")
    two = ("arena", str(model), "--sram", "2KiB", "--psram", "1MiB", "--chip", "esp32s3")
    code, out, _ = call(*two, "--write-header", str(header), "--html", str(page))
    assert code == 0
    assert "cycles (" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "namespace net_arena {" in header.read_text()
    answer = json.loads(call(*two, "--json", "-")[1])
    moved = [each for each in answer["places"] if each["memory"] == "psram"]
    assert (answer["unit"], answer["price"]) == ("cycles", sum(each["price"] for each in moved))
    assert f"{answer['price']:,} cycles" in page.read_text()
    assert f"constexpr size_t kPsramBytes = {answer['psram_bytes']};" in header.read_text()


@pytest.mark.parametrize("more", [(), ("--sram", "1KiB", "--psram", "1MiB")])
def test_a_time_limit_holds_for_the_whole_command(
    more: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    model = residual().write(tmp_path / "net.tflite")
    asked: list[float] = []

    def end_after(seconds: float, *_: object) -> None:
        asked.append(seconds)

    monkeypatch.setattr("chipmodel.cli.options.end_after", end_after)
    call("arena", str(model), "--time-limit", "7", *more)
    assert asked == [7.0]
