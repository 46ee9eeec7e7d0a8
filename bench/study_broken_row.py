"""What one wrong row costs a study of 1,944 points.

    python -m bench.study_broken_row [--store broken-row.sqlite]

Runs ``bench/study_broken_row.yaml``, or goes on with the store, exports it and writes its page. Then, in a
copy of the store, a plan is said to be far below a bound that is proven, and a size is made no number:
status, export and report have to go on, and all they lose are the points of one problem and one row.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from bench.study_repeat import ROOT, Place
from chipmodel.api.study_rows import stored_results

STUDY = ROOT / "bench" / "study_broken_row.yaml"
WRONG = """UPDATE rows SET peak_lower_bound_bytes = 1000 * peak_bytes WHERE key =
    (SELECT key FROM rows WHERE status = 'optimal' AND packer = 'exact' ORDER BY workload, key LIMIT 1)"""
DAMAGED = """UPDATE rows SET peak_bytes = 'many' WHERE key =
    (SELECT key FROM rows WHERE packer = 'naive' ORDER BY workload DESC, key LIMIT 1)"""


def answers(place: Place, store: Path) -> tuple[int, int, int]:
    """Rows, rows with an error, and lines of the table that the commands make of a store."""
    table, page = place.folder / "rows.csv", place.folder / "page.html"
    place.run("study", str(STUDY), "--store", str(store), "--status", "--export", str(table), may_fail=True)
    place.run("report", str(store), "-o", str(page))
    rows = stored_results(store).rows
    lines = len(table.read_text(encoding="utf-8").splitlines()) - 1
    assert page.stat().st_size > 0
    return len(rows), sum(bool(row.error) for row in rows), lines


@click.command()
@click.option("--store", type=click.Path(path_type=Path), default=Path("broken-row.sqlite"))
def main(store: Path) -> None:
    """Run the study, break a row, and print what is lost."""
    with TemporaryDirectory() as made:
        place = Place(ROOT, Path(made), {})
        place.run("study", str(STUDY), "--store", str(store.absolute()), may_fail=True)
        print("| store | rows | with an error | lines exported |\n| --- | ---: | ---: | ---: |")
        row = "| {} | {:,} | {:,} | {:,} |"
        print(row.format("as answered", *answers(place, store.absolute())))
        broken = Path(made) / "broken.sqlite"
        shutil.copy(store, broken)
        for name, statement in (("a bound above its plan", WRONG), ("and a size that is no number", DAMAGED)):
            with closing(sqlite3.connect(broken)) as link, link:
                assert link.execute(statement).rowcount == 1
            print(row.format(name, *answers(place, broken)))


if __name__ == "__main__":
    main()
