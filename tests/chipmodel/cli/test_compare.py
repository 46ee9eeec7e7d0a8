"""``chipmodel compare`` and ``diff`` as a user meets them: stdout, stderr, files and exit codes."""

import json
from pathlib import Path
from typing import Any

from solvers.registry import packers
from tests.support.command_line import Call
from tests.support.folders import WORKLOADS

TINY = "zoo:ds_cnn"
PACKING = str(WORKLOADS / "packing-example.csv")
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


def run(call: Call, file: Path, *options: str) -> Path:
    code, _, err = call("simulate", "zoo:resnet8", "--json", file, *options)
    assert code == 0, err
    return file


def test_the_terminal_says_the_answer_then_what_was_asked(tmp_path: Path, call: Call) -> None:
    a = run(call, tmp_path / "a.json")
    b = run(call, tmp_path / "b.json", "--streamer", "sync")
    code, out, err = call("diff", a, b)
    assert (code, err) == (0, "")
    assert out.index("slower: ") < out.index("Settings that differ") < out.index("Totals")
    assert "more waiting for weights" in out
