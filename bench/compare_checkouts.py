"""Whether two checkouts print the same numbers: every command on ten workloads and several chips.

    python -m bench.compare_checkouts OLD_ROOT NEW_ROOT [--old-python P] [--new-python P]
    python -m bench.compare_checkouts ../before . --only resnet8 --only branches

Each checkout runs its own code and its own workload files with its own Python. Compared are exit codes and
the numbers in the files and tables that the commands write: bytes, cycles, offsets, commands of a plan.
Numbers of a JSON document are a multiset of (key, value), so that an answer may be nested otherwise; keys
that were renamed are in RENAMED_KEYS or given by --rename OLD=NEW. Seconds, versions and texts are not
compared. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RENAMED_KEYS = {"met_on_banks": "bank_conflicts", "trips": "iterations", "trip": "iteration", "mend": "hint"}
"""Keys of JSON documents and heads of CSV columns, by the older name."""
MEASURED = re.compile(r"second|\btime|_time|version|digest|attempts|workers|rate", re.IGNORECASE)
"""Keys whose numbers differ from run to run or from version to version."""
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w.])")
DURATION = re.compile(r"\d[\d,.]* ?(?:s|ms|µs|min|h)\b")
PACKERS = "large-first,greedy-best-fit,context,hill-climb,exact"
STREAMERS = "sync,ping-pong,weight-pipeline,prefetch-greedy"
LIMIT_SECONDS = 1800.0
USAGE = 2
"""Exit code for bad input: neither checkout has run the command."""

Values = Counter[tuple[str, object]]
"""Numbers with the key or the file that they belong to."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and the files in the working folder that it writes."""

    name: str
    arguments: str
    writes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload or a packing problem or a study, with the commands that run on it, in this order."""

    name: str
    commands: tuple[Command, ...]


def network(name: str, source: str, chip: str, streamer: str, packer: str = "large-first") -> Workload:
    """All commands about a program; ``chip`` is a preset with options."""
    limits = "--node-limit 500"
    return Workload(
        name,
        (
            Command(
                "simulate",
                f"simulate {source} --chip {chip} --packer {packer} --streamer {streamer} "
                "--json run.json --plan run.plan.json",
                ("run.json", "run.plan.json"),
            ),
            Command("check", f"check run.plan.json {source}"),
            Command(
                "export c", f"export run.plan.json {source} --as c --folder c --prefix x", ("c/x_plan.c",)
            ),
            Command("export minimalloc", "export run.plan.json --as minimalloc -o run.csv", ("run.csv",)),
            Command("export csv", "export run.json --as csv -o ops.csv", ("ops.csv",)),
            Command("plan", f"plan {source} --chip {chip} --streamer sync -o sync.json", ("sync.json",)),
            Command(
                "simulate sync",
                f"simulate {source} --chip {chip} --streamer sync --json sync.run.json",
                ("sync.run.json",),
            ),
            Command("diff", "diff sync.run.json run.json --json diff.json", ("diff.json",)),
            Command(
                "compare",
                f"compare {source} --chip {chip} --packers {PACKERS} --streamers {STREAMERS} {limits} "
                "--json compare.json",
                ("compare.json",),
            ),
        ),
    )


def cores(name: str, source: str, chip: str) -> Workload:
    """The commands about a program for several cores."""
    simulate = f"simulate {source} --chip {chip} --json run.json --plan run.plan.json"
    return Workload(
        name,
        (
            Command("simulate", simulate, ("run.json", "run.plan.json")),
            Command("check", f"check run.plan.json {source}"),
            Command("export", "export run.plan.json --as minimalloc --core 1 -o run.csv", ("run.csv",)),
        ),
    )


def packing(name: str, source: str, memories: str = "") -> Workload:
    """All commands about a packing problem; ``memories`` are options that give their sizes."""
    limits = f"--node-limit 2000 {memories}"
    return Workload(
        name,
        (
            Command("pack exact", f"pack {source} {limits} --json exact.json -o plan.csv", ("exact.json",)),
            Command("check", f"check exact.json {source}"),
            Command(
                "pack large-first",
                f"pack {source} --packer large-first {memories} --json large.json",
                ("large.json",),
            ),
            Command("compare", f"compare {source} {limits} --json compare.json", ("compare.json",)),
        ),
    )


def study(name: str, source: str) -> Workload:
    return Workload(
        name,
        (
            Command(
                "study",
                f"study {source} --store rows.sqlite --workers 1 --export rows.csv --no-times "
                "--json study.json",
                ("rows.csv", "study.json"),
            ),
            Command("report", f"report {source} --store rows.sqlite -o report.html"),
        ),
    )


WORKLOADS = (
    network("resnet8", "zoo:resnet8", "luna-arcs --set shared_memory.bytes=64KiB", "ping-pong"),
    network("ds_cnn", "zoo:ds_cnn", "gap9-psram --set shared_memory.bytes=32KiB", "exact:5", "short-first"),
    network("mobilenet", "zoo:mobilenetv1_025", "stm32n6", "weight-pipeline", "free-list"),
    network("wakeword", "zoo:wakeword", "luna-arcs", "ping-pong-across", "greedy-best-fit"),
    network("lstm_decoder", "zoo:lstm_decoder", "luna-csk6", "prefetch-greedy"),
    network("branches", "workloads/branches.yaml", "esp32s3", "resident-knapsack", "context"),
    network("decoder_loop", "workloads/decoder_loop.yaml", "luna-arcs", "ping-pong", "short-first"),
    cores("two_cores", "workloads/two_cores.yaml", "luna-arcs --set cores=2"),
    network("squeezenet", "onnx:light_squeezenet", "stm32n6", "ping-pong"),
    packing("packing", "workloads/packing-example.csv"),
    packing("banks", "workloads/packing-banks.csv", "--memory fast=16KiB --memory slow=64KiB"),
    study("study", "workloads/study_small.yaml"),
)


@dataclass(frozen=True, slots=True)
class Checkout:
    """Code, the Python that runs it, and the folder that it works in."""

    root: Path
    python: str
    folder: Path
    renamed: Mapping[str, str]

    def prepare(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir(parents=True)
        (folder / "workloads").symlink_to(self.root / "workloads")
        return folder

    def run(self, command: Command, folder: Path) -> tuple[int, Values]:
        """The exit code, and the numbers that the command printed or wrote."""
        environment = os.environ | {"PYTHONPATH": str(self.root), "COLUMNS": "200"}
        ended = subprocess.run(
            [self.python, "-m", "chipmodel", *shlex.split(command.arguments)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        values: Values = Counter()
        for name in command.writes:
            file = folder / name
            values += self.numbers(file) if file.is_file() else Counter({("missing", name): 1})
        return ended.returncode, values

    def numbers(self, file: Path) -> Values:
        """The numbers of a JSON document, of a table, or of any other text."""
        text = file.read_text(encoding="utf-8")
        match file.suffix:
            case ".json":
                return Counter(self.leaves(json.loads(text), ""))
            case ".csv":
                rows = csv.DictReader(text.splitlines())
                return Counter(leaf for row in rows for leaf in self.leaves(row, ""))
            case _:
                plain = DURATION.sub("", text)
                return Counter((file.name, number(found)) for found in NUMBER.findall(plain))

    def leaves(self, value: Any, key: str) -> Iterator[tuple[str, object]]:
        """Every number with the key that it is under; the items of a list are under the list's."""
        match value:
            case dict():
                for name, inner in value.items():
                    if not MEASURED.search(str(name)):
                        yield from self.leaves(inner, self.renamed.get(str(name), str(name)))
            case list():
                for inner in value:
                    yield from self.leaves(inner, key)
            case bool() | None:
                yield key, value
            case int() | float():
                yield key, number(value)
            case str() if NUMBER.fullmatch(value):
                yield key, number(value)
            case _:
                pass


