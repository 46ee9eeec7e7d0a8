"""The store of a study: rows as they were, one writer, and files of others."""

import os
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput, ChipmodelError, RowsLeftOut
from chipmodel.studies.columns import record_of, row_of
from chipmodel.studies.connection import sole_writer
from chipmodel.studies.store import StudyCounts, StudyStore, opened, read_rows, rows_of
from tests.chipmodel.studies.support import HEADER, row, rows

KEYS = [f"k{number}" for number in range(10)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


def asked(store: StudyStore, keys: list[str] = KEYS) -> StudyStore:
    store.ask(HEADER, keys)
    return store


@given(rows)
def test_a_record_is_read_back_as_it_was(row: Row) -> None:
    assert row_of(record_of(row)) == row


@settings(max_examples=25)
@given(st.lists(rows, unique_by=lambda row: row.key, max_size=8))
def test_rows_are_read_back_in_the_order_of_the_study(found: list[Row]) -> None:
    with TemporaryDirectory() as folder, opened(path := Path(folder) / "s.sqlite") as store:
        found = [replace(row, code=HEADER.code) for row in found]
        keys = [row.key for row in found]
        store.ask(HEADER, keys)
        store.save(found[::-1])
        assert read_rows(path)[1] == tuple(found)


def test_the_header_and_the_rows_of_the_points_that_are_asked(path: Path) -> None:
    with opened(path) as store:
        asked(store).save([row("k7"), row("k3"), row("k99")])
    header, found = read_rows(path)
    assert header == replace(HEADER, points=10)
    assert found == (row("k3"), row("k7"))
    found, counts = rows_of(path, HEADER.code, ["k3", "k4"])
    assert found == (row("k3"),)
    assert (counts.points, counts.by_status, counts.stored, counts.old_rows) == (2, {"feasible": 1}, 1, 2)


def test_rows_may_be_read_while_they_are_written(path: Path) -> None:
    with opened(path) as store:
        asked(store).save([row("k1")])
        assert len(read_rows(path)[1]) == 1
        store.save([row("k1", peak=7), row("k2")])
        assert [each.peak_bytes for each in read_rows(path)[1]] == [7, 100]


def test_a_second_writer_is_told_who_writes(path: Path) -> None:
    second = opened(path)
    with opened(path) as store:
        asked(store).save([row("k1")])
        who = (
            rf"s\.sqlite: the store is in use: process {os.getpid()} on .+ writes it since 2.+ UTC\n  hint: "
        )
        with pytest.raises(BadInput, match=who), second:
            pass
        link = path.with_name("link.sqlite")
        link.symlink_to(path)
        with pytest.raises(BadInput, match="is in use"), opened(link):
            pass
    with opened(link) as store:
        assert len(read_rows(path)[1]) == 1


def test_a_second_writer_that_comes_before_there_is_a_store(path: Path) -> None:
    with sole_writer(path) as alone:
        assert alone
        with pytest.raises(BadInput, match="in use: another process is making it"), opened(path):
            pass


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be taken for one" * 40, b"\0" * 5000]
)
def test_another_programs_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(BadInput, match="not a store of a study"), opened(path):
        pass
    assert path.read_bytes() == content


def test_another_database_is_refused_and_left_as_it_is(path: Path) -> None:
    with sqlite3.connect(path) as link:
        link.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(BadInput, match="another program's database\n  hint: give STUDY"):
        read_rows(path)
    with pytest.raises(BadInput, match="another program's database\n  hint: name another file"), opened(path):
        pass
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_rows_of_older_code_stay_and_count_only_where_there_is_no_other(path: Path) -> None:
    old = [
        replace(row(key), code=f"old {key}{k}", answered=f"2026-0{k}") for key in ("k1", "k2") for k in (2, 1)
    ]
    with opened(path) as store:
        for each in old:
            store.ask(replace(HEADER, code=each.code), KEYS)
            store.save([each])
        asked(store).save([row("k2", peak=7)])
    assert rows_of(path, HEADER.code, KEYS)[1] == StudyCounts(10, {"feasible": 1}, 4)
    assert read_rows(path)[1] == (old[0], row("k2", peak=7))


def test_an_answer_of_other_code_ends_the_study_which_would_ask_for_it_without_end(path: Path) -> None:
    with opened(path) as store, pytest.raises(ChipmodelError, match="code new, and the study began"):
        asked(store).save([replace(row("k1"), code="new")])


def test_another_version_is_told(path: Path) -> None:
    with opened(path):
        pass
    with sqlite3.connect(path) as link:
        link.execute("PRAGMA user_version = 1")
    for use in (lambda: read_rows(path), lambda: opened(path).__enter__()):
        with pytest.raises(BadInput, match="format 1, not 7\n  hint: move it away, and run the study again"):
            use()


def test_a_store_of_the_format_before_goes_on(path: Path) -> None:
    """It has more columns and tables."""
    with opened(path) as store:
        asked(store).save([row("k1")])
    with sqlite3.connect(path) as link:
        link.execute("ALTER TABLE rows ADD COLUMN attempts INTEGER NOT NULL DEFAULT 1")
        link.execute("CREATE TABLE claims (key TEXT PRIMARY KEY, owner INTEGER NOT NULL) WITHOUT ROWID")
        link.execute("PRAGMA user_version = 6")
    with opened(path) as store:
        asked(store).save([row("k2")])
    assert read_rows(path)[1] == (row("k1"), row("k2"))


