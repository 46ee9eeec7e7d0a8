"""A lock: what a study's rows answered, to be compared with rows of another run, machine or code.

A point's key is a hash of everything but the code that decides its answer, so a key of the lock that the
study asks as well is the same question; an answer is compared by the hash of all but its times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from chipmodel.answers.study_results import KEY_DIGITS
from chipmodel.answers.study_row import Row
from chipmodel.errors import BadInput, Place
from chipmodel.files.json_file import read_json
from chipmodel.files.strict_model import StrictModel
from chipmodel.files.text_file import json_text, read_text
from chipmodel.studies.task import PointTask

HINT = "give a file that chipmodel report STUDY --lock FILE wrote"


class LockedPoint(StrictModel):
    """A point, digests of what it is made of, and of its answer."""

    key: str
    workload: str
    chip: str
    workload_digest: str
    chip_digest: str
    answer: str


class Lock(StrictModel):
    """What a study's rows were, and what they came from."""

    format: Literal[1]
    study: str
    code: str
    origins: list[str]
    points: list[LockedPoint]


def answer_digest(row: Row) -> str:
    """The hash of a row without what differs from run to run."""
    return sha256(repr(row.timeless).encode()).hexdigest()[:16]


def lock_text(study: str, code: str, rows: Sequence[Row]) -> str:
    """The lock of these rows, as they are in the store."""
    points = [
        LockedPoint(
            key=row.key,
            workload=row.point.workload,
            chip=row.point.chip,
            workload_digest=row.workload_digest,
            chip_digest=row.chip_digest,
            answer=answer_digest(row),
        )
        for row in rows
    ]
    origins = list(dict.fromkeys(row.origin for row in rows))
    return json_text(Lock(format=1, study=study, code=code, origins=origins, points=points).model_dump())


def read_lock(path: Path) -> Lock:
    """The lock in a file. Raises BadInput."""
    value = read_json(read_text(path), str(path), HINT).value
    try:
        return Lock.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise BadInput(f"no lock: {where}: {first['msg']}", where=Place(str(path)), hint=HINT) from None


def lock_faults(lock: Lock, tasks: Iterable[PointTask], rows: Iterable[Row]) -> list[str]:
    """How the study as it is, and ``rows``, differ from the lock; empty where they agree."""
    asked = {task.key: task for task in tasks}
    workloads = {task.source.name: task.source.digest for task in asked.values()}
    locked = {point.key: point for point in lock.points}
    gone = [point for point in lock.points if point.key not in asked]
    changed = {p.workload for p in gone if workloads.get(p.workload, p.workload_digest) != p.workload_digest}
    faults = [f"{name} has another content than in the lock" for name in sorted(changed)]
    if gone:
        faults.append(f"{len(gone):,} of {len(lock.points):,} points are not asked as in the lock")
    for row in rows:
        point = locked.get(row.key)
        if point and point.answer != answer_digest(row):
            faults.append(
                f"point {row.key[:KEY_DIGITS]} ({row.point.workload}) has another answer than in the lock"
            )
    return faults


def differences(row: Row, other: Row) -> Mapping[str, tuple[object, object]]:
    """The values, but times, in which two rows of one point differ, by their names."""
    one, two = row.timeless, other.timeless
    values = {field.name: (getattr(one, field.name), getattr(two, field.name)) for field in fields(Row)}
    return {name: pair for name, pair in values.items() if pair[0] != pair[1]}
