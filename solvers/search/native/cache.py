"""Machine code on disk, in a folder of the user's: a convenience, whose failures are never errors."""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from pathlib import Path

from chipmodel.errors import BadInput
from chipmodel.files.atomic_write import write_atomically

FOLDER = "CHIPMODEL_CACHE"
"""The environment variable that names another folder."""


def folder() -> Path | None:
    """Where machine code is kept; None where the user has no such place."""
    named = os.environ.get(FOLDER)
    if named:
        return Path(named)
    try:
        if sys.platform == "win32":
            return Path(os.environ["LOCALAPPDATA"]) / "chipmodel" / "cache"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "chipmodel"
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chipmodel"
    except (KeyError, RuntimeError):  # No home.
        return None


def kept(name: str) -> bytes | None:
    """What ``keep`` kept under ``name``; None where nothing is, or where it is damaged."""
    place = folder()
    if place is None:
        return None
    try:
        raw = (place / name).read_bytes()
    except OSError:
        return None
    digest, content = raw[:32], raw[32:]
    return content if sha256(content).digest() == digest else None


def keep(name: str, content: bytes) -> None:
    """Keep ``content``, with a checksum, if the folder can be written."""
    place = folder()
    if place is None:
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
        write_atomically(place / name, sha256(content).digest() + content)
    except (OSError, BadInput):
        return
