"""What SECURITY.md promises: no command runs a Python file that lies in the current folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.folders import ROOT

COMMAND = Path(sys.executable).parent / "chipmodel"
PLANTED = (
    *sorted(sys.stdlib_module_names),
    "numpy",
    "click",
    "yaml",
    "ortools",
    "pydantic",
    "rich",
    "plotly",
    "dask",
)
CODE = "open({mark!r}, 'a').write(__name__ + ' ')\n"
STUDY = (
    "workloads: [zoo:resnet8]\nchips: [gap9]\npackers: [large-first, exact]\nstreamers: [sync, ping-pong]\n"
)
NETWORK = str(ROOT / "workloads" / "tiny_cnn.yaml")
COMMANDS = (
    "study s.yaml --workers 2",
    "report s.yaml",
    f"compare {NETWORK} --packers exact,large-first --streamers sync",
    f"simulate {NETWORK} --json r.json --plan p.json",
    f"plan {NETWORK}",
    f"check p.json {NETWORK} --execute",
    f"memory {NETWORK} --points 0",
    "pack b.csv",
    "diff r.json r.json",
    "export r.json --as csv",
    "chips gap9",
    "zoo",
    "planners",
)
CLUSTER = """import os, sys
from subprocess import run
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=1, dashboard_address=None) as made:
        sys.exit(run([sys.argv[1], "study", "d.yaml", "--dask", made.scheduler_address]).returncode)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with inputs, and a module of each name that marks that it has run."""
    made = tmp_path_factory.mktemp("planted")
    for name in PLANTED:
        (made / f"{name}.py").write_text(CODE.format(mark=str(made / "mark")), encoding="utf-8")
    for name in ("s.yaml", "d.yaml"):
        (made / name).write_text(STUDY, encoding="utf-8")
    (made / "b.csv").write_text("id,lower,upper,size\na,0,2,10\nb,1,3,20\n", encoding="utf-8")
    return made


def run_in(folder: Path, *arguments: str, **environment: str) -> None:
    """Run a command in the folder: it ends well, and no planted module has run."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONSAFEPATH")}
    found = subprocess.run(
        arguments, cwd=folder, env=kept | environment, capture_output=True, text=True, check=False
    )
    assert not (folder / "mark").exists(), (folder / "mark").read_text(encoding="utf-8")
    assert found.returncode == 0, found.stderr


@pytest.mark.parametrize(
    "commands", [COMMANDS[3:4], pytest.param(COMMANDS, marks=pytest.mark.slow)], ids=["simulate", "all"]
)
def test_no_command_runs_a_module_of_the_current_folder(folder: Path, commands: tuple[str, ...]) -> None:
    for command in commands:
        run_in(folder, str(COMMAND), *command.split())


@pytest.mark.slow
def test_workers_of_dask_run_none_either(folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER, encoding="utf-8")
    run_in(folder, sys.executable, str(script), str(COMMAND), PYTHONSAFEPATH="1")
