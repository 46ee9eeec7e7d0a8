"""``weight-pipeline``: times of its loads, bytes of memory for them, and the lateness that it reports."""

from collections import Counter
from dataclasses import replace

import pytest

from chipmodel.errors import BadInput
from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import Schedule, steps
from chipmodel.passes.liveness import liveness
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from dma.stream import stream, streamer_named
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.build.builder import ProgramBuilder

KIB = 1024
ROOMY = with_memory(LUNA_LIKE, 8 * KIB * KIB)
LOAD_8K = 656 + 7909
"""656 + ceil(8192 * 30.891 / 32) cycles on LUNA_LIKE."""


def chain(computes: list[int], size: int = 8 * KIB) -> Program:
    """Dense layers of these cycles, each with ``size`` bytes of weights."""
    builder = ProgramBuilder("chain")
    x = builder.input("x", (1, 64))
    for index in range(len(computes)):
        x = builder.dense(f"n{index}", x, 64, weights=[builder.weight(f"w{index}", size)])
    builder.output(x)
    program = builder.build()
    body = tuple(replace(op, cycles=c) for op, c in zip(ops(program.body), computes, strict=True))
    return replace(program, body=body)


def issues(schedule: Schedule) -> list[int]:
    return [t.issue for t in schedule.transfers if t.part.weights]


def most_weights(schedule: Schedule) -> int:
    """The smallest region that holds the weights alive at any one step."""
    problem = liveness(schedule, ROOMY)
    weights = [b for b in problem.buffers if schedule.buffers[b.name].kind == "weights"]
    return max(sum(b.bytes for b in weights if s.position in b.live[0]) for s in steps(schedule.body))


def test_where_compute_hides_a_load_the_region_holds_two_layers() -> None:
    program = chain([LOAD_8K] * 6)
    planned = plan(PlanRequest(program, ROOMY, "greedy-best-fit", "weight-pipeline"))
    assert issues(planned.schedule) == [0, 0, 1, 2, 3, 4]
    assert most_weights(planned.schedule) == 2 * 8 * KIB
    assert [(late.op, late.cycles) for late in planned.schedule.late] == [("n0", LOAD_8K)]
    # Later weights overwrite the bytes of earlier ones: six layers at few offsets.
    offsets = Counter(planned.solved.plan.offsets[f] for f in weight_buffers(planned.schedule))
    assert len(offsets) == 2
    assert planned.solved.peak < 2 * 8 * KIB + 256
    trace = run(PlanRequest(program, ROOMY, "greedy-best-fit", "weight-pipeline")).trace
    assert trace.stalls("npu")["weights"] == LOAD_8K


def weight_buffers(schedule: Schedule) -> list[str]:
    return [name for name, spec in schedule.buffers.items() if spec.kind == "weights"]


def test_with_one_cycle_too_few_loads_start_earlier_where_possible() -> None:
    """The fourth layer is too short to hide its successor's load, so that starts a layer earlier."""
    program = chain([LOAD_8K, 2 * LOAD_8K, LOAD_8K - 1, LOAD_8K, LOAD_8K])
    schedule = stream(program, ROOMY, "weight-pipeline", ROOMY.shared_memory.bytes)
    assert issues(schedule) == [0, 0, 1, 1, 3]
    assert most_weights(schedule) == 3 * 8 * KIB
    assert [late.op for late in schedule.late] == ["n0"]


def test_lateness_is_reported_where_loads_are_longer_than_compute() -> None:
    schedule = stream(chain([1000] * 4), ROOMY, "weight-pipeline", ROOMY.shared_memory.bytes)
    late = [(late.op, late.position, late.cycles) for late in schedule.late]
    assert late == [("n0", 0, LOAD_8K), *((f"n{i}", i, LOAD_8K - 1000) for i in (1, 2, 3))]
    # The DMA engine never rests, and two layers are enough for that.
    assert most_weights(schedule) == 2 * 8 * KIB


def test_jitter_brings_loads_forward_and_counts_as_lateness() -> None:
    program = chain([LOAD_8K + 500] * 6)
    plain, careful, more = (
        stream(program, ROOMY, name, ROOMY.shared_memory.bytes)
        for name in ("weight-pipeline", "weight-pipeline:500", "weight-pipeline:501")
    )
    assert issues(plain) == issues(careful) == [0, 0, 1, 2, 3, 4]
    assert issues(more)[3:] == [1, 2, 3]
    assert [late.cycles for late in careful.late] == [LOAD_8K + 500]
    # The second layer cannot be early: its load begins with the first layer's compute.
    assert [(late.op, late.cycles) for late in more.late] == [("n0", LOAD_8K + 501), ("n1", 1)]
    assert careful.streamer == "weight-pipeline:500"


@pytest.mark.parametrize("setting", ["", "-1", "1.5", "x", "500 ", "1" * 14, "\u0663"])
def test_settings_that_are_no_cycles_are_refused(setting: str) -> None:
    with pytest.raises(BadInput, match="not a jitter allowance") as refusal:
        streamer_named(f"weight-pipeline:{setting}")
    assert "weight-pipeline:500" in refusal.value.hint


def test_other_streamers_have_no_setting_and_report_no_lateness() -> None:
    with pytest.raises(BadInput, match="streamer 'sync' has no setting") as refusal:
        streamer_named("sync:3")
    assert refusal.value.hint == "write sync"
    assert streamer_named("weight-pipeline:007").name == "weight-pipeline:7"
    for name in ("sync", "ping-pong"):
        assert stream(chain([9]), LUNA_LIKE, name, 384 * KIB).late == ()
