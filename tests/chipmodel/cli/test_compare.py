"""``chipmodel compare`` and ``diff`` as a user meets them: stdout, stderr, files and exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest

from solvers.registry import packers
from tests.support.command_line import Call
from tests.support.folders import WORKLOADS

TINY = "zoo:ds_cnn"
PACKING = str(WORKLOADS / "packing-example.csv")
QUICK_STREAMERS = "sync,ping-pong,ping-pong-across,weight-pipeline,prefetch-k,resident-knapsack"
BANKS = str(WORKLOADS / "packing-banks.csv")


def compared(call: Call, *arguments: str) -> dict[str, Any]:
    code, out, _ = call("compare", *arguments, "--node-limit", "2000", "--json", "-")
    assert code == 0
    return dict(json.loads(out))


def test_all_packers_on_a_network(call: Call) -> None:
    answer = compared(call, TINY, "--node-limit", "2000")
    assert [row["packer"] for row in answer["packers"]] == list(packers())
    assert answer["streamers"] == []
    assert (answer["chip"], answer["streamer"], answer["capacity_bytes"]) == ("luna-arcs", "auto", 393216)
    bound = answer["lower_bound_bytes"]
    for row in answer["packers"]:
        assert row["refused"] is None
        assert row["lower_bound_bytes"] <= bound <= row["peak_bytes"]
        assert row["gap"] == (row["peak_bytes"] - bound) / bound
        assert row["fits"] == (row["peak_bytes"] <= 393216)
        assert 0 <= row["unused_bytes"] < row["peak_bytes"]
    peaks = {row["packer"]: row["peak_bytes"] for row in answer["packers"]}
    assert peaks["exact"] == bound
    assert peaks["naive"] > peaks["pool"] > bound


def test_only_streamers(call: Call) -> None:
    answer = compared(call, TINY, "--streamers", "sync")
    assert answer["packers"] == []
    assert [row["streamer"] for row in answer["streamers"]] == ["sync"]


def test_a_packing_is_minimised_and_then_compared_with_its_capacity(call: Call) -> None:
    answer = compared(
        call, "guillotine:n=40,seed=3", "--packers", "exact,naive,hill-climb", "--capacity", "1MiB"
    )
    assert (answer["chip"], answer["streamer"], answer["capacity_bytes"]) == (None, None, 1 << 20)
    exact, naive, climbed = answer["packers"]
    assert (exact["peak_bytes"], exact["fits"], naive["fits"]) == (1 << 20, True, False)
    assert climbed["trajectory"][-1]["peak_bytes"] == climbed["peak_bytes"]
    roomy = compared(call, PACKING, "--packers", "exact,large-first", "--capacity", "1MiB")
    assert [row["fits"] for row in roomy["packers"]] == [True, True]
    assert [row["status"] for row in roomy["packers"]] == ["optimal", "feasible"]


def test_a_packing_takes_limits_and_files(tmp_path: Path, call: Call) -> None:
    limits = ("--seed", "1", "--time-limit", "5", "--html", str(tmp_path / "c.html"))
    answer = compared(call, PACKING, "--packers", "large-first,hill-climb", *limits)
    assert len(answer["packers"]) == 2
    assert (tmp_path / "c.html").is_file()


def test_packers_that_keep_no_constraints_say_so(call: Call) -> None:
    memories = ("--memory", "fast=16KiB", "--memory", "slow=64KiB")
    answer = compared(call, BANKS, "--packers", "naive,pool:0.5,exact", *memories)
    naive, pool, exact = answer["packers"]
    assert naive["refused"] == pool["refused"] == "keeps no constraints"
    assert exact["fits"] is True


def test_files_and_the_terminal(tmp_path: Path, call: Call) -> None:
    page, document = tmp_path / "c.html", tmp_path / "c.json"
    code, out, err = call(
        "compare", TINY, "--packers", "naive,linear", f"--html={page}", f"--json={document}"
    )
    assert (code, err) == (0, "")
    assert "ds_cnn on luna-arcs" in out
    assert "linear" in out
    assert "</html>" in page.read_text()
    assert len(json.loads(document.read_text())["packers"]) == 2


@pytest.mark.slow
def test_a_streamer_without_a_schedule_says_why(call: Call) -> None:
    code, _, err = call("compare", TINY, "--set", "shared_memory.bytes=512")
    assert code == 1
    assert "640 B are enough" in err
    assert "hint: --set shared_memory.bytes=640" in err
    small = ("--no-spill", "--set", "shared_memory.bytes=8192")
    answer = compared(call, TINY, "--streamers", QUICK_STREAMERS, *small)
    assert all(row["refused"] and row["total_cycles"] is None for row in answer["streamers"])


def run(call: Call, file: Path, *options: str) -> Path:
    code, _, err = call("simulate", "zoo:resnet8", "--json", file, *options)
    assert code == 0, err
    return file


def difference(call: Call, a: Path, b: Path) -> dict[str, Any]:
    code, out, err = call("diff", a, b, "--json", "-")
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        ("--set", "psram.clock_mhz=60"),
        ("--streamer", "sync"),
        ("--set", "core_mhz=100"),
        ("--set", "cores=2"),
        ("--set", "shared_memory.bytes=48KiB"),
        ("--chip", "gap9-psram"),
    ],
)
def test_real_runs_are_explained_without_remainder(
    options: tuple[str, ...], tmp_path: Path, call: Call
) -> None:
    a, b = run(call, tmp_path / "a.json"), run(call, tmp_path / "b.json", *options)
    found = difference(call, a, b)
    change = json.loads(b.read_text())["total_cycles"] - json.loads(a.read_text())["total_cycles"]
    assert change == found["change_cycles"]
    for key in ("parts", "causes"):
        assert sum(part["cycles"] for part in found[key]) == change
    assert sum(op["cycles"] for op in found["ops"]) + found["rest_cycles"] == change
    assert found["settings"]


def test_the_terminal_says_the_answer_then_what_was_asked(tmp_path: Path, call: Call) -> None:
    a = run(call, tmp_path / "a.json")
    b = run(call, tmp_path / "b.json", "--streamer", "sync")
    code, out, err = call("diff", a, b)
    assert (code, err) == (0, "")
    assert out.index("slower: ") < out.index("Settings that differ") < out.index("Totals")
    assert "more waiting for weights" in out
