"""Ops whose operands do not fit are cut finer: they run, and the plan computes what the network does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from chipmodel.api.check import check
from chipmodel.errors import DoesNotFit
from chipmodel.execute.check import PlanRun, check_paths, describe_stand_ins
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.reference import reference
from chipmodel.execute.weights import random_inputs, random_weights
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.program import Program
from chipmodel.passes.lower import lower
from chipmodel.pipeline.plan_export import plan_text
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.commands import verify
from dma.residency.fitted import FINER_SHARES, fitted, least_part
from tests.support.chips import LUNA_LIKE
from tests.support.large_operands import CUT, REWRITTEN, SEQUENCES, SMALL, WIDE, LargeOp
from tests.support.true_parts import check_part
from tests.workloads.from_onnx.support_models import load, model, node
from workloads.build.builder import ProgramBuilder
from workloads.load import load as load_workload

CAPACITY = SMALL.shared_memory.bytes


def check_plan(program: Program) -> None:
    """Plan ``program`` on the small chip, and check the plan, its bytes and the bound on its cycles."""
    program = reuse(fitted(program, SMALL), "all")
    result = run(PlanRequest(program, SMALL, streamer="ping-pong"))
    commands = lower(result.schedule, result.solved.plan)
    assert result.solved.peak <= CAPACITY
    assert verify(program, commands, SMALL) == ()
    assert result.bound is not None
    assert result.bound.cycles <= result.trace.cycles
    (verdict,) = check_paths(PlanRun(program, (commands,), CAPACITY, ()), {}, 0)
    assert verdict.faults == ()


@pytest.mark.parametrize("large", [*CUT, *REWRITTEN], ids=lambda each: each.name)
def test_a_large_op_runs_and_its_plan_is_right(large: LargeOp, tmp_path: Path) -> None:
    program = load(tmp_path, large.make())
    assert any(least_part(program, op) > CAPACITY for op in program.ops())
    check_plan(program)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("deep", ["8 ops (conv 'Conv_0.sum0'): sums of pieces"]),
        ("unknown", ["1 op (wobble 'Wobble_0'): a fixed function"]),
        ("softmax of a long row", ["3 ops (softmax_statistics 'Softmax_0.statistics', "]),
        ("wide image", []),
        ("two directions", []),
    ],
)
def test_what_is_not_computed_as_the_network_does_is_named(
    name: str, said: list[str], tmp_path: Path
) -> None:
    (large,) = (each for each in REWRITTEN if each.name == name)
    program = reuse(fitted(load(tmp_path, large.make()), SMALL), "all")
    result = run(PlanRequest(program, SMALL, streamer="sync"))
    commands = lower(result.schedule, result.solved.plan)
    runs = check_paths(PlanRun(program, (commands,), CAPACITY, ()), {}, 0)
    notes = describe_stand_ins(program, runs)
    assert len(notes) == len(said)
    assert all(note.startswith(text) for note, text in zip(notes, said, strict=True))


@pytest.mark.parametrize("large", CUT, ids=lambda each: each.name)
def test_parts_of_a_finer_cut_are_true(large: LargeOp, tmp_path: Path) -> None:
    before = load(tmp_path, large.make())
    after = fitted(before, SMALL)
    known = set(before.ops())
    for op in after.ops():
        if op not in known:
            for seed in range(4):
                check_part(after, op, seed)


@pytest.mark.parametrize("large", [*WIDE, *SEQUENCES], ids=lambda each: each.name)
def test_several_ops_compute_what_the_one_does(large: LargeOp, tmp_path: Path) -> None:
    before = load(tmp_path, large.make())
    after = fitted(before, SMALL)
    assert len(list(after.ops())) > len(list(before.ops()))
    inputs, weights = random_inputs(before, 0), random_weights(before, 0)
    for name in set(after.weights) - set(weights):  # those of one direction
        both = weights[name.removesuffix(".forward").removesuffix(".backward")].reshape(2, -1)
        weights[name] = both[int(name.endswith(".backward"))]
    assert sum(each.bytes for each in after.weights.values()) == sum(
        map(len, random_weights(before).values())
    )
    wanted, found = (reference(each, inputs, weights, {}, evaluate).tensors for each in (before, after))
    for name in before.outputs:
        assert np.array_equal(found[name], wanted[name])


def test_what_fits_stays_as_it_is(tmp_path: Path) -> None:
    program = load(tmp_path, CUT[0].make())
    assert fitted(program, LUNA_LIKE) is program


def test_a_plan_with_ops_cut_finer_than_need_be_is_checked_as_such(tmp_path: Path) -> None:
    made = node("Transpose", "x", "y", perm=[1, 0])
    path = tmp_path / "half.onnx"
    path.write_bytes(model([made], {"x": [60, 60]}, "y").SerializeToString())
    overrides = (f"shared_memory.bytes={CAPACITY}",)
    chip = load_chip("luna-arcs", overrides)
    program = reuse(load_workload(str(path)), "all")
    assert fitted(program, chip) is program
    finer = fitted(program, chip, FINER_SHARES[0])
    assert max(least_part(finer, op) for op in finer.ops()) <= CAPACITY // 2
    plan = plan_text(run(PlanRequest(finer, chip, streamer="sync")), "luna-arcs", overrides)
    (tmp_path / "plan.json").write_text(plan)
    assert check(tmp_path / "plan.json", path, execute=True).correct


def test_an_op_that_has_been_replaced_once_is_not_replaced_by_others_of_the_same_name(tmp_path: Path) -> None:
    (large,) = (each for each in REWRITTEN if each.name == "mean of all")
    chip = replace(SMALL, shared_memory=replace(SMALL.shared_memory, bytes=1024))
    program = fitted(load(tmp_path, large.make()), chip)
    assert len({op.name for op in program.ops()}) == len(list(program.ops()))
    with pytest.raises(DoesNotFit):
        run(PlanRequest(program, chip, streamer="sync"))


def test_an_op_with_more_rows_than_can_be_counted_stays_and_does_not_fit() -> None:
    builder = ProgramBuilder("enormous")
    builder.elementwise("relu", "y", [builder.input("x", (1 << 63, 2))])
    program = builder.build()
    assert fitted(program, SMALL) is program
    with pytest.raises(DoesNotFit):
        run(PlanRequest(program, SMALL, streamer="sync"))
