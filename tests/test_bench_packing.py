"""The packing benchmark runs as its docstring says, and believes no packer."""

from __future__ import annotations

import pytest

from bench.packing import Instance, checked, guillotine_instances, main, random_instances
from chipmodel.verify.offsets import check
from workloads.packing.guillotine import guillotine_with_plan


def test_it_prints_a_row_for_each_instance_and_packer(capsys: pytest.CaptureFixture[str]) -> None:
    main(["guillotine", "--sizes", "6", "--seeds", "2", "--packers", "large-first,naive", "--repeat", "1"])
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| guillotine 6/")]
    assert len(rows) == 4
    cells = [cell.strip() for cell in rows[-1].split("|")[1:-1]]
    assert cells[:5] == ["guillotine 6/1", "6", "1,048,576", "naive", "unknown"]
    assert cells[5] == "0/1"


def test_a_plan_that_is_wrong_or_a_claim_that_cannot_be_true_counts_for_nothing() -> None:
    problem, plan = guillotine_with_plan(12, 1)
    instance = next(guillotine_instances([12], 2))
    assert instance.problem.capacity is None
    instance = Instance("g", problem, 1 << 20, 1 << 20)
    good = {
        "status": "optimal",
        "seconds": 1.0,
        "first": 1.0,
        "bound": 1 << 20,
        "offsets": dict(plan.offsets),
    }
    assert checked(instance, good, 9).status == "optimal"
    assert checked(instance, good, 9).peak == 1 << 20
    collided = good | {"offsets": dict.fromkeys(plan.offsets, 0)}
    assert checked(instance, collided, 9).status == "WRONG PLAN"
    assert checked(instance, good | {"bound": (1 << 20) + 1}, 9).status == "WRONG CLAIM"
    assert checked(instance, good | {"status": "infeasible", "offsets": None}, 9).status == "WRONG CLAIM"
    assert checked(instance, None, 9).first is None
    assert check(problem, plan) == ()


def test_random_instances_are_the_same_every_time() -> None:
    assert list(random_instances([20], 2)) == list(random_instances([20], 2))
