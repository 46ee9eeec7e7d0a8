"""A study's answers: one SQLite file, a row for each point, keyed by what decides the answer.

A point may have a row of each version of the code; the one of this version counts, else the newest.
The file is in WAL mode, so that readers never wait, and a process that is killed at any moment leaves all
that it has stored. A point is worked on by whoever has claimed it; claims of a process that has ended are
void. Rows of older code or of an older study file stay, and are there again when the code or the file is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput, ChipmodelError, Place
from chipmodel.files.suggestions import shown
from chipmodel.studies.columns import COLUMNS, owner_of, record_of, row_of
from chipmodel.studies.connection import connected, transaction
from chipmodel.studies.store_owner import Owner, is_alive, myself


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


@dataclass(frozen=True, slots=True)
class StudyCounts:
    """How far a study is. ``claimed`` are being worked on now, by processes that live."""

    points: int
    by_status: dict[str, int]
    claimed: int
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
        header = _header(link, path)
        names = ", ".join(f"rows.{name}" for name in _NAMES)
        found = link.execute(
            f"SELECT {names} FROM asked JOIN rows USING (key) WHERE {_BEST} ORDER BY position", (header.code,)
        )
        return header, tuple(row_of(record, str(path)) for record in found)


def _header_texts(link: sqlite3.Connection, path: Path) -> dict[str, str]:
    found = dict(link.execute("SELECT name, value FROM header"))
    for name, value in found.items():
        if not isinstance(value, str):
            hint = "another program changed the store: move it away, and run the study again"
            raise BadInput(
                f"header {shown(name)} is {shown(value)}, no text", where=Place(str(path)), hint=hint
            )
    return found


def _header(link: sqlite3.Connection, path: Path) -> StudyHeader:
    named = _header_texts(link, path)
    points = link.execute("SELECT count(*) FROM asked").fetchone()[0]
    texts = [field.name for field in fields(StudyHeader) if field.name != "points"]
    return StudyHeader(points=points, **{name: named.get(name, "") for name in texts})


_NAMES = tuple(column.split()[0] for column in COLUMNS.split(", "))


class StudyStore:
    """One process's access to a study's file; made by ``opened``.

    Every method raises BadInput where the file holds what no study stores, and ``sqlite3.Error`` where it
    cannot be used, which ``opened`` turns into BadInput.
    """

    def __init__(self, link: sqlite3.Connection, path: Path) -> None:
        self._link = link
        self._path = path
        self._owner: int | None = None
        self._position = -1
        self._code = ""

    def ask(self, header: StudyHeader, keys: Sequence[str], turns: Iterable[str]) -> None:
        """Make ``keys`` (in the study's order) what the file is about, and ``turns``, the same keys, the
        order in which ``claim`` hands them out."""
        self._code = header.code
        with transaction(self._link):
            texts = [(f.name, str(getattr(header, f.name))) for f in fields(header) if f.name != "points"]
            self._link.executemany("INSERT OR REPLACE INTO header VALUES (?, ?)", texts)
            if [key for (key,) in self._link.execute("SELECT key FROM asked ORDER BY position")] != [*keys]:
                self._link.execute("DELETE FROM asked")
                self._link.executemany("INSERT INTO asked VALUES (?, ?)", enumerate(keys))
        self._link.execute("DROP TABLE IF EXISTS temp.wanted")
        self._link.execute("CREATE TEMP TABLE wanted (position INTEGER PRIMARY KEY, key TEXT NOT NULL)")
        with transaction(self._link):
            self._link.executemany("INSERT INTO temp.wanted VALUES (?, ?)", enumerate(turns))

    def claim(self, most: int) -> list[str]:
        """Claim at most ``most`` keys that have no row and that no process works on, for the caller. Fewer
        where there are no more; others may still be at work (see ``open_points``)."""
        with transaction(self._link):
            owner = self._registered()
            found = self._free(most)
            if len(found) < most:
                self._void_claims()
                self._position = -1
                found += [key for key in self._free(most) if key not in found][: most - len(found)]
            self._link.executemany("INSERT INTO claims VALUES (?, ?)", [(key, owner) for key in found])
        return found

    def save(self, rows: Sequence[Row]) -> None:
        """Store ``rows`` and give up the claims on them, all at once. A row that is there stays as it is,
        unless it was to be tried again. Raises ChipmodelError where other code than the study's answered:
        such a point would be asked for without end."""
        other = next((row.code for row in rows if row.code != self._code), None)
        if other is not None:
            what = f"a worker answered with code {other}, and the study began with code {self._code}"
            raise ChipmodelError(what, hint="chipmodel changed while the study ran: run the study again")
        with transaction(self._link):
            for row in rows:
                self._link.execute(_ATTEMPT, (row.key, row.code))
                self._link.execute(_INSERT, record_of(row))
                self._link.execute("DELETE FROM claims WHERE key = ?", (row.key,))

    def retry_failed(self) -> int:
        """Let failed points of the study be claimed again; how many they are. Their rows stay until then."""
        change = (
            "UPDATE rows SET again = 1 WHERE status = 'failed' AND code = ? "
            "AND key IN (SELECT key FROM temp.wanted)"
        )
        return self._link.execute(change, (self._code,)).rowcount

    def open_points(self) -> int:
        """Points of the study without a row, claimed or not."""
        asked = f"SELECT count(*) FROM temp.wanted AS w WHERE {_OPEN}"
        return int(self._link.execute(asked, (self._code,)).fetchone()[0])

    def counts(self) -> StudyCounts:
        """How far the study is that the file is about."""
        ask = self._link.execute
        mine = "FROM asked JOIN rows USING (key) WHERE code = ?"
        by_status = dict(ask(f"SELECT status, count(*) {mine} GROUP BY status", (self._code,)))
        living = [each.id for each in self._owners() if is_alive(each)]
        marks = ", ".join("?" * len(living))
        counted = f"SELECT count(*) FROM claims WHERE owner IN ({marks})"
        return StudyCounts(
            points=ask("SELECT count(*) FROM asked").fetchone()[0],
            by_status=by_status,
            claimed=ask(counted, living).fetchone()[0],
            old_rows=ask(_OLD, (self._code,)).fetchone()[0],
        )

    def errors(self) -> list[tuple[str, int]]:
        """What failed, the most frequent first, with the number of points."""
        found = self._link.execute(
            "SELECT error, count(*) AS n FROM asked JOIN rows USING (key) WHERE status = 'failed' "
            "AND code = ? GROUP BY error ORDER BY n DESC, error",
            (self._code,),
        )
        return [(str(error), int(n)) for error, n in found]

    def beat(self) -> None:
        """Say that this process lives. To be called at least every ``store_owner.LEASE_SECONDS``."""
        if self._owner is not None:
            self._link.execute("UPDATE owners SET beat = ? WHERE id = ?", (myself().beat, self._owner))

    def release(self) -> None:
        """Give up all claims."""
        if self._owner is None:
            return
        with transaction(self._link):
            self._link.execute("DELETE FROM claims WHERE owner = ?", (self._owner,))
            self._link.execute("DELETE FROM owners WHERE id = ?", (self._owner,))
        self._owner = None

    def _registered(self) -> int:
        """This process among the owners; again, where another process took it for dead."""
        known = self._link.execute("SELECT 1 FROM owners WHERE id = ?", (self._owner,)).fetchone()
        if known is None:
            add = "INSERT INTO owners (host, pid, started, beat) VALUES (?, ?, ?, ?)"
            self._owner = self._link.execute(add, astuple(myself())[1:]).lastrowid
        assert self._owner is not None
        return self._owner

    def _free(self, most: int) -> list[str]:
        """Points that may be claimed, on from where the last call stopped."""
        query = (
            f"SELECT position, key FROM temp.wanted AS w WHERE position > ? AND {_OPEN} "
            "AND NOT EXISTS (SELECT 1 FROM claims WHERE key = w.key) ORDER BY position LIMIT ?"
        )
        found = self._link.execute(query, (self._position, self._code, most)).fetchall()
        if found:
            self._position = found[-1][0]
        return [key for _, key in found]

    def _owners(self) -> list[Owner]:
        found = self._link.execute("SELECT id, host, pid, started, beat FROM owners")
        return [owner_of(record, str(self._path)) for record in found]

    def _void_claims(self) -> None:
        for each in self._owners():
            if each.id != self._owner and not is_alive(each):
                self._link.execute("DELETE FROM claims WHERE owner = ?", (each.id,))
                self._link.execute("DELETE FROM owners WHERE id = ?", (each.id,))


_OPEN = "NOT EXISTS (SELECT 1 FROM rows WHERE key = w.key AND code = ? AND NOT again)"
_OLD = "SELECT count(*) FROM rows WHERE code <> ? OR key NOT IN (SELECT key FROM asked)"
_BEST = (
    "rows.rowid = (SELECT rowid FROM rows AS r WHERE r.key = asked.key "
    "ORDER BY r.code = ? DESC, r.answered DESC, r.rowid DESC LIMIT 1)"
)
_ATTEMPT = "UPDATE rows SET attempts = attempts + 1 WHERE key = ? AND code = ?"
_SET = ", ".join(f"{name} = excluded.{name}" for name in _NAMES[1:])
_INSERT = (
    f"INSERT INTO rows ({', '.join(_NAMES)}) VALUES ({', '.join('?' * len(_NAMES))}) "
    f"ON CONFLICT (key, code) DO UPDATE SET {_SET}, again = 0 WHERE again"
)


@contextmanager
def opened(path: Path) -> Generator[StudyStore]:
    """The store at ``path``, made where there is none; its claims are given up at the end.

    Raises BadInput where it cannot be opened, or is none of this version.
    """
    with connected(path) as link:
        store = StudyStore(link, path)
        try:
            yield store
        except BaseException:
            with suppress(sqlite3.Error):  # The reason why the block failed counts.
                store.release()
            raise
        store.release()
