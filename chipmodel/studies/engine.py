"""The loop that answers a study: rows are stored as workers send them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

from chipmodel.answers.study_row import Row
from chipmodel.studies.store import StudyStore

Watch = Callable[[Sequence[Row]], None]
"""Called with the rows just stored, and now and then with none."""


def work(
    store: StudyStore,
    answers: Generator[list[Row]],
    watch: Watch,
    stop: Callable[[], bool] | None = None,
) -> bool:
    """Store the rows of ``answers`` until there are no more or ``stop`` says yes; whether it did."""
    with closing(answers):
        for rows in answers:
            store.save(rows)
            watch(rows)
            if stop and stop():
                return True
    return False
