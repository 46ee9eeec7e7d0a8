"""Where the rows of a study are kept."""

from __future__ import annotations

from pathlib import Path

STORE_SUFFIX = ".sqlite"
MAGIC = b"SQLite format 3\x00"
"""How an SQLite database begins: https://sqlite.org/fileformat.html, section 1.3.1."""


def store_path(study: str | Path, store: str | Path | None) -> Path:
    """Where the rows of a study are: where ``store`` says, or next to the study."""
    if store:
        return Path(store)
    path = Path(study)
    return path.with_suffix(STORE_SUFFIX) if path.name else path


def is_store(path: Path) -> bool:
    """Whether a file that is there is an SQLite database. Raises OSError."""
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC
