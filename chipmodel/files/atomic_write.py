"""Write output files in one step: a reader sees the whole file or none of it, and of several all or none."""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from errno import EISDIR
from pathlib import Path
from threading import current_thread, main_thread

from chipmodel.errors import BadInput, Place

Content = str | bytes
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
SHOWN_NAME = 32
"""Characters of a file's name in that of its temporary file, which so stays within the system's limit."""


def write_atomically(path: Path, content: Content) -> None:
    """Write ``content`` to ``path`` as ``write_together`` does. Raises BadInput where writing fails."""
    write_together([(path, content)])


def write_together(files: Iterable[tuple[Path, Content]]) -> None:
    """Write each content, a text as UTF-8, to its path: all of them, or none.

    Every content goes to a temporary file next to its path first, where a full disk or a folder that may not
    be written shows; then all are renamed. A link stays one, and the file that it points at is replaced; a
    file that exists keeps its permissions. A pipe or device such as ``/dev/null`` is written to, not
    replaced. Raises BadInput where writing fails.
    """
    staged: list[tuple[Path, Path]] = []
    pipes: list[tuple[Path, bytes]] = []
    try:
        for path, content in files:
            raw = _encoded(path, content)
            with _refusals(path), _signals_wait():
                target = Path(os.path.realpath(path))
                if target.is_dir():
                    raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
                if target.exists() and not target.is_file():
                    pipes.append((path, raw))
                    continue
                temporary = target.with_name(f".{target.name[:SHOWN_NAME]}.{os.urandom(4).hex()}")
                staged.append((temporary, target))
                _write(temporary, raw, target)
        for path, raw in pipes:  # First, as what went into one cannot be taken back.
            with _refusals(path):
                path.write_bytes(raw)
        with _signals_wait():
            for temporary, target in staged:
                with _refusals(target):
                    os.replace(temporary, target)  # noqa: PTH105
    finally:
        for temporary, _ in staged:
            with suppress(OSError):  # Not there, mostly.
                temporary.unlink()


def make_folder(folder: Path) -> None:
    """Make ``folder`` with those around it. Raises BadInput where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot make the folder: {error.strerror}", where=Place(str(folder))) from None


def _write(temporary: Path, raw: bytes, target: Path) -> None:
    """Write a new file with the permissions of ``target``."""
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(raw)
    if target.exists():
        os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))  # noqa: PTH101


@contextmanager
def _signals_wait() -> Generator[None]:
    """Deliver signals that end the process after the body."""
    if current_thread() is not main_thread():
        yield
        return
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number in before:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in received:
            signal.raise_signal(number)


@contextmanager
def _refusals(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise refused(path, error) from None


def _encoded(path: Path, content: Content) -> bytes:
    if isinstance(content, bytes):
        return content
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        what = f"cannot write: the text has the character U+{ord(content[error.start]):04X}, which is none"
        hint = "it is part of a name that is not UTF-8; rename that file or workload"
        raise BadInput(what, where=Place(str(path)), hint=hint) from None


def refused(path: Path, error: OSError) -> BadInput:
    """The error of the system, which does not let ``path`` be written, for the user."""
    reason = error.strerror or str(error)
    return BadInput(
        f"cannot write: {reason}",
        where=Place(str(path)),
        hint="name a file in a folder that exists and may be written",
    )
