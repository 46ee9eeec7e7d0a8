import csv
import json
from dataclasses import replace
from typing import Any

from chipmodel.api.export import minimalloc_csv
from chipmodel.geometry.interval import Interval
from chipmodel.model.plan import Plan
from reports.export.layout import layout_of
from reports.export.tables import ops_csv
from reports.result_file import read_result
from reports.run.document import document
from tests.reports.plan_files import BUFFERS, plan
from tests.reports.sample import sample
from tests.support.plain_check import check
from workloads.packing.problem_csv import parse_packing


def test_the_csv_is_the_plans_problem() -> None:
    table = parse_packing(minimalloc_csv(layout_of(plan(), "p")), "f.csv", 256)
    assert [(b.name, b.bytes, b.live) for b in table.problem.buffers] == [
        (b.name, b.bytes, b.live) for b in BUFFERS
    ]
    assert {b.alignment for b in table.problem.buffers} == {16}
    assert table.hints == {b.name: b.offset for b in BUFFERS}
    assert check(table.problem, Plan(table.hints)) == ()


def test_columns_without_information_are_left_out() -> None:
    made = replace(plan(), alignment=1, buffers=BUFFERS[:2], peak_bytes=128)
    lines = minimalloc_csv(layout_of(made, "p")).splitlines()
    assert lines[0] == "id,lower,upper,size,offset"
    assert lines[1] == "x,0,1,64,0"
    holes = replace(BUFFERS[0], live=(Interval(0, 1), Interval(4, 6), Interval(8, 9)))
    made = replace(plan(), buffers=(holes,), peak_bytes=64)
    assert minimalloc_csv(layout_of(made, "p")).splitlines()[1] == "x,0,9,64,16,1-4 6-8,0"


def test_a_name_is_no_formula() -> None:
    made = replace(plan(), buffers=(replace(BUFFERS[0], name="=1+1"),), peak_bytes=64)
    assert minimalloc_csv(layout_of(made, "p")).splitlines()[1].startswith("'=1+1,")


def rows(change: dict[str, Any] | None = None) -> list[dict[str, str]]:
    made: dict[str, Any] = json.loads(json.dumps(document(sample()))) | (change or {})
    answer = read_result(json.dumps(made), "a.json")
    return list(csv.DictReader(ops_csv(answer).splitlines()))


def test_every_number_of_every_op_is_in_the_table() -> None:
    made = document(sample())
    ops: Any = made["ops"]
    found = rows()
    for op, row in zip(ops, found, strict=True):
        assert row["op"] == op["name"]
        for key in (
            "kind",
            "runs",
            "steps",
            "macs",
            "compute_cycles",
            "stall_cycles",
            "loaded_bytes",
            "stored_bytes",
        ):
            assert row[key] == str(op[key])
        for cause in ("weights", "input", "output"):
            assert row[f"{cause}_cycles"] == str(op["stalls"].get(cause, 0))
    assert "core" not in found[0]
    assert "finished_cycles" not in found[0]
