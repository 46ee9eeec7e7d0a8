"""Text files as they are, UTF-8 and of a size that is read at once; documents as JSON text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import fstat
from pathlib import Path

from chipmodel.errors import BadInput, Place

MAX_FILE_BYTES = 64 << 20
"""Assumed: larger than any workload, and small enough to read at once."""
MODELS = {".onnx": "an ONNX model", ".tflite": "a TensorFlow Lite model"}
"""What files are by their names' ends, where those of text are expected."""


def read_text(path: Path) -> str:
    """The text of a UTF-8 file. Raises ``BadInput`` where it is missing, unreadable, too large or no text."""
    return decoded(read_bytes(path, MAX_FILE_BYTES), str(path))


def read_bytes(path: Path, most: int, too_large: str = "check that this is the file you meant") -> bytes:
    """The bytes of a file. Raises ``BadInput`` where it is missing or unreadable and, with the hint
    ``too_large``, where it has more than ``most``."""
    where = Place(str(path))
    try:
        with path.open("rb") as stream:
            size = max(MAX_FILE_BYTES, fstat(stream.fileno()).st_size)
            raw = stream.read(size + 1) if size <= most else None
    except FileNotFoundError:
        raise BadInput("no such file", where=where, hint="check the path and the spelling") from None
    except IsADirectoryError:
        raise BadInput("this is a directory", where=where, hint="name a file inside it") from None
    except PermissionError:
        raise BadInput("the file may not be read", where=where, hint="change its permissions") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(f"the file cannot be read: {reason}", where=where, hint="check the path") from None
    if raw is None or len(raw) > most:
        raise BadInput(f"the file is larger than {most >> 20} MiB", where=where, hint=too_large)
    return raw


def decoded(raw: bytes, file: str) -> str:
    """``raw`` as UTF-8; ``file`` is its name in messages. Raises ``BadInput`` where it is no text."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if model := MODELS.get(Path(file).suffix.lower()):
            hint = "name it as WORKLOAD; simulate --plan writes its plan, --json its result"
            raise BadInput(f"this is {model}, not a text file", where=Place(file), hint=hint) from None
        before = raw[: error.start].decode("utf-8-sig", errors="replace")
        what = f"the byte 0x{raw[error.start]:02x} is not UTF-8 text"
        hint = "check that this is a text file, and save it as UTF-8"
        raise BadInput(what, where=place_of(before, len(before), file), hint=hint) from None


def place_of(text: str, index: int, file: str) -> Place:
    """The line and column of a character of ``text``, which is what ``file`` holds."""
    line_start = text.rfind("\n", 0, index) + 1
    return Place(file, text.count("\n", 0, index) + 1, index - line_start + 1)


def json_text(document: Mapping[str, object]) -> str:
    """``document`` as indented JSON with a line feed at its end."""
    return json.dumps(document, indent=2) + "\n"
