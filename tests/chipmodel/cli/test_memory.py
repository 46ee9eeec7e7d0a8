"""``chipmodel memory`` as a user meets it: stdout, stderr, files and exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import call


def test_the_smallest_memory_as_json_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "memory.html"
    arguments = ("memory", "zoo:resnet8", "--chip", "alif-e7", "--points", "2", "--json", "-")
    code, out, _ = call(capsys, *arguments, "--html", str(page))
    assert code == 0
    answer = json.loads(out)
    assert answer["with_cascades"]["shared_memory_bytes"] < answer["layer_by_layer"]["shared_memory_bytes"]
    assert len(answer["front"]) == 2
    assert "resnet8" in page.read_text(encoding="utf-8")


def test_a_plan_exists_in_the_size_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = call(capsys, "memory", "zoo:resnet8", "--chip", "alif-e7", "--points", "0", "--json", "-")
    plan = json.loads(out)["layer_by_layer"]
    size, streamer = plan["shared_memory_bytes"], plan["streamer"]
    fields = ("--chip", "alif-e7", "--set", f"shared_memory.bytes={size}", "--cascade", "off", "--json", "-")
    code, out, _ = call(capsys, "simulate", "zoo:resnet8", *fields, "--no-spill", "--streamer", streamer)
    assert code == 0
    assert json.loads(out)["peak_bytes"] <= size


def test_rows_are_computed_again_within_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """Tensors that are read row by row are made again at no cost; with 1.3 times the MACs others, too."""

    def found(network: str, times: str) -> dict[str, Any]:
        settings = ("--set", "weights.in_place=always", "--points", "0", "--recompute", times)
        document: dict[str, Any] = json.loads(
            call(capsys, "memory", network, "--chip", "alif-e7", *settings, "--json", "-")[1]
        )
        return document

    free = found("zoo:resnet8", "1")
    assert free["with_cascades"]["macs"] == free["macs"]
    assert any(each["computed_again"] for each in free["with_cascades"]["cascades"])
    less, more = (found("zoo:mobilenetv1_025", times) for times in ("1", "1.3"))
    assert less["with_cascades"]["macs"] == less["macs"]
    assert less["macs"] < more["with_cascades"]["macs"] <= 1.3 * more["macs"]
    sizes = [each["with_cascades"]["shared_memory_bytes"] for each in (more, less)]
    assert more["lower_bound_bytes"] <= sizes[0] < sizes[1]


def test_a_plan_that_computes_rows_again_is_found_and_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In 12.5 KiB nothing else moves no tensor."""
    chip = ("--chip", "alif-e7", "--set", "shared_memory.bytes=12.5KiB", "--set", "weights.in_place=always")
    plan, asked = str(tmp_path / "plan.json"), ("simulate", "zoo:resnet8", *chip, "--no-spill")
    assert call(capsys, *asked)[0] == 1
    assert (
        call(capsys, *asked, "--recompute", "1", "--plan", plan, "--json", str(tmp_path / "run.json"))[0] == 0
    )
    (cascade,) = json.loads((tmp_path / "run.json").read_text())["cascades"]
    assert cascade["computed_again"]
    assert cascade["computed_macs"] == cascade["macs"]
    assert call(capsys, "check", plan, "zoo:resnet8", *chip, "--execute")[0] == 0


def test_recomputing_needs_cascades_and_a_limit_of_at_least_one(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = call(capsys, "simulate", "zoo:resnet8", "--cascade", "off", "--recompute", "1.3")
    assert code == 2
    assert "recompute is for cascades, which are off" in err
    assert call(capsys, "memory", "zoo:resnet8", "--recompute", "0.5")[0] == 2
