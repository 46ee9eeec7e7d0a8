"""``chipmodel study`` as a user meets it: stdout, stderr, files and exit codes."""

import csv
import json
import signal
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from chipmodel.answers.study_row import Point, Row
from chipmodel.api.study import StudyEffort
from chipmodel.studies.progress import StudyStatus
from chipmodel.studies.store import StudyCounts, read_rows
from tests.support.command_line import Call
from tests.support.folders import ROOT
from tests.support.work import wait_until

STUDY = (
    "title: t\nworkloads: [zoo:ds_cnn]\nchips: [gap9-psram]\n"
    "packers: [large-first, pool]\nstreamers: [sync]\n"
)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text(STUDY)
    return path


@pytest.fixture
def run_study(call: Call) -> Call:
    return partial(call, "study")


def test_it_writes_the_page_of_report(study: Path, call: Call, run_study: Call, tmp_path: Path) -> None:
    own, reported = tmp_path / "own.html", tmp_path / "reported.html"
    assert run_study(study, "--html", own)[0] == 0
    assert call("report", study, "--html", reported)[0] == 0
    assert own.read_text() == reported.read_text()


def test_it_runs_then_has_nothing_to_do_and_grows_with_the_file(
    study: Path, run_study: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = run_study(study, "--status")
    assert (code, out) == (3, "s: 0 of 2 points have a row\n")
    code, out, err = run_study(study)
    assert (code, err) == (0, "")
    assert out.startswith("s: 2 of 2 points have a row: ")
    assert "Peaks over 1 case that all planners answered" in out
    with monkeypatch.context() as patched:
        patched.setattr(StudyEffort, "answers", None)  # Nobody is hired where nothing is missing,
        patched.setattr("chipmodel.api.study.opened", None)  # and nothing written.
        assert run_study(study)[:2] == (0, out)
    study.write_text(STUDY.replace("[sync]", "[sync, ping-pong]"))
    assert run_study(study, "--status")[1].startswith("s: 2 of 4 points have a row: ")
    assert run_study(study, "--workers", "1")[0] == 0
    header, rows = read_rows(study.with_suffix(".sqlite"))
    assert (header.title, header.file, header.points, len(rows)) == ("t", "s.yaml", 4, 4)
    assert header.text == study.read_text()
    study.write_text(STUDY)
    assert "2 more rows are of an older study file or older code" in run_study(study, "--status")[1]


def test_exports_and_json_of_what_is_there(study: Path, tmp_path: Path, run_study: Call) -> None:
    code, out, _ = run_study(study, "--export", tmp_path / "t.csv", "--no-times", "--json", "-")
    document = json.loads(out)
    assert code == 0
    assert (document["points"], document["stored"], document["errors"]) == (2, 2, [])
    assert sum(document["by_status"].values()) == 2
    assert set(document["median_peak_gap"]) == {"large-first", "pool"}
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [line["packer"] for line in csv.DictReader(file)] == ["large-first", "pool"]
    assert run_study(study, "--status", "--export", tmp_path / "t.parquet", "--json", tmp_path / "j")[0] == 0
    assert (tmp_path / "t.parquet").read_bytes().startswith(b"PAR1")
    assert json.loads((tmp_path / "j").read_text()) == document


def test_points_are_repeated_exactly_and_a_lock_tells_what_changed(
    study: Path, tmp_path: Path, call: Call, run_study: Call
) -> None:
    run_study(study, "--workers", "1")
    lock, store = tmp_path / "lock.json", study.with_suffix(".sqlite")
    assert call("report", study, "--lock", lock)[0] == 0
    first, second = (row.key for row in read_rows(store)[1])
    code, out, _ = run_study(study, "--only", first[:16], "--verify-lock", lock)
    assert (code, out.count("exactly as stored")) == (0, 1)
    assert "2 points are asked as in the lock; 1 answers are the same" in out
    with sqlite3.connect(store) as link:
        link.execute("UPDATE rows SET peak_bytes = peak_bytes + 64 WHERE key = ?", (second,))
    code, out, _ = run_study(study, "--only", second[:16])
    assert (code, "peak_bytes is" in out) == (1, True)
    code, out, _ = run_study(study, "--verify-lock", lock)
    assert (code, out) == (1, f"point {second[:16]} (zoo:ds_cnn) has another answer than in the lock\n")
    store.unlink()
    assert "nothing is stored" in run_study(study, "--only", first[:16])[1]
    study.write_text(STUDY.replace("pool", "naive"))
    code, out, _ = run_study(study, "--verify-lock", lock)
    assert (code, out) == (1, "1 of 2 points are not asked as in the lock\n")
    assert run_study(study, "--only", second[:16])[0] == 2


def test_a_file_that_is_no_lock_is_refused(study: Path, run_study: Call) -> None:
    wrong = study.with_name("wrong.json")
    wrong.write_text('{"format": 2}')
    code, _, err = run_study(study, "--verify-lock", wrong)
    assert code == 2
    assert "wrong.json: no lock: format" in err


def test_a_failed_point_is_told_kept_and_tried_again_when_asked(
    study: Path, tmp_path: Path, run_study: Call
) -> None:
    study.write_text(
        STUDY.replace("[gap9-psram]", "[gap9-psram, luna-arcs]") + "set: {dma.bursts.setup_cycles: 600}\n"
    )
    code, out, _ = run_study(study, "--workers", "1")
    assert code == 3
    assert "4 of 4 points have a row" in out
    assert "2 failed" in out
    assert "Failed points" in out
    assert "means nothing" in out
    assert run_study(study)[0] == 3
    store = study.with_suffix(".sqlite")
    before = {row.key: row.seconds for row in read_rows(store)[1]}
    assert run_study(study, "--retry-failed", "--workers", "1")[0] == 3
    after = {row.key: row.seconds for row in read_rows(store)[1]}
    assert {key for key in before if before[key] != after[key]} <= {
        row.key for row in read_rows(store)[1] if row.status == "failed"
    }


def test_a_mistake_in_the_file_has_its_place_and_an_idle_filter_a_note(study: Path, run_study: Call) -> None:
    study.write_text(STUDY + "filters: {exclude: [{packer: exact}]}\n")
    assert "s.yaml:6:21: this filter matches no point" in run_study(study, "--status")[2]
    study.write_text(STUDY + "seed: 3\n")
    code, _, err = run_study(study, "--status")
    assert code == 2
    assert "s.yaml:6:1: unknown key 'seed'" in err


def test_ctrl_c_stops_with_what_is_stored_and_nobody_else_writes_meanwhile(
    study: Path, run_study: Call
) -> None:
    study.write_text(
        "workloads: 'guillotine:n=400,seed=1'\npackers: [large-first, cp-sat]\ntime_limit: 600\n"
    )
    command = [sys.executable, "-m", "chipmodel", "study", str(study)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    store = study.with_suffix(".sqlite")
    wait_until(lambda: store.is_file() and _stored(store) > 0)
    second, status = run_study(study), run_study(study, "--status")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130
    assert out.startswith("s: 1 of 2 points have a row: 1 ")
    assert err.endswith("stopped; what is finished is stored: run it again to go on\n")
    assert status[:2] == (3, out)
    assert second[:2] == (2, "")
    assert f"the store is in use: process {process.pid} on " in second[2]


def _stored(store: Path) -> int:
    try:
        return len(read_rows(store)[1])
    except Exception:
        return 0  # It is being made.


def test_what_is_said_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(status: str = "feasible") -> Row:
        return Row(Point("w", "c", "p", "m", "sync", 0), "key", status, 1.0, 100, 100)  # type: ignore[arg-type]

    now, heard = 0.0, list[object]()
    monkeypatch.setattr("chipmodel.studies.progress.monotonic", lambda: now)
    follower = StudyStatus(StudyCounts(7000, {"feasible": 1}, 0), heard.append)
    now = 2.0
    follower([row(), row()])
    now = 6.0
    follower([row("failed")])
    follower([])
    assert heard == ["3/7,000 points  1/s", "4/7,000 points  0.5/s  1 failed"]
