"""The files of one command: what is read is not overwritten, and no output replaces another."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from errno import EACCES, EISDIR, ENOENT
from itertools import combinations
from pathlib import Path

from chipmodel.errors import BadInput
from chipmodel.files.atomic_write import refused
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file and who names it: an option such as ``--json``, an argument, or another file."""

    named_by: str
    path: Path


def refuse_overwriting(inputs: Sequence[NamedFile], outputs: Sequence[NamedFile]) -> None:
    """Raise BadInput where an output is an input, or two outputs are one file."""
    for output in outputs:
        for read in inputs:
            if _collide(output.path, read.path):
                what = f"{output.named_by} {output.path} would overwrite what is read ({read.named_by})"
                raise BadInput(what, hint="name another file")
    for one, other in combinations(outputs, 2):
        if _collide(one.path, other.path):
            what = f"{one.named_by} {one.path} and {other.named_by} {other.path} name the same file"
            raise BadInput(what, hint="give each a file of its own")


def refuse_unwritable(path: Path, folders: Iterable[Path] = ()) -> None:
    """Raise BadInput where a file at ``path`` cannot be written: a folder, or in one that is not there or not
    writable. ``folders`` are there later, as the command makes them."""
    try:
        target = Path(os.path.realpath(path))
        mode = _mode(target)
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if mode is not None and not os.access(target, os.W_OK):
            raise PermissionError(EACCES, os.strerror(EACCES))
        regular = mode is None or stat.S_ISREG(mode)
        if regular and not any(same_file(target.parent, folder) for folder in folders):
            _check_folder(target.parent)
    except OSError as error:
        raise refused(path, error) from None


def refuse_unwritable_folder(path: Path) -> None:
    """Raise BadInput where ``path`` is not a folder that may be written, and cannot be made."""
    there = Path(os.path.realpath(path))
    try:
        while _mode(there) is None and there != there.parent:
            there = there.parent
        _check_folder(there)
    except OSError as error:
        raise refused(path, error) from None


def same_file(one: Path, other: Path) -> bool:
    """Whether both paths lead to one file, links and hard links followed; also where neither is there yet."""
    try:
        return one.samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def _collide(one: Path, other: Path) -> bool:
    """Whether one of the two is lost; a terminal or /dev/null takes everything."""
    try:
        if stat.S_ISCHR(one.stat().st_mode):
            return False
    except OSError:  # Not there, or not to be seen: refuse_unwritable says why.
        pass
    return same_file(one, other)


def _mode(path: Path) -> int | None:
    """The kind and permissions of a file; None where there is none."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(EACCES, os.strerror(EACCES))
