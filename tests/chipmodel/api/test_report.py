"""``report``: what a study found, with pages of its points."""

from pathlib import Path

import pytest

import chipmodel as cm
from tests.reports.pages import data_of

STUDY = "title: Who packs?\nworkloads: ['guillotine:n=12,seed=1']\npackers: [large-first, greedy-best-fit]\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(STUDY)
    assert cm.study(path, workers=1).complete
    return path


def test_it_reads_what_the_study_stored(file: Path) -> None:
    found, table = cm.report(file), cm.study(file, only_status=True)
    assert found.rows() == table.rows()
    assert found.to_html() == table.to_html()
    assert found.headline().startswith("Who packs?: 2 points")
    assert found.to_dict()["rows"] == list(found.rows())
    assert not found.changed
    assert cm.report(file.with_suffix(".sqlite")).to_html() == found.to_html()
    file.write_text(STUDY + "seeds: [3]\n")
    assert cm.report(file).changed


def test_it_writes_pages_of_chosen_points(file: Path, tmp_path: Path) -> None:
    found = cm.report(file)
    key = found.results.rows[0].key
    heard: list[str] = []
    found.write(tmp_path / "all.html", tmp_path / "plans", [key], progress=heard.append)
    (page,) = (tmp_path / "plans").iterdir()
    assert found.page_files(tmp_path / "plans", [key]) == {key: page}
    assert data_of((tmp_path / "all.html").read_text())["points"][0]["page"] == f"plans/{page.name}"
    assert heard[0] == "planning 1 points again"
