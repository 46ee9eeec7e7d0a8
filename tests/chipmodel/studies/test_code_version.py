"""The version of the code covers what answers points, and is never quietly of too little."""

from pathlib import Path

import pytest

from chipmodel.studies.code_version import FOLDERS, NEVER_DECIDE, STILL_DECIDE, code_version, deciding_files
from tests.support.folders import ROOT


def test_the_version_is_a_short_hash() -> None:
    assert len(code_version()) == 16


def test_it_covers_what_loads_plans_and_simulates_and_nothing_that_only_shows() -> None:
    files = set(deciding_files())
    assert {
        "solvers/exact/portfolio.py",
        "solvers/search/kernel.py",
        "dma/stream.py",
        "dma/streamers/exact.py",
        "chipmodel/machine/simulate.py",
        "chipmodel/pipeline/plan.py",
        "chipmodel/npu/cycles.py",
        "workloads/load.py",
        "workloads/zoo/resnet.py",
        *STILL_DECIDE,
    } <= files
    assert not files & {"chipmodel/cli/main.py", "chipmodel/studies/store.py"}


def test_every_source_is_either_hashed_or_named_as_deciding_nothing() -> None:
    sources = {path.relative_to(ROOT).as_posix() for top in FOLDERS for path in (ROOT / top).rglob("*.py")}
    left = sources - set(deciding_files())
    assert left
    assert all(name.startswith(NEVER_DECIDE) for name in left)


@pytest.mark.parametrize("missing", [FOLDERS[0], NEVER_DECIDE[0], STILL_DECIDE[0]])
def test_a_folder_or_file_that_is_not_there_is_an_error(missing: str, tmp_path: Path) -> None:
    for name in (*FOLDERS, *NEVER_DECIDE, *STILL_DECIDE):
        if not name.startswith(missing):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch() if name.endswith(".py") else path.mkdir(exist_ok=True)
    with pytest.raises(FileNotFoundError, match=missing):
        deciding_files(tmp_path)
