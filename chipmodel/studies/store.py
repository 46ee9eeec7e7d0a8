"""A study's answers: one SQLite file, a row for each point, keyed by what decides the answer.

A point may have a row of each version of the code; the one of this version counts, else the newest.
One process at a time writes, and readers never wait, as the file is in WAL mode; a process that is killed at
any moment leaves all that it has stored. Rows of older code or of an older study file stay, and are there
again when the code or the file is.
"""

from __future__ import annotations

import os
import socket
import sqlite3
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path

from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput, ChipmodelError, Place, RowsLeftOut, warn_caller
from chipmodel.files.suggestions import listed, shown
from chipmodel.records import dataclass
from chipmodel.studies.columns import NAMES, record_of, row_of
from chipmodel.studies.connection import connected, sole_writer, transaction


@dataclass(frozen=True, slots=True)
class StudyHeader:
    """What was asked. ``points`` counts those of the study, answered or not."""

    name: str
    title: str
    """The question in the user's words; may be empty."""
    file: str
    """The study file's name, without its folder."""
    text: str
    """The study file as it was."""
    code: str
    """Version of the code: a hash of the sources that decide answers."""
    points: int
    designs: str = ""
    """What is asked of designs, as ``chipmodel.studies.design_question`` writes it."""


SHOWN_ROWS = 4
"""Damaged rows that a warning describes."""
_TEXTS = tuple(field.name for field in fields(StudyHeader) if field.name != "points")


@dataclass(frozen=True, slots=True)
class StudyCounts:
    """How far a study is. Only rows of this version of the code count."""

    points: int
    by_status: dict[str, int]
    old_rows: int
    """Rows that the study does not ask for as it is now."""

    @property
    def stored(self) -> int:
        """Points with a row."""
        return sum(self.by_status.values())

    @property
    def failed(self) -> int:
        """Points whose row is an error."""
        return self.by_status.get("failed", 0)


def read_rows(path: Path) -> tuple[StudyHeader, tuple[Row, ...]]:
    """What the store at ``path`` has of its study: what was asked, and the rows, in the study's order.

    Safe while the study runs. Raises BadInput where there is no store, or it is none of this version.
    """
    if not path.is_file():
        hint = "run the study first: chipmodel study STUDY.yaml, or study(STUDY.yaml)"
        raise BadInput("there is no store of a study", where=Place(str(path)), hint=hint)
    with connected(path, only_read=True) as link, transaction(link, "DEFERRED"):
        named = _header_texts(link, path)
        keys = [key for (key,) in link.execute("SELECT key FROM asked ORDER BY position")]
        header = StudyHeader(points=len(keys), **{name: named.get(name, "") for name in _TEXTS})
        return header, _rows(link, path, header.code, keys)


def is_asked(path: Path, header: StudyHeader, keys: Sequence[str]) -> bool:
    """Whether the store at ``path``, where all of ``keys`` have a row, was last asked for just these."""
    before, rows = read_rows(path)
    return before == header and [row.key for row in rows] == list(keys)


def rows_of(path: Path, code: str, keys: Sequence[str]) -> tuple[tuple[Row, ...], StudyCounts]:
    """The rows of the points ``keys``, in this order, whatever the store at ``path`` was last asked, and how
    many they are of the version ``code``; none where there is no store yet. Raises as ``read_rows``."""
    if not path.exists() or not path.stat().st_size:
        return (), StudyCounts(len(keys), {}, 0)
    with connected(path, only_read=True) as link, transaction(link, "DEFERRED"):
        rows = _rows(link, path, code, keys)
        by_status = Counter[str](row.status for row in rows if row.code == code)
        all_rows = link.execute("SELECT count(*) FROM rows").fetchone()[0]
        return rows, StudyCounts(len(keys), by_status, all_rows - by_status.total())


def _header_texts(link: sqlite3.Connection, path: Path) -> dict[str, str]:
    header = dict(link.execute("SELECT name, value FROM header"))
    for name, value in header.items():
        if not isinstance(value, str):
            hint = "another program changed the store: move it away, and run the study again"
            raise BadInput(
                f"header {shown(name)} is {shown(value)}, no text", where=Place(str(path)), hint=hint
            )
    return header


def _rows(link: sqlite3.Connection, path: Path, code: str, keys: Iterable[str]) -> tuple[Row, ...]:
    """The row of each of ``keys`` that counts: of this version, else the newest."""
    records = dict.fromkeys(keys, ())
    selected = link.execute(
        f"SELECT {', '.join(NAMES)} FROM rows ORDER BY code = ?, answered, rowid", (code,)
    )
    records.update((record[0], record) for record in selected if record[0] in records)
    rows: list[Row] = []
    damaged: list[str] = []
    for record in filter(None, records.values()):
        try:
            rows.append(row_of(record))
        except BadInput as error:
            damaged.append(error.what)
    if damaged:
        what = f"{path}: left out what is damaged: {listed(damaged, SHOWN_ROWS)}"
        warn_caller(RowsLeftOut(f"{what}; another program changed it: run the study again"))
    return tuple(rows)


class StudyStore:
    """The access of a store's only writer; made by ``opened``.

    Every method raises ``sqlite3.Error`` where the file cannot be used, which ``opened`` turns into BadInput.
    """

    def __init__(self, link: sqlite3.Connection) -> None:
        self._link = link
        self._code = ""

    def ask(self, header: StudyHeader, keys: Sequence[str]) -> None:
        """Make ``keys``, in the study's order, what the file is about."""
        self._code = header.code
        texts = [(name, getattr(header, name)) for name in _TEXTS]
        with transaction(self._link):
            self._link.executemany("INSERT OR REPLACE INTO header VALUES (?, ?)", texts)
            self._link.execute("DELETE FROM asked")
            self._link.executemany("INSERT INTO asked VALUES (?, ?)", enumerate(keys))

    def save(self, rows: Sequence[Row]) -> None:
        """Store ``rows``, all at once, in place of those of this version that are there. Raises
        ChipmodelError where other code than the study's answered: such a point would be asked for without
        end."""
        if (other := next((row.code for row in rows if row.code != self._code), None)) is not None:
            what = f"a worker answered with code {other}, and the study began with code {self._code}"
            raise ChipmodelError(what, hint="chipmodel changed while the study ran: run the study again")
        with transaction(self._link):
            self._link.executemany(_INSERT, map(record_of, rows))


_INSERT = f"INSERT OR REPLACE INTO rows ({', '.join(NAMES)}) VALUES ({', '.join('?' * len(NAMES))})"


@contextmanager
def opened(path: Path) -> Generator[StudyStore]:
    """The store at ``path``, to be written by this process alone; made where there is none.

    Raises BadInput where it cannot be opened, is none of this version, or another process writes it.
    """
    with sole_writer(path) as alone:
        if not alone:
            raise _written(path)
        with connected(path) as link:
            now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
            writer = f"process {os.getpid()} on {socket.gethostname()} writes it since {now}"
            link.execute("INSERT OR REPLACE INTO header VALUES ('writer', ?)", (writer,))
            yield StudyStore(link)


def _written(path: Path) -> BadInput:
    """The refusal of a second writer."""
    try:
        with connected(path, only_read=True) as link:
            who = _header_texts(link, path)["writer"]
    except (BadInput, KeyError):
        who = "another process is making it"
    hint = "wait until it ends, or end it; --status and chipmodel report read the store meanwhile"
    return BadInput(f"the store is in use: {who}", where=Place(str(path)), hint=hint)
