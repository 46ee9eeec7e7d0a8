"""``chipmodel report`` from a study's store: what it prints and writes, and what it refuses."""

import io
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from sqlite3 import connect
from typing import Any

import pytest
from click.testing import CliRunner, Result

import chipmodel as cm
from chipmodel.answers.design_question import DesignQuestion
from chipmodel.api.study_rows import stored_results
from chipmodel.cli.report import report
from chipmodel.errors import BadInput, RowsLeftOut
from chipmodel.studies.design_question import stored_text
from chipmodel.studies.export import csv_bytes
from chipmodel.studies.store import StudyHeader, opened
from tests.reports.study_sample import designs, small

PANDAS: Any = import_module("pandas")
TEXT = "title: Who packs best?\n"


def run(*words: str) -> Result:
    return CliRunner().invoke(report, list(words), catch_exceptions=False, standalone_mode=False)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study file with its store beside it: twelve of thirteen points."""
    file = tmp_path / "small.yaml"
    file.write_text(TEXT, encoding="utf-8")
    rows = [replace(row, code="c0de") for row in small().rows]
    header = StudyHeader("small", "Who packs best?", file.name, TEXT, "c0de", 0)
    keys = [*(row.key for row in rows), "open"]
    with opened(file.with_suffix(".sqlite")) as store:
        store.ask(header, keys)
        store.save(rows)
    return file


def test_a_row_broken_on_purpose_costs_one_problem(study: Path, tmp_path: Path) -> None:
    """Report, export and status go on; without the mend all of them refused the whole study."""
    store, page = study.with_suffix(".sqlite"), tmp_path / "page.html"
    with closing(connect(store)) as link, link:
        link.execute(
            "UPDATE rows SET peak_lower_bound_bytes = 101 WHERE workload = 'a.csv' AND packer = 'exact'"
        )
    printed = run(str(store), "-o", str(page))
    assert printed.exit_code == 0
    assert "the peak of point" in page.read_text(encoding="utf-8")
    rows = stored_results(store).rows
    assert {row.point.workload for row in rows if row.error.startswith("contradiction: ")} == {"a.csv"}
    others = [[row.status for row in each if row.point.workload != "a.csv"] for each in (rows, small().rows)]
    assert others[0] == others[1]
    assert b"contradiction: " in csv_bytes(rows, False)
    assert run(str(store), "--statistics", str(tmp_path / "s.csv")).exit_code == 0


def test_rows_of_designs_that_the_store_does_not_know_are_named_and_left_out(tmp_path: Path) -> None:
    rows = [replace(row, code="c0de") for row in designs().rows]
    known, *_ = dict.fromkeys((row.point.chip, row.point.overrides) for row in rows)
    asked = stored_text(DesignQuestion(columns=("area",), values={known: (0.5,)}))
    store = tmp_path / "s.sqlite"
    keys = [row.key for row in rows]
    with opened(store) as made:
        made.ask(StudyHeader("s", "", "s.yaml", "", "c0de", 0, asked), keys)
        made.save(rows)
    with pytest.warns(RowsLeftOut, match="left out rows [0-9a-f]{16}, "):
        shown = cm.report(str(store))
    assert {(row.point.chip, row.point.overrides) for row in shown.results.rows} == {known}
    assert shown.to_html()


def test_it_prints_the_answer_of_the_study_or_its_store(study: Path) -> None:
    printed = run(str(study))
    assert "12 of 13 points have an answer so far." in printed.stdout
    assert "By peak, over the 2 cases that all 3 planners answered, exact is at" in printed.stdout
    assert printed.stderr == ""
    assert run(str(study.with_suffix(".sqlite"))).stdout == printed.stdout


def test_a_store_elsewhere_is_named_with_the_study(study: Path, tmp_path: Path) -> None:
    printed, store = run(str(study)).stdout, study.with_suffix(".sqlite")
    kept = store.rename(tmp_path / "elsewhere.sqlite")
    assert run(str(study), "--store", str(kept)).stdout == printed
    with pytest.raises(BadInput, match="a store itself"):
        run(str(kept), "--store", str(kept))


def test_what_is_no_study_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        run(str(tmp_path / "missing.yaml"))
    alone = tmp_path / "alone.yaml"
    alone.write_text(TEXT, encoding="utf-8")
    with pytest.raises(BadInput, match="no store of a study"):
        run(str(alone))
    assert not alone.with_suffix(".sqlite").exists()


@pytest.mark.slow
def test_the_evaluation_section_links_the_figures_beside_it(study: Path, tmp_path: Path) -> None:
    section, folder = tmp_path / "paper" / "section.md", tmp_path / "plots"
    section.parent.mkdir()
    run(str(study), "--markdown", str(section), "--figures", str(folder))
    assert "](../plots/peak-profile.svg)" in section.read_text(encoding="utf-8")
    run(str(study), "--markdown", str(section))
    assert "![" not in section.read_text(encoding="utf-8")


def test_statistics_are_those_of_pandas_over_the_csv(study: Path) -> None:
    """The headline, computed again from the rows alone: medians over the cases that all planners answered."""
    run(str(study), "--statistics", str(study.with_name("s.csv")))
    statistics = PANDAS.read_csv(study.with_name("s.csv")).set_index("planner")
    rows = PANDAS.read_csv(io.BytesIO(csv_bytes(small().rows)))
    gaps = rows.pivot_table(index="workload", columns="packer", values="peak_gap").dropna()
    best = gaps.eq(gaps.min(axis=1), axis=0)
    assert len(gaps) == 2
    for planner in ("exact", "best-fit", "naive"):
        line = statistics.loc[planner]
        assert line.cases == len(gaps)
        assert line.median_gap == pytest.approx(gaps[planner].median())
        assert line.lower_quartile_gap == pytest.approx(gaps[planner].quantile(0.25))
        assert line.wins + line.ties == best[planner].sum()
