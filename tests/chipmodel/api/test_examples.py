"""The copied examples are those of the checkout, and the documents' commands find them."""

import re
from pathlib import Path

import pytest

import chipmodel as cm
from tests.docs.pages import DOCS, pages
from tests.support.command_line import call
from tests.support.folders import ROOT

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


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = call(capsys, "examples", tmp_path / "try")
    assert (code, err) == (0, "")
    assert all(Path(line).is_file() for line in out.splitlines())
