"""``import chipmodel``: everything is there, nothing is read too early, and copied examples are found."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import chipmodel as cm
from tests.docs.pages import DOCS, pages
from tests.support.command_line import Call
from tests.support.folders import ROOT


def test_values_are_shown_in_a_line() -> None:
    made = (
        cm.chip("luna-arcs", shared_memory__bytes="64KiB"),
        cm.load("zoo:ds_cnn"),
        cm.TimeLimit(3),
        planned := cm.plan("zoo:ds_cnn", streamer="sync"),
        cm.check(planned, "zoo:ds_cnn"),
        cm.export(planned, "c", workload="zoo:ds_cnn"),
    )
    for each in made:
        assert repr(each).startswith(f"<{type(each).__name__}")
        assert len(repr(each)) < 250
    changed = "<Chip luna-arcs with shared_memory.bytes=64KiB: 300 MHz, 65,536 B of SharedMemory>"
    assert repr(made[0]) == changed


def test_every_name_is_there() -> None:
    assert sorted(set(cm.__all__)) == cm.__all__
    for name in cm.__all__:
        assert getattr(cm, name).__name__ == name
    assert {*cm.__all__} <= {*dir(cm)}
    with pytest.raises(AttributeError, match="nothing_such"):
        _ = cm.nothing_such  # type: ignore[attr-defined]


def test_the_import_alone_reads_no_other_module_of_ours() -> None:
    code = "import sys; before = set(sys.modules); import chipmodel; print(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert [name for name in loaded.split() if name.split(".")[0] == "chipmodel"] == ["chipmodel"]


NAMED = re.compile(r"\b(?:workloads|reports)/[\w./-]+\.(?:yaml|csv|tflite)\b")


def test_every_file_that_the_documents_name_is_there_as_it_is(tmp_path: Path) -> None:
    made = {path.relative_to(tmp_path).as_posix() for path in cm.examples(tmp_path)}
    readers = [page for page in pages() if page.parent in (DOCS, DOCS / "howto")]
    named = {each for page in readers for each in NAMED.findall(page.read_text())}
    assert len(named) > 10
    assert named <= made
    assert all((tmp_path / name).read_bytes() == (ROOT / name).read_bytes() for name in made)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    cm.examples(tmp_path)
    (tmp_path / "workloads" / "branches.yaml").write_text("mine")
    with pytest.raises(cm.BadInput, match="exists already"):
        cm.examples(tmp_path)
    assert (tmp_path / "workloads" / "branches.yaml").read_text() == "mine"


def test_the_command_says_what_it_wrote(tmp_path: Path, call: Call) -> None:
    code, out, err = call("examples", tmp_path / "try")
    assert (code, err) == (0, "")
    assert all(Path(line).is_file() for line in out.splitlines())
