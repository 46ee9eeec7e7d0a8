"""Connections to a study's SQLite file: made where there is none, left alone where it is not a study's."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from chipmodel.errors import BadInput, Place
from chipmodel.studies.columns import COLUMNS

APPLICATION = 0x63686970
"""SQLite's application_id of these files: "chip" in ASCII."""
FORMAT = 7
READABLE = (6, FORMAT)
"""Format 6 has more tables and columns, which nobody reads."""
BUSY_SECONDS = 60.0
"""How long to wait for a lock that another process holds."""
NEW = (0, 0)
"""application_id and user_version of a file that has never been written."""
NOT_WRITABLE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""What SQLite says of a store that it can only read and has to make files beside."""
LOCK_SUFFIX = "-writer"
"""The ending of the file beside a store that its only writer has locked."""

_SCHEMA = f"""
CREATE TABLE header (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE asked (position INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
CREATE TABLE rows ({COLUMNS}, PRIMARY KEY (key, code));
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
"""


@contextmanager
def connected(path: Path, only_read: bool = False) -> Generator[sqlite3.Connection]:
    """A connection to the store at ``path``; unless ``only_read``, it is made where there is none.

    Raises BadInput where it cannot be opened or written, and where it is no store of this version.
    """
    try:
        with closing(_connected(path, only_read)) as link:
            yield link
    except sqlite3.Error as error:
        raise _reason(path, error) from None
    except UnicodeDecodeError:  # From SQLite's message, which quotes the file's schema.
        raise _another(path, "this is not a store of a study: a name in it is not UTF-8", only_read) from None


@contextmanager
def sole_writer(path: Path) -> Generator[bool]:
    """Whether no other process was in such a block for the store at ``path``; none comes in until it ends.

    SQLite locks a file beside the store, which stays empty, so that readers of the store need not wait. The
    lock goes with its process, however that ends.
    """
    beside = path.resolve()
    beside = beside.with_name(beside.name + LOCK_SUFFIX)
    try:
        with closing(sqlite3.connect(beside, timeout=0, isolation_level=None)) as link:
            try:
                link.execute("PRAGMA journal_mode = MEMORY")  # Nothing is written, nothing to roll back.
                link.execute("BEGIN EXCLUSIVE")
            except sqlite3.Error as error:
                if not _is_lock(error):
                    raise
                yield False
                return
            try:
                yield True
            finally:
                with suppress(OSError):  # Windows removes no file that is open.
                    beside.unlink()
    except sqlite3.Error as error:
        raise _reason(path, error) from None


def _is_lock(error: sqlite3.Error) -> bool:
    return _primary(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _primary(error: sqlite3.Error) -> int:
    """SQLite's primary result code (https://sqlite.org/rescode.html); 0 where Python itself complains."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _reason(path: Path, error: sqlite3.Error) -> BadInput:
    """Why a store cannot be used, and what to do."""
    code, where = _primary(error), Place(str(path))
    if _is_lock(error):
        what = f"the store is locked by another process, since more than {BUSY_SECONDS:.0f} s"
        hint = "end what holds it (a database browser, a backup) and run this again; what is stored stays"
        return BadInput(what, where=where, hint=hint)
    if code == sqlite3.SQLITE_ERROR and path.is_file():
        # A statement that is right for the tables of a study: a table or column is missing.
        return _another(path, f"this is not a store of a study: {error}")
    if isinstance(error, sqlite3.OperationalError):
        hint = "its folder must be there, be writable and have room; --status and report only read it"
        return BadInput(f"the store cannot be used: {error}", where=where, hint=hint)
    return _another(path, f"this is not a store of a study: {error}")


@contextmanager
def transaction(link: sqlite3.Connection, kind: str = "IMMEDIATE") -> Generator[Any]:
    """Commit all of the block, or nothing of it if it raises."""
    link.execute(f"BEGIN {kind}")
    try:
        yield
    except BaseException:
        if link.in_transaction:  # SQLite has rolled back by itself where the disk is full.
            link.execute("ROLLBACK")
        raise
    link.execute("COMMIT")


def _connected(path: Path, only_read: bool) -> sqlite3.Connection:
    try:
        return _opened(path, only_read, "mode=rw" if only_read else "mode=rwc")
    except sqlite3.OperationalError as error:
        if not only_read or _primary(error) not in NOT_WRITABLE or _unfinished(path):
            raise
        return _opened(path, only_read, "immutable=1")


def _unfinished(path: Path) -> bool:
    """Whether a part of the store is still in the log beside it, which no immutable connection reads."""
    log = path.with_name(f"{path.name}-wal")
    return log.is_file() and log.stat().st_size > 0


def _opened(path: Path, only_read: bool, mode: str) -> sqlite3.Connection:
    address = f"{path.absolute().as_uri()}?{mode}"
    link = sqlite3.connect(address, timeout=BUSY_SECONDS, isolation_level=None, uri=True)
    link.text_factory = _text
    try:
        marks = _marks(link)
        if marks == NEW and not only_read and _is_empty(link):
            _make(link)
            marks = _marks(link)
        _refuse_others(path, marks, only_read)
        for pragma in ("query_only = 1",) if only_read else ("journal_mode = WAL", "synchronous = NORMAL"):
            link.execute(f"PRAGMA {pragma}")
    except BaseException:
        link.close()
        raise
    return link


def _text(stored: bytes) -> str | bytes:
    """A stored text; one that another program damaged stays bytes, which no column takes."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


def _marks(link: sqlite3.Connection) -> tuple[int, int]:
    """application_id and user_version. Raises sqlite3.DatabaseError where the file is no database."""
    application, version = (
        int(link.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("application_id", "user_version")
    )
    return application, version


def _is_empty(link: sqlite3.Connection) -> bool:
    return not link.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]


def _make(link: sqlite3.Connection) -> None:
    """Create the tables, all at once: a process that is killed here leaves a store or an empty file."""
    with transaction(link):
        for statement in filter(str.strip, _SCHEMA.split(";")):
            link.execute(statement)


def _refuse_others(path: Path, marks: tuple[int, int], only_read: bool) -> None:
    application, version = marks
    if application == APPLICATION and version in READABLE:
        return
    if application == APPLICATION:
        what = f"this store is of another version of chipmodel: format {version}, not {FORMAT}"
        raise BadInput(what, where=Place(str(path)), hint="move it away, and run the study again")
    empty = marks == NEW and not path.stat().st_size
    why = "the file is empty" if empty else "it is another program's database"
    raise _another(path, f"this is not a store of a study: {why}", only_read)


def _another(path: Path, what: str, only_read: bool = False) -> BadInput:
    hint = "name another file with --store, or move this one away"
    if only_read:
        hint = "give STUDY.yaml or STUDY.sqlite, after chipmodel study STUDY.yaml, or study(STUDY.yaml)"
    return BadInput(what, where=Place(str(path)), hint=hint)
