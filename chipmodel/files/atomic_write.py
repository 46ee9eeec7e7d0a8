"""Write output files in one step: a reader sees the whole file or none of it."""

from __future__ import annotations

import os
import tempfile
from errno import ENOENT
from pathlib import Path

from chipmodel.errors import BadInput, Place


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write ``content``, a text as UTF-8, to a temporary file next to ``path`` and rename it to ``path``.

    A pipe or device such as ``/dev/null`` is written to, not replaced. Raises BadInput where writing fails.
    """
    raw = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            path.write_bytes(raw)
            return
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:32]}.")
    except OSError as error:
        raise _refused(path, error) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(raw)
        os.chmod(temporary, 0o666 & ~_umask())  # noqa: PTH101
        os.replace(temporary, path)  # noqa: PTH105
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _refused(path, error) from None
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def refuse_overwriting(option: str, output: str | None, *sources: str | Path | None) -> None:
    """Check, before any work, that ``output`` can be written without losing a source file.

    Raises BadInput where ``output``, the value of ``option``, is one of ``sources`` or its folder does not
    exist. None and ``-`` (standard output) always pass.
    """
    if not output or output == "-":
        return
    path = Path(output)
    if any(source and _same(path, Path(source)) for source in sources):
        raise BadInput(f"{option} {output} would overwrite what is read", hint="name another file")
    if not path.parent.is_dir():
        raise _refused(path, FileNotFoundError(ENOENT, os.strerror(ENOENT)))


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one == other


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _refused(path: Path, error: OSError) -> BadInput:
    reason = error.strerror or str(error)
    return BadInput(
        f"cannot write: {reason}",
        where=Place(str(path)),
        hint="name a file in a folder that exists and may be written",
    )
