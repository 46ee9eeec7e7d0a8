"""Hostile changes of a study's store."""

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from random import Random

from tests.fuzz.hostile.values import NAMES, NUMBERS

TABLES = ("header", "asked", "rows", "rows", "rows", "rows")
JSON = (
    "",
    "{",
    "[",
    "[[1]]",
    "null",
    '[["a", "b"], ["a", "c"]]',
    '[["psram.bytes", "x"]]',
    "[[NaN, 1, 1]]",
    "[" * 5000,
)


def change_store(path: Path, random: Random) -> None:
    """Change one to three things in the database at ``path``; what SQLite refuses is left."""
    with closing(sqlite3.connect(path, isolation_level=None)) as link:
        for _ in range(random.choice([1, 1, 2, 3])):
            with suppress(sqlite3.Error, OverflowError, UnicodeEncodeError, IndexError):
                _change(link, random)


def _change(link: sqlite3.Connection, random: Random) -> None:
    table = random.choice(TABLES)
    columns = [name for _, name, *_ in link.execute(f"PRAGMA table_info({table})")]
    column = random.choice(columns)
    which = random.choice(["", f"WHERE rowid = {random.randrange(1, 6)}"]) if table != "header" else ""
    match random.randrange(12):
        case 0:
            link.execute(f"DELETE FROM {table} {which}")
        case 1:
            link.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
        case 2:
            link.execute(f"ALTER TABLE {table} RENAME TO other")
        case 3:
            link.execute(f"UPDATE {table} SET {column} = CAST(x'ff1b5b32' AS TEXT) {which}")
        case 4:
            link.execute(f"UPDATE {table} SET {column} = {random.choice(columns)} {which}")
        case 5 | 6:
            change = random.choice(["overrides", "trajectory"])
            link.execute(f"UPDATE rows SET {change} = ?", (random.choice([*JSON, *NAMES]),))
        case _:
            value = random.choice([*NUMBERS, *NAMES, None, b"\xff\x00", "failed", "optimal", "infeasible"])
            link.execute(f"UPDATE {table} SET {column} = ? {which}", (value,))