def number(value: str | float) -> float | int:
    """An integer as it is, anything else to twelve digits."""
    if isinstance(value, str):
        value = value.replace(",", "")
        return int(value) if re.fullmatch(r"-?\d+", value) else float(f"{float(value):.12g}")
    return value if isinstance(value, int) else float(f"{value:.12g}")


def difference(old: tuple[int, Values], new: tuple[int, Values]) -> str:
    """How the two differ first; nothing where they are equal."""
    if old[0] != new[0]:
        return f"exit code {old[0]} -> {new[0]}"
    if old[0] == USAGE:
        return "both refuse the command line"
    lost, gained = old[1] - new[1], new[1] - old[1]
    if not lost and not gained:
        return ""
    return f"{_first(lost)} -> {_first(gained)} ({lost.total()} numbers lost, {gained.total()} new)"


def _first(values: Values) -> str:
    (key, value), _ = min(values.items(), key=str) if values else (("nothing", ""), 0)
    return f"{key} {value}".strip()


def compared(old: Checkout, new: Checkout, workloads: list[Workload]) -> Iterator[tuple[str, str, str]]:
    """Workload, command, and how the answers differ."""
    for workload in workloads:
        folders = old.prepare(workload.name), new.prepare(workload.name)
        for command in workload.commands:
            found = old.run(command, folders[0]), new.run(command, folders[1])
            words = difference(*found)
            yield workload.name, command.name, words or _equal(found[0])


def _equal(found: tuple[int, Values]) -> str:
    code, values = found
    return f"equal: {values.total():,} numbers" + (f", exit code {code}" if code else "")


def main(arguments: list[str] | None = None) -> int:
    """Print a row for each workload and command; 1 where anything differs."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.compare_checkouts",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", type=Path, metavar="OLD_ROOT")
    parser.add_argument("new", type=Path, metavar="NEW_ROOT")
    parser.add_argument("--old-python", default=sys.executable)
    parser.add_argument("--new-python", default=sys.executable)
    parser.add_argument("--only", action="append", default=[], help="this workload alone; repeatable")
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW", help="a key; repeatable")
    asked = parser.parse_args(arguments)
    renamed = RENAMED_KEYS | dict(each.split("=", 1) for each in asked.rename)
    chosen = [each for each in WORKLOADS if not asked.only or each.name in asked.only]
    differs = 0
    print("| workload | command | result |\n| --- | --- | --- |", flush=True)
    with tempfile.TemporaryDirectory() as name:
        old = Checkout(asked.old.resolve(), asked.old_python, Path(name, "old"), renamed)
        new = Checkout(asked.new.resolve(), asked.new_python, Path(name, "new"), renamed)
        for workload, command, words in compared(old, new, chosen):
            equal = words.startswith("equal")
            differs += not equal
            print(f"| {workload} | {command} | {words if equal else f'DIFFERS: {words}'} |", flush=True)
    print(f"\n{differs} differences")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
