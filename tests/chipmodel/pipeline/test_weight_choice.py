"""What the planner decides with little memory: weights read in place, outputs in place by rows."""

from dataclasses import replace
from pathlib import Path

import pytest

import chipmodel
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.pipeline.weight_choice import with_chosen_weights
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.weights_in_place import in_place_ops
from chipmodel.verify.plan_file import verify_file
from solvers.core.deadline import Deadline
from workloads.load import load

NETWORK = "zoo:ds_cnn"
SMALL = "shared_memory.bytes=16KiB"


def request(*settings: str, streamer: str = "ping-pong") -> PlanRequest:
    chip = load_chip("alif-e7", (SMALL, *settings))
    return PlanRequest(reuse(load(NETWORK), "all"), chip, streamer=streamer)


def test_no_choice_is_worse_than_all_or_none() -> None:
    cycles = {
        wish: run(request(f"weights.in_place={wish}"), {}).trace.cycles
        for wish in ("no", "allowed", "always")
    }
    assert cycles["allowed"] <= min(cycles.values())
    assert cycles["allowed"] < 0.5 * cycles["no"]


def test_a_chip_without_a_choice_is_not_planned_to_choose() -> None:
    def never(_: PlanRequest) -> tuple[bool, int]:
        raise AssertionError("planned")

    assert with_chosen_weights(request("weights.in_place=no"), never) == request("weights.in_place=no")
    always = with_chosen_weights(request("weights.in_place=always"), never)
    assert len(in_place_ops(always.program)) == 10
    assert with_chosen_weights(always, never) is not None


@pytest.mark.parametrize("best", range(3))
@pytest.mark.parametrize("over", [False, True])
def test_the_least_rank_of_three_groups_is_kept_and_after_the_deadline_the_first(
    best: int, over: bool
) -> None:
    """None, all, and those that take no longer for it."""
    seen: list[int] = []

    def rank(tried: PlanRequest) -> tuple[bool, int]:
        seen.append(len(in_place_ops(tried.program)))
        return False, abs(len(seen) - 1 - best)

    said: list[str] = []
    deadline = Deadline(0 if over else None, lambda: 1, said.append)
    chosen = with_chosen_weights(request("weights.in_place=allowed").until(deadline), rank)
    assert len(in_place_ops(chosen.program)) == (0 if over else seen[best])
    assert seen[:2] == ([0] if over else [0, 10])
    assert len(set(seen)) == len(seen) == (1 if over else 3)
    assert bool(said) == over
    assert chosen.deadline == deadline


@pytest.mark.slow
@pytest.mark.parametrize("wish", ["allowed", "always"])
@pytest.mark.parametrize("cores", [1, 2])
def test_plans_pass_the_check_from_their_file(tmp_path: Path, wish: str, cores: int) -> None:
    chip = chipmodel.chip("alif-e7", shared_memory__bytes="16KiB", weights__in_place=wish, cores=cores)
    made = chipmodel.simulate(NETWORK, chip, streamer="ping-pong")
    assert made.cycles >= made.bound.cycles
    file = tmp_path / "plan.json"
    made.write_plan(file)
    verdict = chipmodel.check(file, NETWORK, execute=True)
    assert verdict.correct, verdict.headline()
    assert made.to_dict()["weights_in_place"] == list(in_place_ops(made.program)) != []


def test_a_plan_is_wrong_for_a_chip_that_cannot_read_in_place() -> None:
    result = run(request("weights.in_place=allowed"), {})
    plan = plan_of(result, "alif-e7", (SMALL,))
    faults = verify_file(request().program, plan, request().chip)
    assert any("in place" in fault for fault in faults)


CHIP = load_chip("alif-e7")


def request_of_rows(size: int, streamer: str = "weight-pipeline") -> PlanRequest:
    program = reuse(load("zoo:ds_cnn"), "all")
    return PlanRequest(program, CHIP.with_memory(size), streamer=streamer, cascade="auto")


def cycles(asked: PlanRequest) -> int:
    return simulate(plan(asked).commands, asked.chip, {}).cycles


@pytest.mark.parametrize("change", [{"rows_in_place": False}, {"cascade": "off"}])
def test_it_is_an_option(change: dict[str, object]) -> None:
    asked = replace(request_of_rows(16 << 10), **change)  # type: ignore[arg-type]
    assert not plan(asked).schedule.in_rows


def test_nothing_changes_where_there_is_room() -> None:
    asked = request_of_rows(32 << 10)
    assert plan(asked).commands == plan(replace(asked, rows_in_place=False)).commands
