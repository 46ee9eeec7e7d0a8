"""Small valid files of every kind that chipmodel reads, and the commands that read them."""

import json
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from chipmodel.studies.answer import WorkerCache, answer
from chipmodel.studies.code_version import code_version
from chipmodel.studies.points import tasks_of
from chipmodel.studies.store import StudyHeader, opened
from chipmodel.studies.study_file import read_study
from chipmodel.studies.workload import load_workload
from tests.fuzz.hostile.call import call
from tests.support.folders import ROOT

FILES = ROOT / "tests" / "data" / "hostile"


def tables() -> list[str]:
    """Tables of measurements, one of each kind."""
    return [path.read_text() for path in sorted(FILES.glob("measured_*.csv"))]


class Home:
    """A folder with a valid file of each kind, which chipmodel itself has written where it can."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="chipmodel-fuzz-")
        self.path = Path(self._folder.name)
        shutil.copytree(FILES, self.path, dirs_exist_ok=True)
        for name in NETWORKS:
            plan, result = self.file(f"{name}.plan"), self.file(f"{name}.json")
            self._run("simulate", self.file(f"{name}.yaml"), *quick(name), "--plan", plan, "--json", result)
        problem = self.file("problem.csv")
        self._run("pack", problem, "--packer", "large-first", "--json", self.file("plain.answer"), *MEMORIES)
        self._store()

    def file(self, name: str) -> str:
        """The path of an example."""
        return str(self.path / name)

    def text(self, name: str) -> str:
        """The contents of an example."""
        return (self.path / name).read_text()

    def tree(self, name: str) -> Any:
        """The values of a YAML or JSON example."""
        return yaml.safe_load(self.text(name)) if name.endswith(".yaml") else json.loads(self.text(name))

    def _run(self, *arguments: str) -> None:
        ended = call(arguments)
        assert ended.code == 0, ended

    def _store(self) -> None:
        """A study that is answered but for one point."""
        study = read_study(self.path / "study.yaml")
        tasks = tasks_of(study)
        header = StudyHeader(study.name, study.title, study.file.name, study.text, code_version(), len(tasks))
        cache = WorkerCache(load_workload)
        with opened(self.path / "study.sqlite") as store:
            store.ask(header, [task.key for task in tasks])
            store.save([answer(task, cache) for task in tasks[1:]])


NETWORKS = ("cnn", "tree", "cores")
MEMORIES = ("--memory", "m=0-64", "--memory", "n=64-128")


def quick(name: str) -> tuple[str, ...]:
    """Options for the quickest plan of a network."""
    return ("--packer", "large-first", "--streamer", "sync", *cores(name))


def cores(name: str) -> tuple[str, ...]:
    """The option for as many cores as a network needs."""
    return ("--set", "cores=2") if name == "cores" else ()


@cache
def home() -> Home:
    """The examples of this process."""
    return Home()
