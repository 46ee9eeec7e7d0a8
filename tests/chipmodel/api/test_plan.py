"""``plan``, ``check``, ``smallest_memory`` and ``export``: the command line's answers, as values."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import chipmodel as cm
from chipmodel.api.export import FORMATS
from chipmodel.pipeline.choices import ExportFormat
from tests.support.command_line import Call

TINY = "zoo:ds_cnn"
TWO_OPS = b"""
name: two
inputs: {x: [1, 64]}
ops:
  - {op: dense, features: 32}
  - {op: dense, features: 8}
"""


@pytest.fixture(scope="module")
def planned() -> cm.ProgramPlan:
    return cm.plan(TINY, cm.chip("luna-arcs", shared_memory__bytes="24KiB"), streamer="ping-pong")


def test_its_buffers_are_a_table(planned: cm.ProgramPlan) -> None:
    rows = planned.rows()
    assert max(int(str(row["offset"])) + int(str(row["bytes"])) for row in rows) == planned.peak_bytes
    assert [row["buffer"] for row in rows] == [each["name"] for each in planned.to_dict()["buffers"]]


def test_a_plan_is_checked_as_a_value_as_a_document_and_as_a_file(
    planned: cm.ProgramPlan, tmp_path: Path
) -> None:
    planned.write(tmp_path / "plan.json")
    for plan in (planned, planned.to_dict(), tmp_path / "plan.json"):
        found = cm.check(plan, TINY, execute=plan is planned)
        assert found.correct, found.faults
    assert cm.check(planned, TINY, chip="luna-arcs").correct


@pytest.mark.slow
def test_a_bound_on_plans_without_cascades_is_named_by_what_it_rests_on() -> None:
    """Outputs in place by rows are in no cascade, but the order of ops is all that it needs."""
    planned = cm.plan("zoo:ds_cnn", chip="alif-e7")
    assert "cycles (plans whose ops run one after another)" in cm.check(planned, "zoo:ds_cnn").headline()


def test_a_wrong_plan_has_faults(planned: cm.ProgramPlan) -> None:
    document = planned.to_dict()
    document["buffers"][0]["offset"] += document["alignment"]
    found = cm.check(document, TINY)
    assert not found.correct
    assert found.headline().startswith("wrong: ")
    assert found.to_dict()["faults"] == list(found.faults)
    other = cm.check(planned, TINY, chip=cm.chip("luna-arcs", shared_memory__bytes="32KiB"))
    assert "not for luna-arcs with shared_memory.bytes=32KiB" in other.faults[0]


def test_a_chip_without_a_file_is_known_from_the_plan_itself() -> None:
    mine = cm.chip({"base": "luna-arcs", "name": "mine", "shared_memory": {"bytes": "32KiB"}})
    planned = cm.plan(TINY, mine, streamer="sync")
    assert cm.check(planned, TINY).correct
    assert cm.check(json.loads(planned.to_json()), TINY, chip=mine).correct
    smaller = cm.chip({"base": "luna-arcs", "name": "mine", "shared_memory": {"bytes": "30KiB"}})
    assert not cm.check(planned, TINY, chip=smaller).correct


def test_the_smallest_memory_is_a_front() -> None:
    found = cm.smallest_memory(cm.load(TWO_OPS, name="two.yaml"), points=2)
    assert found.smallest_bytes <= found.smallest_bytes_layer_by_layer
    rows = found.rows()
    assert [row["shared_memory_bytes"] for row in rows] == [
        point.shared_memory_bytes for point in found.answer.front
    ]
    assert rows[0]["shared_memory_bytes"] == found.smallest_bytes
    assert found.headline() in repr(found)


def test_a_workload_too_large_for_any_plan_is_an_error_and_one_for_this_chip_an_answer() -> None:
    program = cm.load(TINY)
    tiny = cm.chip("luna-arcs", shared_memory__bytes="1KiB")
    with pytest.raises(cm.DoesNotFit):
        cm.plan(replace(program, name="net"), tiny, spill=False, streamer="sync")


NETWORK = "zoo:ds_cnn"


@pytest.fixture(scope="module")
def run() -> cm.Simulation:
    return cm.simulate(NETWORK)


@pytest.mark.parametrize("format_", FORMATS)
def test_it_writes_what_the_command_does(
    format_: ExportFormat, run: cm.Simulation, tmp_path: Path, call: Call
) -> None:
    plan, result, out, mine = (tmp_path / name for name in ("plan.json", "result.json", "out", "mine"))
    run.write_plan(plan)
    result.write_text(run.to_json())
    source = result if format_ in ("csv", "parquet") else plan
    workload = NETWORK if format_ == "c" else None
    to = (NETWORK, "--folder") if workload else ("-o",)
    code, said, _ = call("export", str(source), *to[:-1], "--as", format_, to[-1], str(out))
    made = cm.export(run, format_, workload=workload)
    made.write(mine)
    assert code == 0
    assert contents(mine) == contents(out)
    assert said == ""
    assert cm.export(source, format_, workload=workload) == made


def contents(path: Path) -> dict[str, bytes]:
    """A file, or the files of a folder."""
    files = path.iterdir() if path.is_dir() else (path,)
    return {file.name if path.is_dir() else "": file.read_bytes() for file in files}
