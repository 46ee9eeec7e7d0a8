"""Files are written completely or not at all, also when writing fails half way."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

import pytest

from chipmodel.errors import BadInput
from chipmodel.files.atomic_write import write_atomically, write_together


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_text_is_written_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_atomically(path, "one\ntwo µs\n")
    assert path.read_bytes() == "one\ntwo µs\n".encode()
    write_atomically(path, "shorter")
    assert path.read_bytes() == b"shorter"
    assert names(tmp_path) == ["plan.json"]


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "a", "x")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_the_longest_possible_file_name(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_atomically(path, "x")
    assert path.read_text() == "x"


class Failing:
    """A file whose disk is full after a few characters, or whose writer is interrupted."""

    def __init__(self, file: IO[str], error: BaseException) -> None:
        self.file = file
        self.error = error

    def __enter__(self) -> Failing:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, text: str) -> None:
        self.file.write(text[:3])
        self.file.flush()
        raise self.error


def failing_fdopen(error: BaseException) -> Callable[..., Failing]:
    genuine = cast(Callable[..., IO[str]], os.fdopen)

    def fdopen(*arguments: Any, **named: Any) -> Failing:
        return Failing(genuine(*arguments, **named), error)

    return fdopen


@pytest.mark.parametrize("existing", [True, False])
def test_a_full_disk_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bool
) -> None:
    path = tmp_path / "plan.json"
    if existing:
        path.write_text("old")
    monkeypatch.setattr(os, "fdopen", failing_fdopen(OSError(28, "No space left on device")))
    with pytest.raises(BadInput) as refusal:
        write_atomically(path, "new text")
    assert str(refusal.value).startswith(f"{path}: cannot write: No space left on device\n")
    assert [p.read_text() for p in tmp_path.iterdir()] == (["old"] if existing else [])


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), RuntimeError("anything")])
def test_an_interrupted_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "plan.json"
    path.write_text("old")
    monkeypatch.setattr(os, "fdopen", failing_fdopen(error))
    with pytest.raises(type(error)):
        write_atomically(path, "new text")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_text_that_cannot_be_encoded_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"U\+D800"):
        write_atomically(tmp_path / "a", "text" * 10_000 + "\ud800")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("call", ["replace", "chmod"])
def test_a_failing_chmod_or_rename_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "plan.json"
    path.write_text("old")
    monkeypatch.setattr(os, call, refused)
    with pytest.raises(BadInput, match="cannot write: Permission denied"):
        write_atomically(path, "new text")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_unwritable_places_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    folder = tmp_path / "folder"
    folder.mkdir()
    for path in (tmp_path / "missing" / "a", tmp_path / "file" / "a", folder):
        with pytest.raises(BadInput) as refusal:
            write_atomically(path, "new")
        assert str(refusal.value.where) == str(path)
        assert "folder" in refusal.value.hint
    assert names(tmp_path) == ["file", "folder"]
    assert names(folder) == []


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """As root, ``--json /dev/null`` would otherwise make a plain file of it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_atomically(pipe, "through the pipe")
    reader.join(5)
    assert read == ["through the pipe"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


def test_several_files_appear_together(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    write_together([(a, "one"), (b, b"two")])
    assert (a.read_text(), b.read_text()) == ("one", "two")
    assert names(tmp_path) == ["a", "b"]


def test_if_one_content_cannot_be_made_no_file_is_written(tmp_path: Path) -> None:
    def contents() -> Iterator[tuple[Path, str]]:
        yield tmp_path / "a", "one"
        raise BadInput("no second one")

    with pytest.raises(BadInput, match="no second one"):
        write_together(contents())
    assert names(tmp_path) == []


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    target, link, dangling = tmp_path / "folder" / "target", tmp_path / "link", tmp_path / "dangling"
    target.parent.mkdir()
    target.write_text("old")
    link.symlink_to(Path("folder") / "target")
    dangling.symlink_to(Path("folder") / "later")
    write_together([(link, "new"), (dangling, "made")])
    assert link.is_symlink()
    assert dangling.is_symlink()
    assert target.read_text() == "new"
    assert names(target.parent) == ["later", "target"]


def test_a_file_that_exists_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o600)
    write_atomically(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
