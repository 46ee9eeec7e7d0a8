"""The store of a study: rows as they were, claims of the living, and files of others."""

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput, ChipmodelError
from chipmodel.studies.columns import record_of, row_of
from chipmodel.studies.store import StudyStore, opened, read_rows
from chipmodel.studies.store_owner import LEASE_SECONDS, Owner, is_alive, myself
from tests.chipmodel.studies.support import HEADER, row, rows
from tests.support.folders import ROOT

KEYS = [f"k{number}" for number in range(10)]
CLAIM = """
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from chipmodel.studies.store import opened
from tests.chipmodel.studies.support import HEADER
with opened(Path(sys.argv[1])) as store:
    keys = sys.argv[3].split()
    store.ask(HEADER, keys, keys)
    print(*store.claim(int(sys.argv[2])), flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite"


def asked(store: StudyStore, keys: list[str] = KEYS) -> StudyStore:
    store.ask(HEADER, keys, keys)
    return store


def other(path: Path, most: int) -> tuple[subprocess.Popen[str], list[str]]:
    """Another process that has claimed, and lives until its stdin is closed."""
    command = [sys.executable, "-c", CLAIM, str(path), str(most), " ".join(KEYS)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    return process, process.stdout.readline().split()


@given(rows)
def test_a_record_is_read_back_as_it_was(row: Row) -> None:
    assert row_of(record_of(row), "s.sqlite") == row


@settings(max_examples=25)
@given(st.lists(rows, unique_by=lambda row: row.key, max_size=8))
def test_rows_are_read_back_in_the_order_of_the_study(found: list[Row]) -> None:
    with TemporaryDirectory() as folder, opened(path := Path(folder) / "s.sqlite") as store:
        found = [replace(row, code=HEADER.code) for row in found]
        keys = [row.key for row in found]
        store.ask(HEADER, keys, sorted(keys))
        store.save(found[::-1])
        assert read_rows(path)[1] == tuple(found)


def test_the_header_and_the_rows_of_the_points_that_are_asked(path: Path) -> None:
    with opened(path) as store:
        asked(store).save([row("k7"), row("k3"), row("k99")])
    header, found = read_rows(path)
    assert header == replace(HEADER, points=10)
    assert found == (row("k3"), row("k7"))
    with opened(path) as store:
        counts = asked(store, ["k3", "k4"]).counts()
        assert (counts.points, counts.by_status, counts.stored, counts.old_rows) == (2, {"feasible": 1}, 1, 2)
        assert store.open_points() == 1


def test_rows_may_be_read_while_they_are_written(path: Path) -> None:
    with opened(path) as store:
        asked(store).save([row("k1")])
        assert len(read_rows(path)[1]) == 1
        store.save([row("k2")])
        assert len(read_rows(path)[1]) == 2


def test_a_stored_row_stays_and_every_answer_is_counted(path: Path) -> None:
    with opened(path) as store:
        asked(store).save([row("k1", peak=5)])
        store.save([row("k1", peak=6)])
        assert [each.peak_bytes for each in read_rows(path)[1]] == [5]
    with sqlite3.connect(path) as link:
        assert link.execute("SELECT attempts FROM rows").fetchone() == (2,)


def test_points_are_claimed_once_in_the_order_of_turns_until_none_is_left(path: Path) -> None:
    with opened(path) as store:
        store.ask(HEADER, KEYS, reversed(KEYS))
        store.save([row("k8")])
        assert store.claim(3) == ["k9", "k7", "k6"]
        assert store.claim(99) == ["k5", "k4", "k3", "k2", "k1", "k0"]
        assert store.claim(1) == []
        assert store.open_points() == 9


def test_a_claim_is_given_up_with_the_row_or_at_the_end(path: Path) -> None:
    with opened(path) as store:
        asked(store).claim(3)
        store.save([row("k0")])
        assert store.counts().claimed == 2
    with opened(path) as store:
        assert asked(store).claim(3) == ["k1", "k2", "k3"]


def test_what_failed_is_claimed_again_only_when_asked_and_keeps_its_row_until_then(path: Path) -> None:
    bad = row("k1", "failed", None, "no such thing")
    with opened(path) as store:
        asked(store, KEYS[:3]).save([row("k0"), bad, row("k2")])
        assert store.claim(9) == []
        assert store.errors() == [("no such thing", 1)]
        assert store.retry_failed() == 1
        assert (store.claim(9), store.open_points()) == (["k1"], 1)
        assert [each.status for each in read_rows(path)[1]].count("failed") == 1
        store.save([row("k1")])
        assert (store.claim(9), store.open_points(), store.errors()) == ([], 0, [])


def test_what_fails_again_is_not_claimed_for_ever(path: Path) -> None:
    bad = row("k1", "failed", None, "no such thing")
    with opened(path) as store:
        asked(store, ["k1"]).save([bad])
        store.retry_failed()
        assert store.claim(1) == ["k1"]
        store.save([replace(bad, error="still none")])
        assert (store.claim(1), store.errors()) == ([], [("still none", 1)])


def test_two_living_processes_never_claim_the_same_point(path: Path) -> None:
    process, theirs = other(path, 4)
    with opened(path) as store:
        ours = asked(store).claim(99)
        assert (theirs, ours) == (KEYS[:4], KEYS[4:])
        assert store.counts().claimed == 10
        process.communicate("")
        assert store.claim(99) == theirs


def test_the_claims_of_a_killed_process_are_taken_over_at_once(path: Path) -> None:
    process, theirs = other(path, 4)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with opened(path) as store:
        assert asked(store).counts().claimed == 0
        assert sorted(store.claim(99)) == KEYS
    assert theirs == KEYS[:4]


def test_who_lives() -> None:
    me = myself()
    assert is_alive(me)
    assert not is_alive(replace(me, pid=2**22 + 1))
    elsewhere = replace(me, host="elsewhere", pid=2**22 + 1)
    assert is_alive(elsewhere)
    assert not is_alive(replace(elsewhere, beat=me.beat - 2 * LEASE_SECONDS))


@pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="the system does not tell when a process began"
)
def test_a_pid_that_another_process_has_now_is_not_alive() -> None:
    assert not is_alive(replace(myself(), started="1"))


def test_a_zombie_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    dead = replace(myself(), pid=child.pid)
    assert not is_alive(dead)
    child.wait()


def nobody(owner: Owner) -> bool:
    return False


def test_a_process_that_was_taken_for_dead_goes_on_without_its_claims(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as first, opened(path) as second:
        assert asked(first).claim(2) == ["k0", "k1"]
        monkeypatch.setattr("chipmodel.studies.store.is_alive", nobody)
        assert sorted(asked(second).claim(99)) == KEYS
        monkeypatch.undo()
        second.save([row("k1", peak=1)])
        first.save([row("k0"), row("k1", peak=2)])
        assert first.claim(99) == []
        assert {each.key: each.peak_bytes for each in read_rows(path)[1]} == {"k0": 100, "k1": 1}


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
            store.ask(replace(HEADER, code=each.code), KEYS, KEYS)
            store.save([each])
        asked(store).save([row("k2", peak=7)])
        assert store.open_points() == 9
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
        with pytest.raises(BadInput, match="format 1, not 6\n  hint: move it away, and run the study again"):
            use()


def test_an_empty_file_becomes_a_store_but_says_nothing(path: Path) -> None:
    path.touch()
    with pytest.raises(BadInput, match="the file is empty"):
        read_rows(path)
    with opened(path):
        pass
    assert read_rows(path)[1] == ()


def test_nothing_is_left_beside_the_store(path: Path) -> None:
    with opened(path) as store:
        store.ask(HEADER, ["k1"], ["k1"])
        store.claim(1)
        store.save([row("k1")])
    read_rows(path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def connections(monkeypatch: pytest.MonkeyPatch, *statements: str) -> list[str]:
    """What is asked of SQLite from now on; each connection begins with ``statements``."""
    asked: list[str] = []
    real = sqlite3.connect

    def connect(address: str, timeout: float, **options: Any) -> sqlite3.Connection:
        asked.append(address.rpartition("?")[2])
        link: sqlite3.Connection = real(address, timeout, **options)
        for statement in statements:
            link.execute(statement)
        return link

    monkeypatch.setattr(sqlite3, "connect", connect)
    return asked


def test_a_full_disk_is_told_and_what_was_stored_is_there(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(path) as store:
        store.ask(HEADER, ["k1"], ["k1"])
    connections(monkeypatch, "PRAGMA max_page_count = 1")

    def fill() -> None:
        with opened(path) as store:
            store.ask(HEADER, [f"k{n}" for n in range(9999)], [])

    with pytest.raises(BadInput, match="cannot be used: database or disk is full"):
        fill()
    assert read_rows(path)[0].points == 1


def test_a_store_that_is_not_there_and_a_folder_that_is_not(path: Path) -> None:
    with pytest.raises(BadInput, match="run the study first"):
        read_rows(path)
    assert not path.exists()
    with (
        pytest.raises(BadInput, match=r"cannot be used.*\n  hint: it has to be in a folder that is there"),
        opened(path.parent / "none" / "s.sqlite"),
    ):
        pass


def damage(path: Path, statement: str, *values: object) -> None:
    with opened(path) as store:
        asked(store, ["k1"]).save([row("k1")])
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
        ("trajectory", "[" * 100_000, "row 'k1': trajectory is '[[["),
    ],
)
def test_a_value_that_no_study_stores_is_refused_by_row_and_column(
    path: Path, column: str, value: object, message: str
) -> None:
    damage(path, f"UPDATE rows SET {column} = ?", value)
    with pytest.raises(BadInput) as refused:
        read_rows(path)
    assert str(refused.value).startswith(f"{path}: {message}")
    assert "hint: another program changed the store" in str(refused.value)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE header SET value = x'00' WHERE name = 'name'", "header 'name' is b'\\x00', no text"),
        ("UPDATE rows SET error = CAST(x'ff' AS TEXT)", "a text in the store is not UTF-8"),
        ("DROP TABLE asked", "this is not a store of a study: no such table: asked\n  hint: name another"),
        ("ALTER TABLE rows DROP COLUMN seed", "this is not a store of a study: no such column"),
    ],
)
def test_a_store_that_was_changed_is_refused(path: Path, statement: str, message: str) -> None:
    damage(path, statement)
    with pytest.raises(BadInput) as refused:
        read_rows(path)
    assert message in str(refused.value)


def test_a_schema_that_is_not_text_is_refused(path: Path) -> None:
    damage(path, "VACUUM")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE rows", b"CREATE \xd4ABLE rows"))
    with pytest.raises(BadInput, match="not a store of a study: a name in it is not UTF-8"):
        read_rows(path)


@pytest.mark.parametrize(
    "values", ["'here', 'x', '', 1.0", "'here', -1, '', 1.0", "NULL, 1, '', 1.0", "'', 1, '', 'x'"]
)
def test_a_process_that_cannot_be_is_refused(path: Path, values: str) -> None:
    damage(path, f"INSERT INTO owners (host, pid, started, beat) VALUES ({values})")
    with pytest.raises(BadInput, match="owner 1: "), opened(path) as store:
        store.counts()


def test_a_lock_that_stays_is_the_reason(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened(path):
        pass
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr("chipmodel.studies.connection.BUSY_SECONDS", 0)
    with (
        pytest.raises(BadInput, match=r"locked by another process.*\n  hint: end what holds it"),
        opened(path) as store,
    ):
        asked(store)
    holder.close()
