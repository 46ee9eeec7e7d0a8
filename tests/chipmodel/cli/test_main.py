"""The command line as a user meets it: stdout, stderr, files and exit codes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from chipmodel.studies.store import read_rows
from tests.support.command_line import Call

TINY = "zoo:resnet8"


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
