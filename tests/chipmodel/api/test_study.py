"""``study`` and ``report``: rows in a store, as a table; what they found, with pages of points."""

from pathlib import Path

import pytest

import chipmodel as cm

STUDY = """\
title: Two packers on random buffers
workloads: [guillotine:n=12]
packers: [large-first, greedy-best-fit]
seeds: [0]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(STUDY)
    return path


def test_a_study_is_answered_and_kept(file: Path) -> None:
    nothing = cm.study(file, only_status=True)
    assert (nothing.complete, nothing.counts.stored) == (False, 0)
    stopped = cm.study(file, workers=1, cancel=lambda: True)
    heard: list[str] = []
    found = cm.study(file, workers=1, progress=heard.append)
    assert found.complete
    assert found.counts.points == 2
    assert stopped.counts.stored + len(heard) >= 1
    table = found.to_dataframe("pandas")
    assert sorted(table["packer"]) == ["greedy-best-fit", "large-first"]
    assert "seconds" not in table.columns
    assert len(found.to_dataframe("pandas", times=True).columns) > len(table.columns)
    assert found.to_dict()["stored"] == 2
    assert "Two packers on random buffers" in found.to_html()


def test_what_contradicts_is_refused(file: Path) -> None:
    with pytest.raises(cm.BadInput, match="of a cluster"):
        cm.study(file, workers=2, dask="tcp://127.0.0.1:1")
    with pytest.raises(cm.BadInput, match="not a number of processes"):
        cm.study(file, workers=0)


PACKERS_STUDY = (
    "title: Who packs?\nworkloads: ['guillotine:n=12,seed=1']\npackers: [large-first, greedy-best-fit]\n"
)


@pytest.fixture
def answered(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(PACKERS_STUDY)
    assert cm.study(path, workers=1).complete
    return path


def test_it_reads_what_the_study_stored(answered: Path) -> None:
    found, table = cm.report(answered), cm.study(answered, only_status=True)
    assert found.rows() == table.rows()
    assert found.to_html() == table.to_html()
    assert found.headline().startswith("Who packs?: 2 points")
    assert found.to_dict()["rows"] == list(found.rows())
    assert not found.changed
    assert cm.report(answered.with_suffix(".sqlite")).to_html() == found.to_html()
    answered.write_text(PACKERS_STUDY + "seeds: [3]\n")
    assert cm.report(answered).changed
