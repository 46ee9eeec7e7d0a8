"""``chipmodel report --points``: the pages of points, what they show, and which are refused."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from chipmodel.answers.study_row import Row
from chipmodel.cli.report import report
from chipmodel.cli.study import study
from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run as run_pipeline
from chipmodel.pipeline.unmerged import with_unmerged
from chipmodel.rewrites.in_place import reuse
from chipmodel.studies import pages as study_pages
from chipmodel.studies.pages import chosen, pages_of
from chipmodel.studies.store import read_rows
from chipmodel.studies.study_file import Study
from chipmodel.studies.task import PointTask
from reports.run.page import render_page
from reports.template import PLOTLY_FILE
from tests.chipmodel.studies.support import row, tasks
from tests.reports.pages import data_of
from workloads.load import load

STUDY = "workloads: [zoo:ds_cnn, 'guillotine:n=12,seed=1']\npackers: [large-first, exact]\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text(STUDY)
    CliRunner().invoke(study, [str(path), "--workers", "1"], catch_exceptions=False, standalone_mode=False)
    return path


def run(*words: object) -> str:
    found = CliRunner().invoke(report, list(map(str, words)), catch_exceptions=False, standalone_mode=False)
    return found.stdout


@pytest.mark.parametrize("streamer", ["sync", "ping-pong"])
def test_a_networks_page_is_that_of_simulate(streamer: str) -> None:
    text = f"workloads: zoo:branchynet\nstreamers: {streamer}\npackers: large-first\n"
    text += "set: {psram.clock_mhz: [80]}"
    (task,) = tasks(text)
    asked = Row(task.point, task.key, "optimal", 1.0, 1)
    ((_, page),) = pages_of(text, Path("s.yaml"), [asked])
    program = reuse(load("zoo:branchynet"), "all")
    result = run_pipeline(
        PlanRequest(program, load_chip("luna-arcs", ["psram.clock_mhz=80"]), "large-first", streamer)
    )
    assert page == render_page(with_unmerged(result, "large-first"), plotly="beside")


def test_all_points_with_a_plan_have_pages_that_the_report_links(file: Path, tmp_path: Path) -> None:
    plans, page = tmp_path / "the plans", tmp_path / "out.html"
    assert run(file, "-o", page, "--points", plans) == ""
    _, rows = read_rows(file.with_suffix(".sqlite"))
    names = {row.key: f"{row.key[:16]}.html" for row in rows}
    assert {each.name for each in plans.iterdir()} == {*names.values(), PLOTLY_FILE}
    points: list[dict[str, str]] = data_of(page.read_text())["points"]
    assert {each["key"]: each["page"] for each in points} == {
        key: f"the%20plans/{name}" for key, name in names.items()
    }
    before = {each.name: each.read_bytes() for each in plans.iterdir()}
    run(file.with_suffix(".sqlite"), "-o", page, "--points", plans)
    assert {each.name: each.read_bytes() for each in plans.iterdir()} == before


def test_only_those_asked_for(file: Path, tmp_path: Path) -> None:
    _, rows = read_rows(file.with_suffix(".sqlite"))
    key = rows[-1].key
    run(file, "-o", tmp_path / "out.html", "--points", tmp_path / "plans", "--point", key[:12])
    assert [each.name for each in (tmp_path / "plans").glob("*.html")] == [f"{key[:16]}.html"]


def test_what_cannot_be_chosen() -> None:
    rows = [replace(row(f"k{n}"), key=f"k{n}") for n in range(1001)]
    none = row("k1001", "does not fit", None)
    assert len(chosen(rows[1:], [])) == 1000
    with pytest.raises(BadInput, match="1,001 points have a plan; 1,000 pages are the most"):
        chosen([*rows, none], [])
    assert [each.key for each in chosen([*rows, none], ["k40", "k994"])] == [
        "k40",
        *(f"k40{n}" for n in range(10)),
        "k994",
    ]
    for key in ("k1001", "", "x"):
        with pytest.raises(BadInput, match="no point with a plan has the key"):
            chosen([*rows, none], [key])


def test_points_of_older_code_and_options_without_the_others_are_refused(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in (["--points", "x"], ["-o", "x.html", "--point", "k"]):
        with pytest.raises(BadInput, match="linked from a page"):
            run(file, *words)
    monkeypatch.setitem(vars(study_pages), "tasks_of", _no_tasks)
    with pytest.raises(BadInput, match="answered by another chipmodel"):
        run(file, "-o", tmp_path / "x.html", "--points", tmp_path / "plans")
    assert not (tmp_path / "x.html").exists()


def _no_tasks(asked: Study) -> tuple[PointTask, ...]:
    return ()
