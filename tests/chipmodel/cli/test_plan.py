"""``chipmodel plan`` and ``memory`` as a user meets them, limits of time, and whether a plan fits."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chipmodel.cli.plan import plan as command
from chipmodel.cli.verdict import verdict
from chipmodel.model.fit import Fit, MemoryNeed
from chipmodel.model.plan import Plan, Solved, Status
from chipmodel.plan_file.contents import FORMAT
from tests.support.command_line import Call


def test_a_plan_is_the_simulators_own(call: Call, tmp_path: Path) -> None:
    alone, beside = str(tmp_path / "alone.json"), str(tmp_path / "beside.json")
    code, out, err = call("plan", "zoo:ds_cnn", "--streamer", "ping-pong", "-o", alone)
    assert (code, out) == (0, "")
    assert "ds_cnn on luna-arcs: peak " in err
    assert ", gap " in err
    assert call("simulate", "zoo:ds_cnn", "--streamer", "ping-pong", "--plan", beside)[0] == 0
    assert Path(alone).read_text() == Path(beside).read_text()
    assert call("check", alone, "zoo:ds_cnn")[0] == 0


def test_the_plan_stands_alone_on_stdout(call: Call) -> None:
    code, out, _ = call("plan", "zoo:ds_cnn", "--time-limit", "0")
    assert code == 0
    assert json.loads(out)["format"] == FORMAT


def test_options_reach_the_library_as_it_takes_them() -> None:
    with command.make_context("plan", ["zoo:ds_cnn", "--gap", "5", "--no-spill"]) as context:
        assert (context.params["gap"], context.params["spill"]) == (0.05, False)
    with command.make_context("plan", ["zoo:ds_cnn"]) as context:
        assert (context.params["gap"], context.params["spill"]) == (None, True)


@pytest.mark.slow
def test_the_smallest_memory_as_json_and_page(tmp_path: Path, call: Call) -> None:
    page = tmp_path / "memory.html"
    arguments = ("memory", "zoo:resnet8", "--chip", "alif-e7", "--points", "2", "--json", "-")
    code, out, _ = call(*arguments, "--html", str(page))
    assert code == 0
    answer = json.loads(out)
    assert answer["with_cascades"]["shared_memory_bytes"] < answer["layer_by_layer"]["shared_memory_bytes"]
    assert len(answer["front"]) == 2
    assert "resnet8" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_plan_that_computes_rows_again_is_found_and_checked(tmp_path: Path, call: Call) -> None:
    chip = ("--chip", "alif-e7", "--set", "shared_memory.bytes=12.5KiB", "--set", "weights.in_place=always")
    plan, asked = str(tmp_path / "plan.json"), ("simulate", "zoo:resnet8", *chip, "--no-spill")
    assert call(*asked, "--recompute", "1", "--plan", plan, "--json", str(tmp_path / "run.json"))[0] == 0
    (cascade,) = json.loads((tmp_path / "run.json").read_text())["cascades"]
    assert cascade["computed_again"]
    assert cascade["computed_macs"] == cascade["macs"]
    assert call("check", plan, "zoo:resnet8", *chip, "--execute")[0] == 0


def fit(peak: int, psram: int = 0, weights: int = 0) -> Fit:
    shared = MemoryNeed("SharedMemory", "shared_memory.bytes", peak, 100)
    return Fit(shared, MemoryNeed("Psram", "psram.bytes", psram, 1000), weights)


def solved(status: Status = "unknown") -> Solved:
    return Solved(Plan({}), status, 0, 120, 0.0, "large-first")


def test_a_plan_that_fits_has_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(fit(100), solved(), True) == 0
    assert capsys.readouterr().err == ""


def test_that_nothing_else_fits_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(fit(120), solved(), False) == 1
    said = capsys.readouterr().err
    assert "packer large-first needs 120 B of 100 B; that no other plan fits is not proven" in said
    assert "--set shared_memory.bytes=120" in said


def test_after_a_time_limit_it_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(fit(120), solved(), True) == 3
    assert "--time-limit came before a plan that fits" in capsys.readouterr().err
    assert verdict(fit(120), solved("infeasible"), True) == 1


def test_weights_may_have_a_memory_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    own = MemoryNeed("memory of the weights", "weights.bytes", 1100, 1000)
    assert verdict(replace(fit(10, 20, 1100), weights=own), solved(), True) == 1
    said = capsys.readouterr().err
    assert "the memory of the weights needs 1,100 B of 1,000 B" in said
    assert "--set weights.bytes=1100" in said


def test_too_many_weights_are_proven_whatever_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert verdict(fit(10, 1200, 1100), solved(), True) == 1
    assert "the weights alone take 1,100 B" in capsys.readouterr().err