def test_an_empty_file_becomes_a_store_but_says_nothing(path: Path) -> None:
    path.touch()
    assert rows_of(path, HEADER.code, KEYS) == ((), StudyCounts(10, {}, 0))
    with pytest.raises(BadInput, match="the file is empty"):
        read_rows(path)
    with opened(path):
        pass
    assert read_rows(path)[1] == ()


def test_nothing_is_left_beside_the_store(path: Path) -> None:
    with opened(path) as store:
        asked(store).save([row("k1")])
    read_rows(path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_a_full_disk_is_told_and_what_was_stored_is_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = sqlite3.connect

    def small(*arguments: Any, **options: Any) -> sqlite3.Connection:
        link: sqlite3.Connection = real(*arguments, **options)
        link.execute("PRAGMA max_page_count = 1")
        return link

    def fill() -> None:
        with opened(path) as store:
            asked(store, [f"k{n}" for n in range(9999)])

    with opened(path) as store:
        asked(store, ["k1"])
    monkeypatch.setattr(sqlite3, "connect", small)
    with pytest.raises(BadInput, match="cannot be used: database or disk is full"):
        fill()
    assert read_rows(path)[0].points == 1


def test_a_store_that_is_not_there_and_a_folder_that_is_not(path: Path) -> None:
    with pytest.raises(BadInput, match="run the study first"):
        read_rows(path)
    assert not path.exists()
    with (
        pytest.raises(BadInput, match=r"cannot be used.*\n  hint: its folder must be there"),
        opened(path.parent / "none" / "s.sqlite"),
    ):
        pass


def damage(path: Path, statement: str, *values: object) -> None:
    with opened(path) as store:
        asked(store, ["k1", "k2"]).save([row("k1"), row("k2")])
    with sqlite3.connect(path) as link:
        link.execute(statement, values)
    link.close()


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("seconds", -1.0, "row 'k1': seconds is -1.0: input should be greater than or equal to 0"),
        ("seconds", "soon", "row 'k1': seconds is 'soon': input should be a valid number"),
        ("seconds", float("inf"), "row 'k1': seconds is inf: input should be a finite number"),
        ("seed", None, "row 'k1': seed is nothing: input should be a valid integer"),
        ("peak_bytes", "many", "row 'k1': peak_bytes is 'many': input should be a valid integer"),
        ("total_cycles", -3, "row 'k1': total_cycles is -3: input should be greater"),
        ("total_cycles", 2.5, "row 'k1': total_cycles is 2.5: input should be a valid integer"),
        ("status", "great", "row 'k1': status is 'great': input should be 'optimal'"),
        ("workload", b"zoo", "row 'k1': workload is b'zoo': input should be a valid string"),
        ("overrides", "{", "row 'k1': overrides is '{': invalid JSON"),
        ("overrides", '[["a", 1]]', "row 'k1': overrides[0][1] is 1: input should be a valid string"),
        ("trajectory", "[[0, 1]]", "row 'k1': trajectory[0][2] is a list: field required"),
        ("trajectory", "[[-1, 1, 1]]", "row 'k1': trajectory[0][0] is -1: input should be greater"),
        ("error", b"\xff", "row 'k1': error is b'\\xff': input should be a valid string"),
        ("trajectory", "[" * 100_000, "row 'k1': trajectory is '[[["),
    ],
)
def test_a_row_with_a_value_that_no_study_stores_is_named_and_left_out(
    path: Path, column: str, value: object, message: str
) -> None:
    damage(path, f"UPDATE rows SET {column} = ? WHERE key = 'k1'", value)
    with pytest.warns(RowsLeftOut, match=f"left out what is damaged: {re.escape(message)}") as said:
        _, rows = read_rows(path)
    assert str(said[0].message).endswith("another program changed it: run the study again")
    assert [each.key for each in rows] == ["k2"]
    with pytest.warns(RowsLeftOut):
        assert rows_of(path, HEADER.code, ["k1", "k2"])[1].stored == 1


@pytest.mark.parametrize("unfinished", [False, True])
def test_a_store_that_can_only_be_read_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch, unfinished: bool
) -> None:
    """In a folder where SQLite can make no file beside it."""
    damage(path, "SELECT 1")
    if unfinished:
        path.with_name(f"{path.name}-wal").write_bytes(b"half")

    def connect(address: str, **options: Any) -> sqlite3.Connection:
        if "immutable=1" not in address:
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error
        return sqlite3.Connection(address, **options)

    monkeypatch.setattr(sqlite3, "connect", connect)
    if unfinished:
        with pytest.raises(BadInput, match="the store cannot be used"):
            read_rows(path)
    else:
        assert [each.key for each in read_rows(path)[1]] == ["k1", "k2"]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE header SET value = x'00' WHERE name = 'name'", "header 'name' is b'\\x00', no text"),
        ("DROP TABLE asked", "this is not a store of a study: no such table: asked\n  hint: name another"),
        ("ALTER TABLE rows DROP COLUMN seed", "this is not a store of a study: no such column"),
    ],
)
def test_a_store_that_was_changed_is_refused(path: Path, statement: str, message: str) -> None:
    damage(path, statement)
    with pytest.raises(BadInput) as refused:
        read_rows(path)
    assert message in str(refused.value)
