"""The studies of reports/gallery: each is read, asks what its README says, and is small enough to rerun."""

import os
import re
from pathlib import Path

import pytest

from chipmodel.studies.points import idle_filters, tasks_of
from chipmodel.studies.study_file import read_study
from chipmodel.studies.workload import MINIMALLOC_FOLDER
from tests.support.folders import ROOT

GALLERY = ROOT / "reports/gallery"
STUDIES = sorted(GALLERY.glob("*.yaml"))
README = (GALLERY / "README.md").read_text()


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.stem)
def test_a_study_asks_as_many_points_as_its_readme_says(file: Path) -> None:
    if "minimalloc" in file.read_text() and not os.environ.get(MINIMALLOC_FOLDER):
        pytest.skip(f"{MINIMALLOC_FOLDER} is not set")
    study = read_study(file)
    tasks = tasks_of(study)
    assert study.title.endswith("?")
    assert not [task for task in tasks if task.error]
    assert idle_filters(study) == ()
    if "minimalloc" not in file.read_text():  # there, it depends on the instances
        assert f"| {len(tasks)} points |" in _row(file)


def test_every_study_has_its_commands_and_answer() -> None:
    assert len(STUDIES) == 4
    for file in STUDIES:
        assert f"chipmodel study reports/gallery/{file.name} " in README
        assert f"chipmodel report {file.stem}.sqlite -o {file.stem}.html" in README


def _row(file: Path) -> str:
    found = re.search(rf"^\| `{file.stem}\.yaml`.*$", README, re.MULTILINE)
    assert found, f"the README has no row for {file.name}"
    return found[0]


def test_the_gap_study_has_every_packer_and_all_networks_of_two_catalogues() -> None:
    from solvers.registry import packers
    from workloads.from_onnx.onnx_package import models
    from workloads.zoo import networks

    study = read_study(GALLERY / "gap.yaml")
    assert study.packers == tuple(name for name in packers() if name != "auto")
    assert len(study.workloads) == len(networks("classic")) + len(networks("control_flow")) + len(models())
