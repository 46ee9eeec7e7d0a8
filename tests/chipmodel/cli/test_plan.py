"""``chipmodel plan``, and ``--time-limit`` and ``--gap`` where a streamer searches."""

import json
from pathlib import Path

import pytest

from chipmodel.cli.plan import plan as command
from chipmodel.plan_file.contents import FORMAT
from tests.support.command_line import call

SMALL = ("zoo:ds_cnn", "--set", "shared_memory.bytes=12KiB")


def test_a_plan_is_the_simulators_own(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    alone, beside = str(tmp_path / "alone.json"), str(tmp_path / "beside.json")
    code, out, err = call(capsys, "plan", "zoo:ds_cnn", "--streamer", "ping-pong", "-o", alone)
    assert (code, out) == (0, "")
    assert "ds_cnn on luna-arcs: peak " in err
    assert ", gap " in err
    assert call(capsys, "simulate", "zoo:ds_cnn", "--streamer", "ping-pong", "--plan", beside)[0] == 0
    assert Path(alone).read_text() == Path(beside).read_text()
    assert call(capsys, "check", alone, "zoo:ds_cnn")[0] == 0


def test_the_plan_stands_alone_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "plan", "zoo:ds_cnn", "--time-limit", "0")
    assert code == 0
    assert json.loads(out)["format"] == FORMAT


def test_what_does_not_fit_and_what_has_cores(capsys: pytest.CaptureFixture[str]) -> None:
    tiny = ("zoo:ds_cnn", "--no-spill", "--set", "shared_memory.bytes=8KiB")
    assert call(capsys, "plan", *tiny, "--streamer", "sync")[0] == 1
    code, _, err = call(capsys, "plan", "zoo:ds_cnn", "--set", "cores=2")
    assert code == 2
    assert "simulate WORKLOAD --plan FILE" in err


def test_effort_is_what_the_options_say(capsys: pytest.CaptureFixture[str]) -> None:
    """No time: the heuristics alone. A wide gap: the first way that is so near. Never slower than they."""

    def answer(*options: str) -> dict[str, int]:
        code, out, _ = call(capsys, "simulate", *SMALL, "--streamer", "exact", "--json", "-", *options)
        assert code == 0
        found: dict[str, int] = json.loads(out)
        return found

    full = answer()
    hurried, near = (answer(*given)["total_cycles"] for given in (("--time-limit", "0"), ("--gap", "5")))
    cycles, bound = full["total_cycles"], full["lower_bound_cycles"]
    assert cycles <= near <= hurried
    assert cycles < hurried
    assert bound <= cycles <= 1.33 * bound


def test_options_reach_the_library_as_it_takes_them() -> None:
    with command.make_context("plan", ["zoo:ds_cnn", "--gap", "5", "--no-spill"]) as context:
        assert (context.params["gap"], context.params["spill"]) == (0.05, False)
    with command.make_context("plan", ["zoo:ds_cnn"]) as context:
        assert (context.params["gap"], context.params["spill"]) == (None, True)
