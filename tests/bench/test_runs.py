"""Benchmarks start, run as their docstrings say, and believe no packer."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

import bench
from bench.study_throughput import STUDY, measured
from chipmodel.studies.points import tasks_of
from chipmodel.studies.study_file import parse_study
from tests.bench.command import printed
from workloads.packing.guillotine import guillotine_with_plan

OPTIONAL = {"torch", "executorch", "ethosu"}
"""What the benchmark of another tool needs, and the tests do not install."""


@pytest.mark.parametrize("name", sorted(path.stem for path in Path(bench.__file__).parent.glob("[a-z]*.py")))
def test_a_benchmark_imports_what_there_is(name: str) -> None:
    try:
        import_module(f"bench.{name}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in OPTIONAL:
            raise


def test_every_point_is_answered_and_stored(tmp_path: Path) -> None:
    tasks = tasks_of(parse_study(STUDY, tmp_path / "study.yaml"))
    assert measured(tasks[:2], 1, tmp_path).rows == 2


GUILLOTINE = ("bench.packing", "guillotine", "--sizes", "6", "--repeat", "1")
PEER = """#!{python}
import json, sys
offsets = {offsets}
answer = {{"status": "optimal", "seconds": 1.0, "first": 1.0, "bound": 1 << 20, "offsets": offsets}}
answer |= {{
    "right": {{}},
    "collided": {{"offsets": dict.fromkeys(offsets, 0)}},
    "bound": {{"bound": (1 << 20) + 1}},
    "infeasible": {{"status": "infeasible", "offsets": None}},
}}[sys.argv[2]]
print(json.dumps({{"ready": 0.0}}), flush=True)
for _ in sys.stdin:
    print(json.dumps(answer), flush=True)
"""
"""A program that is called like a Python with omnimalloc, and gives one answer, right or wrong."""


def cells(text: str, start: str) -> list[list[str]]:
    rows = [line for line in text.splitlines() if line.startswith(f"| {start}")]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows]


def test_it_prints_a_row_for_each_instance_and_packer() -> None:
    asked = ("--seeds", "2", "--packers", "large-first,naive")
    rows = cells(printed(*GUILLOTINE, *asked), "guillotine")
    assert len(rows) == 4
    assert rows[-1][:6] == ["guillotine 6/1", "6", "1,048,576", "naive", "unknown", "0/1"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "status", "fits", "peak"),
    [
        ("right", "optimal", "1/1", "1,048,576"),
        ("collided", "WRONG PLAN", "0/1", "-"),
        ("bound", "WRONG CLAIM", "1/1", "1,048,576"),
        ("infeasible", "WRONG CLAIM", "1/1", "-"),
    ],
)
def test_an_answer_is_checked(tmp_path: Path, answer: str, status: str, fits: str, peak: str) -> None:
    _, plan = guillotine_with_plan(6, 0)
    peer = tmp_path / "peer"
    peer.write_text(PEER.format(python=sys.executable, offsets=dict(plan.offsets)))
    peer.chmod(0o755)
    asked = ("--seeds", "1", "--packers", f"omnimalloc:{answer}", "--peer-python", str(peer))
    (row,) = cells(printed(*GUILLOTINE, *asked), "guillotine")
    assert (row[4], row[5], row[8]) == (status, fits, peak)
