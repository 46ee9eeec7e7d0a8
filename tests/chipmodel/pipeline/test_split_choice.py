"""Plans with ops split over cores: faster than one core, never below the bound, and checked as a whole."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import chipmodel as cm
from chipmodel.errors import DoesNotFit
from chipmodel.model.core_parts import CoreSplit
from chipmodel.model.program import Program
from chipmodel.pipeline import multicore
from chipmodel.pipeline.multicore import plan_cores, run_cores
from chipmodel.pipeline.partition import balanced
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.split_choice import split_candidates, split_program
from chipmodel.rewrites.core_split import split_over_cores
from chipmodel.rewrites.in_place import reuse
from dma.residency.fitted import fitted


def program(network: str) -> Program:
    return reuse(cm.load(network), "all")


@pytest.fixture(scope="module")
def simulation() -> cm.Simulation:
    return cm.simulate(
        "zoo:ds_cnn", cm.chip("luna-arcs", cores=2), packer="large-first", streamer="prefetch-greedy"
    )


def test_two_cores_share_the_convolutions_of_ds_cnn(simulation: cm.Simulation) -> None:
    result = simulation.result
    assert result.split is not None
    assert result.one_core_cycles is not None
    assert result.trace.cycles <= 0.7 * result.one_core_cycles
    assert result.bound.cycles <= result.trace.cycles
    assert any("9 ops are split over cores in bands of rows" in each for each in result.notes)


def test_whole_ops_are_kept_where_a_request_says_so() -> None:
    request = PlanRequest(
        program("zoo:ds_cnn"), cm.chip("luna-arcs", cores=2), "large-first", "prefetch-greedy"
    )
    found = run_cores(replace(request, split_ops=False), {})
    assert found.split is None
    assert found.trace.cycles == found.one_core_cycles


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "chip", "size", "streamer"),
    [("resnet8", "alif-e7", 4 << 20, "auto"), ("ds_cnn", "alif-e7", 16 << 10, "weight-pipeline")],
    ids=["fits", "with rows in place"],
)
def test_a_second_core_never_costs_cycles(
    network: str, chip: str, size: int, streamer: str, tmp_path: Path
) -> None:
    """Nothing is split here, and what one core alone can do is done on one of two."""
    one, two = (cm.chip(chip, cores=cores, shared_memory__bytes=size) for cores in (1, 2))
    alone, beside = (cm.simulate(f"zoo:{network}", each, streamer=streamer) for each in (one, two))
    assert beside.result.trace.cycles == alone.result.trace.cycles == beside.result.one_core_cycles
    beside.write_plan(tmp_path / "plan.json")
    assert cm.check(tmp_path / "plan.json", f"zoo:{network}", chip=two).correct


def test_a_plan_file_names_the_split_and_is_checked_with_it(
    simulation: cm.Simulation, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    simulation.write_plan(path)
    found = cm.check(path, "zoo:ds_cnn", execute=True)
    assert found.correct
    plan = json.loads(path.read_text())
    assert {each["by"] for each in plan["split"]["ops"]} == {"rows"}
    for change in ({"cores": 3}, {"op": "nobody"}, {"by": "channels"}):
        broken = {**plan, "split": {**plan["split"], "ops": [*plan["split"]["ops"]]}}
        broken["split"]["ops"][1] = {**broken["split"]["ops"][1], **change}
        path.write_text(json.dumps(broken))
        assert not cm.check(path, "zoo:ds_cnn").correct, change
    path.write_text(json.dumps({key: each for key, each in plan.items() if key != "split"}))
    assert not cm.check(path, "zoo:ds_cnn").correct


@pytest.mark.slow
def test_tensors_of_two_cores_share_bytes_of_a_small_psram(tmp_path: Path) -> None:
    """Side by side the tensors and weights of each of its splits take more than 88,000 B."""
    chip = cm.chip("luna-arcs", cores=2, psram__bytes=86_000)
    found = cm.simulate("zoo:resnet8", chip, packer="large-first", streamer="prefetch-greedy")
    assert found.result.split is not None
    assert found.result.fits
    found.write_plan(tmp_path / "plan.json")
    assert cm.check(tmp_path / "plan.json", "zoo:resnet8", execute=True).correct


@pytest.mark.parametrize("network", ["zoo:resnet8", "zoo:autoencoder"])
def test_candidates_are_programs_of_their_splits(network: str) -> None:
    whole, chip = program(network), cm.chip("esp32s3", cores=4)
    for split, made in split_candidates(whole, chip):
        assert split_program(whole, split, chip) == made
        assert max(op.core or 0 for op in made.ops()) < 4


@pytest.mark.slow
def test_a_join_that_does_not_fit_is_cut_finer() -> None:
    """Rows of SqueezeNet that one core joins are more than its SharedMemory."""
    whole, chip = program("zoo:squeezenet"), cm.chip("luna-arcs", cores=4)
    split, made = split_candidates(whole, chip)[0]
    request = PlanRequest(made, chip, "large-first", "prefetch-greedy")
    plans = plan_cores(request, balanced(made, chip))
    assert max(plan.solved.peak for plan in plans) <= chip.shared_memory.bytes
    uncut = split_over_cores(whole, split)
    with pytest.raises(DoesNotFit):
        plan_cores(replace(request, program=uncut), balanced(uncut, chip))


@pytest.mark.slow
def test_a_join_that_could_lie_in_place_is_cut_where_no_plan_has_it_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chip = cm.chip("luna-arcs", cores=2, shared_memory__bytes="16KiB")
    whole = fitted(program("zoo:resnet8"), chip)
    first = split_candidates(whole, chip)[:1]

    def only(*_: object) -> list[tuple[CoreSplit, Program]]:
        return first

    made = first[0][1]
    request = PlanRequest(whole, chip, "large-first", "prefetch-greedy")
    with pytest.raises(DoesNotFit, match="join"):
        plan_cores(replace(request, program=made), balanced(made, chip))
    monkeypatch.setattr(multicore, "split_candidates", only)
    assert run_cores(request, {}).split is not None
