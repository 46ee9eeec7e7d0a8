"""Where a plan has no room next to large ops, these are cut finer: by every command alike."""

from dataclasses import replace
from pathlib import Path

import pytest

import chipmodel
from chipmodel.errors import DoesNotFit, TooManyParts
from chipmodel.hardware.chip import Chip
from chipmodel.model.program import Program
from chipmodel.pipeline.finer_cuts import finer_programs
from chipmodel.pipeline.plan import plan_as_cut
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from dma.residency.fitted import fitted, least_part
from tests.support.chips import LUNA_LIKE
from tests.support.large_operands import CUT
from workloads.load import load

CHIP = replace(LUNA_LIKE, shared_memory=replace(LUNA_LIKE.shared_memory, bytes=16384))


@pytest.fixture
def anchors(tmp_path: Path) -> Path:
    """The heads of a RetinaNet, of which one op takes nearly all of 16 KiB."""
    path = tmp_path / "anchors.onnx"
    (made,) = (each for each in CUT if each.name == "anchors")
    path.write_bytes(made.make().SerializeToString())
    return path


def test_as_it_is_cut_it_does_not_fit(anchors: Path) -> None:
    request = PlanRequest(load(str(anchors)), CHIP, streamer="sync")
    with pytest.raises(DoesNotFit):
        plan_as_cut(request, {})
    with pytest.raises(DoesNotFit):
        run(replace(request, spill=False))
    found = run(request)
    assert found.fits
    assert found.program in tuple(finer_programs(request.program, CHIP))


@pytest.mark.parametrize("cores", [1, 2])
def test_plans_of_every_kind_pass_check(cores: int, anchors: Path) -> None:
    chip = chipmodel.chip("luna-arcs", shared_memory__bytes=16384, cores=cores)
    made = chipmodel.simulate(anchors, chip, streamer="sync", cascade="off")
    answers: list[chipmodel.Simulation | chipmodel.ProgramPlan] = [made]
    if cores == 1:
        answers.append(chipmodel.plan(anchors, chip, streamer="sync", cascade="off"))
    for answer in answers:
        assert answer.fits
        assert chipmodel.check(answer, anchors, execute=True).correct


def test_streamers_are_compared_with_it(anchors: Path) -> None:
    chip = chipmodel.chip("luna-arcs", shared_memory__bytes=16384)
    found = chipmodel.compare(anchors, chip, packers=["large-first"], streamers=["sync"])
    (row,) = found.result.streamed
    assert row.fits


def test_an_op_is_cut_where_its_operands_do_not_fit_side_by_side() -> None:
    """The autoencoder's first op needs 640 B, 644 B and 1 B: with offsets of 16 B that is 1,297 B."""
    program = reuse(load("zoo:autoencoder"), "all")
    chips = [chipmodel.chip("alif-e7", shared_memory__bytes=size) for size in (1296, 1312)]
    assert least_part(program, next(program.ops()), 16) == 1297
    assert [fitted(program, chip) is program for chip in chips] == [False, True]
    assert all(run(PlanRequest(program, chip, streamer="sync", cascade="off")).fits for chip in chips)


def test_ops_in_too_many_parts_are_not_cut_finer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dma.schedule.build.MAX_PARTS", 1)

    def cut_finer(program: Program, chip: Chip) -> None:
        pytest.fail(f"{program.name} is cut finer")

    monkeypatch.setattr("chipmodel.pipeline.finer_cuts.finer_programs", cut_finer)
    with pytest.raises(TooManyParts, match="ops would run in more than 1 parts"):
        run(PlanRequest(load("zoo:resnet8"), CHIP, streamer="sync"))
