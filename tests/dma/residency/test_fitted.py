"""Ops whose operands do not fit are cut finer: they run, and the plan computes what the network does."""

from dataclasses import replace
from pathlib import Path

import pytest

from chipmodel.api.check import check
from chipmodel.errors import DoesNotFit
from chipmodel.execute.check import PlanRun, check_paths
from chipmodel.hardware.chip_file import load_chip
from chipmodel.model.attributes import AlongAxis, SliceRanges
from chipmodel.model.program import Program
from chipmodel.model.work import Recurrent, Vector
from chipmodel.passes.lower import lower
from chipmodel.pipeline.plan_export import plan_text
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.commands import verify
from dma.residency.fitted import FINER_SHARES, fitted, least_part
from tests.support.chips import LUNA_LIKE
from tests.support.large_operands import CUT, REWRITTEN, SEQUENCES, SMALL, LargeOp
from tests.support.onnx_oracle import check_reads
from tests.support.small_networks import small_network
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "large",
    [each for each in (*CUT, *REWRITTEN) if each.name != "two wide images"],
    ids=lambda each: each.name,
)
def test_a_large_op_runs_and_its_plan_is_right(large: LargeOp, tmp_path: Path) -> None:
    program = load(tmp_path, large.make())
    assert any(least_part(program, op) > CAPACITY for op in program.ops())
    check_plan(program)


@pytest.mark.slow
@pytest.mark.parametrize("large", CUT, ids=lambda each: each.name)
def test_parts_of_a_finer_cut_depend_on_what_they_read(large: LargeOp, tmp_path: Path) -> None:
    made = large.make()
    before = load(tmp_path, made)
    known = set(before.ops())
    for op in (after := fitted(before, SMALL)).ops():
        if op not in known:
            check_reads(made, after, op, 0)


@pytest.mark.parametrize("large", SEQUENCES, ids=lambda each: each.name)
def test_long_sequences_run_direction_by_direction(large: LargeOp, tmp_path: Path) -> None:
    before = load(tmp_path, large.make())
    (whole,) = before.ops()
    assert isinstance(whole.work, Recurrent)
    after = fitted(before, SMALL)
    directions = whole.work.directions
    layers = [(op.work, op.outputs[0]) for op in after.ops() if isinstance(op.work, Recurrent)]
    assert [(w.backward, w.steps, w.directions) for w, _ in layers] == [(False, 500, 1), (True, 500, 1)][
        :directions
    ]
    sequences = [name for _, name in layers]
    sizes = [sum(weight.bytes for weight in each.weights.values()) for each in (before, after)]
    assert sizes[0] == sizes[1]
    for op in after.ops():
        match op.work:
            case Vector(attributes=SliceRanges(starts)) if op.inputs[0] in sequences:
                # The backward layer ends at time step 0.
                assert starts[0] == (0 if sequences.index(op.inputs[0]) else 499)
            case Vector(attributes=attributes) if op.kind == "concat":
                assert attributes == AlongAxis(1, directions)
            case _:
                pass


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


def test_a_dense_layer_of_an_image_needs_no_copy_of_it() -> None:
    """Its weights lie in the order of the image, so pieces of that are pieces of its only row."""
    program = small_network("fitted flat")
    assert [op.kind for op in fitted(program, SMALL).ops()][-1] == "add"
    assert "transpose" not in [op.kind for op in fitted(program, SMALL).ops()]
    check_plan(program)


def test_an_op_with_more_rows_than_can_be_counted_stays_and_does_not_fit() -> None:
    builder = ProgramBuilder("enormous")
    builder.elementwise("relu", "y", [builder.input("x", (1 << 63, 2))])
    program = builder.build()
    assert fitted(program, SMALL) is program
    with pytest.raises(DoesNotFit):
        run(PlanRequest(program, SMALL, streamer="sync"))
