"""Which ops read their weights in place, where the planner chooses."""

from pathlib import Path

import pytest

import chipmodel
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.plan import choose_weights
from chipmodel.pipeline.plan_export import plan_of
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.pipeline.weight_choice import MOST_PLANS, Judged, with_chosen_weights
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.weights_in_place import in_place_ops
from chipmodel.verify.plan_file import verify_file
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
    def never(_: PlanRequest) -> int:
        raise AssertionError("planned")

    def judge(_: PlanRequest, __: int) -> Judged:
        raise AssertionError("judged")

    assert with_chosen_weights(request("weights.in_place=no"), never, judge) == request("weights.in_place=no")
    always = with_chosen_weights(request("weights.in_place=always"), never, judge)
    assert len(in_place_ops(always.program)) == 10
    assert with_chosen_weights(always, never, judge) is not None


def test_few_plans_are_tried_and_the_best_is_kept() -> None:
    asked = request("weights.in_place=allowed")
    seen: list[frozenset[str]] = []
    trace = run(asked.with_sync(), {}).trace

    def make(tried: PlanRequest) -> frozenset[str]:
        seen.append(frozenset(in_place_ops(tried.program)))
        return seen[-1]

    def judge(_: PlanRequest, group: frozenset[str]) -> Judged:
        return Judged((False, abs(len(group) - 10) + 1), trace, ())

    chosen = with_chosen_weights(asked, make, judge)
    assert len(in_place_ops(chosen.program)) == 10
    assert len(seen) == len(set(seen)) <= MOST_PLANS


def test_the_choice_of_a_quick_streamer_is_made_with_its_own_plans() -> None:
    chosen = choose_weights(request("weights.in_place=allowed"), {})
    assert in_place_ops(chosen.program)
    again = choose_weights(request("weights.in_place=allowed"), {})
    assert chosen == again


@pytest.mark.parametrize("wish", ["allowed", "always"])
@pytest.mark.parametrize("cores", [1, 2])
def test_plans_pass_the_check_from_their_file(tmp_path: Path, wish: str, cores: int) -> None:
    chip = chipmodel.chip("alif-e7", shared_memory__bytes="24KiB", weights__in_place=wish, cores=cores)
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


def test_the_least_memory_needs_no_room_for_weights() -> None:
    chips = (chipmodel.chip("alif-e7", weights__in_place=wish) for wish in ("no", "allowed"))
    loaded, in_place = (smallest(chip) for chip in chips)
    assert in_place < loaded


def smallest(chip: chipmodel.Chip) -> int:
    front = chipmodel.smallest_memory("workloads/tiny_cnn.yaml", chip, points=1, streamer="sync")
    return front.smallest_bytes_layer_by_layer
