"""The command line as a user meets it: stdout, stderr, files and exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from chipmodel.studies.store import read_rows
from tests.support.command_line import Call
from tests.support.folders import ROOT

TINY = "zoo:resnet8"
ARMS = str(ROOT / "tests" / "data" / "cases" / "if_arm_shape.onnx")


def test_json_on_stdout_is_one_document_and_nothing_else(call: Call) -> None:
    code, out, err = call("simulate", TINY, "--with-sync", "--json", "-")
    answer = json.loads(out)
    assert code == 0
    assert err == ""
    keys = (
        *("workload", "chip", "packer", "streamer", "capacity_bytes", "peak_bytes", "peak_lower_bound_bytes"),
        *("total_cycles", "sync_cycles", "lower_bound_cycles", "compute_cycles", "dma_cycles"),
        *("stall_cycles", "milliseconds", "fits"),
    )
    assert set(keys) <= set(answer)
    assert answer["fits"] is True
    assert answer["total_cycles"] == answer["compute_cycles"] + answer["stall_cycles"]
    assert answer["lower_bound_cycles"] <= answer["total_cycles"] <= answer["sync_cycles"]
    assert answer["peak_lower_bound_bytes"] <= answer["peak_bytes"] <= answer["capacity_bytes"]
    assert answer["asked"] == {"streamer": "auto", "packer": "auto"}
    assert "auto" not in (answer["streamer"], answer["packer"])


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes(tmp_path: Path, call: Call) -> None:
    for run in ("a", "b"):
        files = [f"--{kind}={tmp_path / run}.{kind}" for kind in ("json", "plan", "trace", "html")]
        assert call("simulate", TINY, *files)[0] == 0
    for kind in ("json", "plan", "trace", "html"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes(), kind


@pytest.mark.slow
def test_a_written_plan_passes_the_check_and_a_damaged_one_does_not(tmp_path: Path, call: Call) -> None:
    plan = tmp_path / "plan.json"
    memory = "--set=shared_memory.bytes=40KiB"
    assert call("simulate", TINY, memory, "--plan", str(plan))[0] == 0
    code, out, _ = call("check", str(plan), TINY)
    assert (code, out[:7]) == (0, "correct")
    document = json.loads(plan.read_text())
    document["buffers"][0]["offset"] += 16
    plan.write_text(json.dumps(document))
    code, out, _ = call("check", str(plan), TINY)
    assert (code, out[:5]) == (1, "wrong")
    code, out, _ = call("check", str(plan), TINY, "--json", "-")
    assert (code, json.loads(out)["correct"]) == (1, False)
    code, out, _ = call("check", str(plan), "zoo:ds_cnn")
    assert code == 1


@pytest.mark.parametrize("options", [(), ("--value", "sr=16000")])
def test_an_if_with_an_arm_for_other_shapes_runs(options: tuple[str, ...], call: Call) -> None:
    """ONNX Runtime gives a result of the shape (1, 8)."""
    code, out, err = call("simulate", ARMS, "--shape", "n=8", *options, "--json", "-")
    assert code == 0, err
    assert ("arm 'else' is left out" in err) == (not options)
    assert ("'sr'" in err) == (not options)
    assert json.loads(out)["fits"]


@pytest.mark.slow
def test_what_does_not_fit_exits_1(call: Call) -> None:
    code, out, err = call("simulate", TINY, "--set", "shared_memory.bytes=12KiB", "--no-spill")
    assert (code, out) == (1, "")
    assert "largest live set" in err
    assert "layer by layer, the smallest capacity" in err
    assert "'chipmodel memory'" in err
    code, out, err = call(
        *("simulate", "zoo:resnet8", "--packer", "naive", "--streamer", "sync", "--json", "-"),
        *("--set", "shared_memory.bytes=64KiB"),
    )
    assert code == 1
    assert json.loads(out)["fits"] is False
    assert "does not fit" in err


def test_the_list_of_planners_as_a_document(tmp_path: Path, call: Call) -> None:
    code, out, _ = call("planners", "--json", "-")
    call("planners", "--json", str(tmp_path / "planners.json"))
    assert (tmp_path / "planners.json").read_text() == out
    rows = json.loads(out)["planners"]
    assert code == 0
    assert ("npu_model", "ne16") in {(row["kind"], row["name"]) for row in rows}
    assert all(row["title"] and row["source"] for row in rows)


@pytest.mark.parametrize(
    ("command", "words", "key"),
    [
        pytest.param("zoo", "mobilenetv2", "networks", marks=pytest.mark.slow),
        ("chips", "alif-e7", "chips"),
        ("chips gap9", "370", "figures"),
        ("planners", "ping-pong", "planners"),
        ("schema", '"$defs"', ""),
    ],
)
def test_lists_are_documents_too(command: str, words: str, key: str, call: Call) -> None:
    code, out, err = call(*command.split())
    assert (code, words in out, err) == (0, True, "")
    if key:
        code, out, err = call(*command.split(), "--json", "-")
        assert (code, err) == (0, "")
        assert json.loads(out)[key]


@pytest.mark.slow
@pytest.mark.parametrize("options", ["--json -", ""], ids=["written by click", "written by rich"])
def test_a_reader_that_leaves_is_no_error(options: str) -> None:
    command = f"{sys.executable} -m chipmodel simulate {TINY} {options} | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error_and_no_file_gets_what_is_printed(closed: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("workloads: zoo:ds_cnn\nstreamers: sync\n")
    command = f"{sys.executable} -m chipmodel study {tmp_path / 's.yaml'} {closed}"
    assert subprocess.run(["bash", "-c", command], check=False).returncode == 0
    assert len(read_rows(tmp_path / "s.sqlite")[1]) == 1


@pytest.mark.parametrize(
    ("fault", "code", "message"),
    [
        (OSError(24, "Too many open files"), 2, "says: Too many open files\n  hint: a limit"),
        (FileNotFoundError(2, "No such file", "/gone"), 2, "the system says: No such file: /gone\n"),
        (EOFError("of a pipe"), 70, "internal error: RuntimeError: a stream ended: of a pipe"),
        (ZeroDivisionError("on purpose"), 70, "internal error: ZeroDivisionError"),
    ],
)
def test_what_the_system_refuses_is_one_message(
    fault: Exception, code: int, message: str, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr("chipmodel.api.workload.load", refused)
    monkeypatch.delenv("CHIPMODEL_TRACEBACK", raising=False)
    found, out, err = call("simulate", TINY)
    assert (found, out) == (code, "")
    assert message in err
    assert "Traceback" not in err


def test_validate_help_names_every_column(call: Call) -> None:
    from chipmodel.measured.kinds import KINDS

    code, out, _ = call("validate", "--help")
    words = set(out.replace(",", " ").replace(";", " ").split())
    assert code == 0
    for kind in KINDS.values():
        assert {kind.name, kind.chip, *kind.known} <= words | {"luna-arcs"}, kind.name
    assert "(luna-arcs" in words


@pytest.mark.slow
def test_the_main_job_takes_few_calls_and_little_memory() -> None:
    """ResNet-8 as a whole process with its imports: 1,370,000 calls on 2026-11-30."""
    code = (
        "import pathlib, re, sys; from cProfile import Profile; profile = Profile(); profile.enable(); "
        "from chipmodel.cli.main import commands; commands.main(sys.argv[1:], standalone_mode=False); "
        "profile.disable(); calls = sum(entry.callcount for entry in profile.getstats()); "
        "peak = re.search(r'VmHWM:\\s*(\\d+)', pathlib.Path('/proc/self/status').read_text())[1]; "
        "print(calls, peak, file=sys.stderr)"
    )
    job = ["simulate", "zoo:resnet8", "--chip", "stm32n6", "--json", "-"]
    done = subprocess.run([sys.executable, "-c", code, *job], capture_output=True, text=True, check=True)
    number, kilobytes = map(int, done.stderr.split())
    assert json.loads(done.stdout)["workload"] == "resnet8"
    assert number < 1_500_000
    assert kilobytes < 150_000


@pytest.mark.slow
def test_weights_beyond_psram_do_not_fit(tmp_path: Path, call: Call) -> None:
    file = tmp_path / "result.json"
    in_psram = ("--chip", "stm32n6", "--set", "weights.memory=psram")
    small = (*in_psram, "--set", "psram.bytes=64KiB")
    code, out, err = call("simulate", TINY, *small, "--json", str(file))
    answer = json.loads(file.read_text())
    assert code == 1
    assert "does not fit" in out
    assert (answer["fits"], answer["fits_psram"], answer["fits_shared_memory"]) == (False, False, True)
    assert answer["psram_bytes"] > answer["psram_capacity_bytes"] == 65536
    needs = f"{answer['psram_bytes']:,} B of 65,536 B"
    assert f"does not fit: Psram needs {needs}, and the weights alone take" in err
    assert f"--set psram.bytes={answer['psram_bytes']}" in err
    enough = (*in_psram, "--set", f"psram.bytes={answer['psram_bytes']}")
    assert call("simulate", TINY, *enough)[0] == 0

    code, plan, err = call("plan", TINY, *small, "--streamer", "sync")
    assert code == 1
    assert "does not fit: Psram needs" in err
    (tmp_path / "plan.json").write_text(plan)
    code, out, err = call("check", str(tmp_path / "plan.json"), TINY)
    assert code == 1
    assert "bytes of Psram, the chip has 65536" in out

    code, out, _ = call("compare", TINY, *small, "--packers", "naive", "--streamers", "sync", "--json", "-")
    rows = json.loads(out)
    assert (code, rows["fits_psram"], rows["packers"][0]["fits"]) == (0, False, False)
    assert (rows["streamers"][0]["fits"], rows["streamers"][0]["fits_psram"]) == (False, False)
    code, out, _ = call("compare", TINY, *small, "--packers", "naive", "--streamers", "sync")
    assert out.count("no: Psram") == 2
    assert "Psram are needed." in " ".join(out.split())
