"""Machine code on disk: found again, made again where it is damaged, and never needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from solvers.search.native.cache import FOLDER, folder, keep, kept
from solvers.search.native.machine import MachineCode
from tests.solvers.search.native.samples import add, divide


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv(FOLDER, str(tmp_path / "deep" / "cache"))
    return tmp_path / "deep" / "cache"


def test_what_is_kept_is_found_again() -> None:
    assert kept("x") is None
    keep("x", b"content")
    assert kept("x") == b"content"


def test_machine_code_is_made_once(place: Path) -> None:
    assert MachineCode((add,), "one").made
    code = MachineCode((add,), "one")
    assert not code.made
    assert code.function(add)(2, 3) == add(2, 3)
    assert MachineCode((add, divide), "other sources").made
    assert len(list(place.iterdir())) == 2


@pytest.mark.parametrize("damage", [b"", b"short", b"x" * 4000])
def test_damaged_files_are_made_again(place: Path, damage: bytes) -> None:
    MachineCode((add,), "one")
    (file,) = place.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage)
    assert MachineCode((add,), "one").made
    assert file.read_bytes() == whole
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert MachineCode((add,), "one").made


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv(FOLDER, str(tmp_path / "file"))
    for _ in range(2):
        code = MachineCode((add,), "one")
        assert code.made
        assert code.function(add)(5, 9) == add(5, 9)


def test_the_folder_is_the_users_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(FOLDER)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert folder() == tmp_path / "chipmodel"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folder() == tmp_path / ".cache" / "chipmodel"
    monkeypatch.setattr("sys.platform", "darwin")
    assert folder() == tmp_path / "Library" / "Caches" / "chipmodel"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert folder() == tmp_path / "chipmodel" / "cache"
    monkeypatch.delenv("LOCALAPPDATA")
    assert folder() is None
    keep("x", b"nowhere")
    assert kept("x") is None
