"""Write output files in one step: a reader sees the whole file or none of it, and of several all or none."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import stat
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from errno import EISDIR
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType

from chipmodel.errors import BadInput, Place

Content = str | bytes
SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What ends a process without a Python exception; Ctrl-C already raises KeyboardInterrupt."""
SHOWN_NAME = 32
"""Characters of a file's name in that of its temporary file, which so stays within the system's limit."""


def write_atomically(path: Path, content: Content) -> None:
    """Write ``content`` to ``path`` as ``write_together`` does. Raises BadInput where writing fails."""
    write_together([(path, content)])


def write_together(files: Iterable[tuple[Path, Content]]) -> None:
    """Write each content, a text as UTF-8, to its path: all of them, or none.

    Every content goes to a temporary file next to its path first; then all are renamed, and if one rename
    fails, what the others replaced is put back. A link stays one, and the file that it points at is replaced;
    a file that exists keeps its permissions. A pipe or device such as ``/dev/null`` is written to, not
    replaced. SIGTERM and Ctrl-C leave no temporary file. Raises BadInput where writing fails.
    """
    staged: list[_StagedFile] = []
    with _tidy_on_signals():
        try:
            for path, content in files:
                staged.append(_StagedFile(path, _target(path)))
                with _refusals(path):
                    staged[-1].write(_encoded(path, content))
            _publish(staged)
        finally:
            for each in staged:
                each.discard()


@dataclass
class _StagedFile:
    """A file that is written but not yet under its name. ``target`` is ``path`` with links followed."""

    path: Path
    target: Path
    raw: bytes = b""

    def __post_init__(self) -> None:
        hidden = f".{self.target.name[:SHOWN_NAME]}.{secrets.token_hex(4)}"
        self.temporary = self.target.with_name(hidden)
        self.old = self.target.with_name(f"{hidden}.old")
        self.replaces = not self.target.exists() or self.target.is_file()

    def write(self, raw: bytes) -> None:
        """Write the temporary file; of a pipe or device, keep the bytes until ``publish``."""
        if self.target.is_dir():
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if not self.replaces:
            self.raw = raw
            return
        handle = os.open(self.temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        os.chmod(self.temporary, self._mode())  # noqa: PTH101

    def _mode(self) -> int:
        exists = self.target.exists()
        return stat.S_IMODE(self.target.stat().st_mode) if exists else 0o666 & ~_umask()

    def keep_old(self) -> None:
        """Give what is there now a second name, to be put back by ``restore``."""
        if not self.target.exists():
            return
        try:
            os.link(self.target, self.old)
        except OSError:  # A file system without hard links, or a file of somebody else.
            shutil.copy2(self.target, self.old)

    def publish(self) -> None:
        """Give the file its name."""
        if self.replaces:
            os.replace(self.temporary, self.target)  # noqa: PTH105
        else:
            self.target.write_bytes(self.raw)

    def restore(self) -> None:
        """Undo ``publish``, whether or not it has happened."""
        if self.old.exists():
            os.replace(self.old, self.target)  # noqa: PTH105
        elif self.replaces and not self.temporary.exists():
            self.target.unlink(missing_ok=True)

    def discard(self) -> None:
        """Remove what is left of the temporary files."""
        for path in (self.temporary, self.old):
            with suppress(OSError):  # Not there, mostly.
                path.unlink()


def _publish(staged: Sequence[_StagedFile]) -> None:
    """Give all files their names, or none. Pipes come first, as what went into one cannot be taken back."""
    begun: list[_StagedFile] = []
    try:
        for each in sorted(staged, key=lambda file: file.replaces):
            with _refusals(each.path):
                if each.replaces and len(staged) > 1:
                    each.keep_old()
                    begun.append(each)
                each.publish()
    except BaseException:
        for each in reversed(begun):
            each.restore()
        raise


@contextmanager
def _tidy_on_signals() -> Generator[None]:
    """Let a signal that ends the process raise an exception in the body first, and end it afterwards."""
    if current_thread() is not main_thread():
        yield
        return
    received: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:  # Another one finds the tidying at work.
            raise _Ended

    ours = [number for number in SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, end)
    try:
        yield
    except _Ended:
        pass
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
    if received:
        signal.raise_signal(received[0])


class _Ended(BaseException):
    """A signal asks the process to end."""


@contextmanager
def _refusals(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise refused(path, error) from None


def _target(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _encoded(path: Path, content: Content) -> bytes:
    if isinstance(content, bytes):
        return content
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        what = f"cannot write: the text has the character U+{ord(content[error.start]):04X}, which is none"
        hint = "it is part of a name that is not UTF-8; rename that file or workload"
        raise BadInput(what, where=Place(str(path)), hint=hint) from None


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def refused(path: Path, error: OSError) -> BadInput:
    """The error of the system, which does not let ``path`` be written, for the user."""
    reason = error.strerror or str(error)
    return BadInput(
        f"cannot write: {reason}",
        where=Place(str(path)),
        hint="name a file in a folder that exists and may be written",
    )
