"""Weights of a cascade that do not stay: what is loaded when, and into which buffer."""

from itertools import pairwise

import pytest

from chipmodel.cascades.rewrite import CascadeChoice, cascade_op, with_cascades
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.schedule import Schedule, Transfer, steps
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.verify.plan_file import verify_file
from tests.support.chips import LUNA_LIKE
from tests.support.small_networks import small_network

NAMES = ("expand", "depthwise", "project")
HEIGHTS = (1, 1, 4)
AGAIN = "expand..project weights loaded again"


PROGRAM = small_network("cascade_steps block")
SIZES = {op.name: PROGRAM.block_bytes(op) for op in PROGRAM.ops()}


def planned(reloaded: tuple[str, ...], streamer: str = "ping-pong", rolls: bool = True) -> Planned:
    choice = CascadeChoice(NAMES, HEIGHTS, rolls, reloaded)
    request = PlanRequest(PROGRAM, LUNA_LIKE, "large-first", streamer)
    return plan_in_rounds(request, None, with_cascades(PROGRAM, [choice]))


def loads(schedule: Schedule) -> list[Transfer]:
    return [transfer for transfer in schedule.transfers if transfer.part.weights]


def turns(schedule: Schedule, names: tuple[str, ...]) -> list[str]:
    """The ops among ``names`` in the order of their steps, each once as long as no other of them runs."""
    found = [step.op for step in steps(schedule.body) if step.op in names]
    return [op for index, op in enumerate(found) if index == 0 or found[index - 1] != op]


@pytest.mark.parametrize("rolls", [True, False])
@pytest.mark.parametrize("streamer", ["sync", "ping-pong", "prefetch-greedy", "weight-pipeline", "exact:5"])
def test_each_turn_loads_the_weights_again(streamer: str, rolls: bool) -> None:
    again = ("expand", "project")
    plan = planned(again, streamer, rolls)
    own = [load for load in loads(plan.schedule) if load.part.name in again]
    assert [load.part.name for load in sorted(own, key=lambda load: load.due)] == turns(plan.schedule, again)
    assert len(own) == 4  # two stripes of 4 rows, in each of which both have a turn
    assert {load.buffer for load in own} == {AGAIN}
    assert plan.schedule.buffers[AGAIN].bytes == max(SIZES["expand"], SIZES["project"])
    stays = [load.bytes for load in loads(plan.schedule) if load.part.name not in again]
    assert sum(stays) == SIZES["depthwise"]
    assert verify_file(PROGRAM, plan_of_planned(plan, LUNA_LIKE, "luna", ()), LUNA_LIKE) == ()


def test_a_load_is_issued_when_the_weights_before_it_are_not_needed_any_more() -> None:
    schedule = planned(("expand", "project")).schedule
    own = sorted((load for load in loads(schedule) if load.buffer == AGAIN), key=lambda load: load.due)
    listed = list(steps(schedule.body))
    for before, load in pairwise(own):
        last = max(s.position for s in listed if s.op == before.part.name and s.position < load.due)
        assert load.issue == last + 1
    assert any(load.issue < load.due for load in own), "one of them runs while depthwise computes"


def test_weights_that_have_the_buffer_alone_may_as_well_stay() -> None:
    with pytest.raises(ValueError, match="'expand' would be loaded only once"):
        planned(("expand",))


def test_the_cascade_keeps_the_weights_that_stay() -> None:
    ops = list(PROGRAM.ops())
    op = cascade_op(PROGRAM, ops, CascadeChoice(NAMES, HEIGHTS, True, ("expand", "project")))
    assert PROGRAM.block_bytes(op) == SIZES["depthwise"]
    assert isinstance(op.work, CascadeWork)
    assert op.work.reloaded == (0, 2)
    assert op.work.reload_bytes == max(SIZES["expand"], SIZES["project"])
    stays = cascade_op(PROGRAM, ops, CascadeChoice(NAMES, HEIGHTS, True))
    assert isinstance(stays.work, CascadeWork)
    assert op.work.workspace == stays.work.workspace + op.work.reload_bytes


def test_only_ops_of_the_cascade_load_their_weights_again() -> None:
    with pytest.raises(ValueError, match="not in the cascade"):
        cascade_op(PROGRAM, list(PROGRAM.ops()), CascadeChoice(NAMES, HEIGHTS, True, ("other",)))


def test_liveness_ends_with_the_last_turn() -> None:
    """The buffer is taken from its first load to the last step of the op that had it last."""
    plan = planned(("expand", "project"))
    [buffer] = [each for each in plan.problem.buffers if each.name == AGAIN]
    own = [load for load in loads(plan.schedule) if load.buffer == AGAIN]
    last = max(step.position for step in steps(plan.schedule.body) if step.op in NAMES)
    assert [(i.start, i.stop) for i in buffer.live] == [(min(load.issue for load in own), last + 1)]


def test_a_stripe_is_loaded_while_ops_run_that_read_none_of_the_one_before() -> None:
    """Through one buffer; a store of it ends before the next one is made."""
    request = PlanRequest(PROGRAM, LUNA_LIKE.with_memory(5_024), "large-first", "weight-pipeline")
    cascaded = with_cascades(PROGRAM, [CascadeChoice(NAMES, (1, 1, 1))])
    schedule = plan_in_rounds(request, None, cascaded).schedule
    at = {name: [step.position for step in steps(schedule.body) if step.op == name] for name in NAMES}
    stripes = [each for each in schedule.transfers if not each.part.weights]
    loads, stores = ([t for t in stripes if t.direction == each] for each in ("load", "store"))
    assert len({each.buffer for each in loads}) == len({each.buffer for each in stores}) == 1
    # The first stripe has two rows, which two steps read.
    assert [each.due for each in loads[1:]] == at["expand"][2:]
    assert [each.issue for each in loads[1:]] == [position + 1 for position in at["expand"][1:-1]]
    assert [each.issue for each in stores] == at["project"]
    assert [each.due for each in stores[:-1]] == [position - 1 for position in at["project"][1:]]
