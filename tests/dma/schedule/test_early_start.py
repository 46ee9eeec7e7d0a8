"""An early start: where it gains, what it costs, and that random programs run with it."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from chipmodel.geometry.share import WHOLE
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program
from chipmodel.model.schedule import Step
from chipmodel.model.trace import Trace
from chipmodel.passes.liveness import liveness
from chipmodel.passes.lower import lower
from chipmodel.pipeline import rounds
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.plan_export import plan_of_planned
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.plan_file.text import read_plan, write_plan
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.plan_file import verify_file
from dma.residency.tiling import Tiling
from dma.schedule import early_start, quicker_cuts
from dma.schedule.build import BuildCache, StreamRequest, build_schedule
from dma.schedule.expected_forecast import ScheduleForecast
from dma.schedule.streamer import GivenCuts
from dma.streamers import ping_pong, weight_pipeline
from dma.streamers.prefetch_greedy import SCREENING
from solvers.registry import solve
from tests.dma.streamers.test_weight_pipeline import LOAD_8K, chain
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.random_programs import TreeShape, random_program
from tests.support.stepper import step_through
from workloads.build.builder import ProgramBuilder

LOAD_256 = 656 + 248
"""656 + ceil(256 * 30.891 / 32) cycles on LUNA_LIKE."""


def pooled(cycles: int, *, read_twice: bool = False) -> Program:
    """A maximum over an input of 8 KiB that takes these cycles."""
    builder = ProgramBuilder("pooled")
    x = builder.input("x", (1, 4, 64, 32))
    builder.output(builder.pool("p", x, 2, stride=2))
    if read_twice:
        builder.output(builder.pool("q", x, 4, stride=4))
    program = builder.build()
    first, *others = program.ops()
    return replace(program, body=(replace(first, cycles=cycles), *others))


def found(program: Program, chip: Chip = LUNA_LIKE) -> GivenCuts | None:
    request = StreamRequest(program, chip, chip.shared_memory.bytes)
    schedule = build_schedule(request, weight_pipeline.STREAMER, BuildCache())
    return quicker_cuts.quicker_cuts(
        program, chip, schedule, ScheduleForecast(program, chip).cycles(schedule)
    )


def test_the_first_op_waits_for_its_first_rows_only() -> None:
    """While the first row is computed, 5,000 cycles, half of the input is loaded, 4,611."""
    program = pooled(160_000)
    cut = Tiling(16, 4, striped=True, depth=2, first=1)
    assert found(program) == GivenCuts({"p": cut}, {"p": 4}, ("x",))
    assert [len(rows) for rows in cut.stripes(next(program.ops()))] == [1, 16, 15]
    plans = (plan(PlanRequest(program, LUNA_LIKE, streamer=name)) for name in ("auto", "ping-pong"))
    early, whole = (simulate(each.commands, LUNA_LIKE) for each in plans)
    assert (early.stalls("npu")["input"], whole.stalls("npu")["input"]) == (LOAD_256, LOAD_8K)
    assert whole.cycles - early.cycles == LOAD_8K - LOAD_256


def test_a_smaller_first_stripe_makes_no_op_end_later() -> None:
    """Quarters end at 18,634, after 10,536 cycles of loads; with 8 rows first, of the others 16, the op would
    end 611 later, but a fourth load be saved, 656."""
    cut = Tiling(8, 4, striped=True, depth=4)
    assert found(pooled(16_000)) == GivenCuts({"p": cut}, {"p": 4}, ("x",))


def test_the_plan_without_an_early_start_is_simulated_only_where_it_may_be_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulated: list[int] = []

    def counted(*arguments: Any) -> Trace:
        trace = simulate(*arguments)
        simulated.append(trace.cycles)
        return trace

    monkeypatch.setattr(rounds, "simulate", counted)
    planned = plan(PlanRequest(pooled(16_000), LUNA_LIKE), {})
    assert planned.trace is not None
    assert simulated == [planned.trace.cycles]


def test_weights_of_the_first_op_come_in_slices_where_they_take_longest() -> None:
    assert found(chain([16_000, 16_000, 10])) == GivenCuts(
        {"n0": Tiling(1, 16)}, {f"n{i}": 64 for i in range(3)}, ()
    )


def test_an_input_that_another_op_reads_stays_whole() -> None:
    assert found(pooled(16_000, read_twice=True)) is None


def test_little_to_gain_is_not_worth_a_schedule() -> None:
    assert found(pooled(16_000_000)) is None
    assert found(pooled(100)) is None


def test_where_the_dma_engine_never_rests_nothing_is_gained() -> None:
    assert found(chain([LOAD_8K // 4] * 20)) is None


def forced(seed: int) -> tuple[Program, Chip, Planned] | None:
    """A random program with its first op cut in some way, without regard to cost; None where it is not."""
    random = Random(seed)
    program = reuse(random_program(seed, TreeShape(ops=2, depth=seed % 2, side=6, channels=8)), "all")
    chip = with_memory(LUNA_LIKE, 64 * 1024)
    request = StreamRequest(program, chip, chip.shared_memory.bytes)
    streamer = random.choice((SCREENING, ping_pong.STREAMER, weight_pipeline.STREAMER))
    schedule = build_schedule(request, streamer, BuildCache())
    cuts = quicker_cuts.quicker_cuts(program, chip, schedule, 1e12)
    if cuts is None:
        return None
    tilings = {name: _smaller_first(each, random) for name, each in cuts.tilings.items()}
    streamer = replace(streamer, cuts=cuts._replace(tilings=tilings))
    schedule = build_schedule(request, streamer, BuildCache())
    problem = liveness(schedule, chip)
    solved = solve(problem, "large-first")
    return program, with_memory(chip, solved.peak), Planned(program, schedule, problem, solved, ())


def _smaller_first(tiling: Tiling, random: Random) -> Tiling:
    first = random.randrange(tiling.rows) if tiling.striped else 0
    return replace(tiling, first=first, depth=min(tiling.depth, 2)) if first else tiling


@pytest.mark.slow
def test_random_programs_run_with_an_early_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verifier and both simulators agree, whatever the cut."""
    kinds = Counter[str]()
    monkeypatch.setattr(quicker_cuts, "LEAST_GAIN", -1.0)
    for seed in range(80):
        monkeypatch.setattr(early_start, "PART_COUNTS", (2 + seed % 4,))
        case = forced(seed)
        if case is None:
            continue
        program, chip, made = case
        text = write_plan(plan_of_planned(made, chip, chip.name, ()))
        assert verify_file(program, read_plan(text, "plan.json"), chip) == (), seed
        commands = lower(made.schedule, made.solved.plan)
        assert simulate(commands, chip, {}) == step_through(commands, chip, {}), seed
        name = next(program.ops()).name
        first = [step for step in made.schedule.body if isinstance(step, Step) and step.op == name]
        rows = any(t.part.name in program.inputs and t.part.share != WHOLE for t in made.schedule.transfers)
        kinds["rows" if rows else "slices"] += len(first) > 1
        if rows and len(first) > 1:
            kinds["smaller"] += len(first[0].rows) < len(first[1].rows)
    assert min(kinds["rows"], kinds["slices"]) > 10, kinds
    assert kinds["smaller"] > 5, kinds
