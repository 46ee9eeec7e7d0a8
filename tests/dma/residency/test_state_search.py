"""The state search over memory tiers on a chip: the cost of a state, and correct plans from it."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.further_memories import FurtherMemory
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program, ops
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.timing.transfer import transfer_cycles
from chipmodel.verify.commands import verify
from dma.residency.chip_tiers import PSRAM, SHARED, ChipTierProblem
from dma.residency.state_search import decide_tiers, residency_of
from solvers.tiers.search import search
from tests.dma.residency.test_greedy import skip_connection
from tests.support.chips import LUNA_LIKE, tiny_chip, with_memory
from tests.support.random_commands import random_path
from tests.support.random_programs import TreeShape, random_program
from tests.support.small_networks import small_network
from tests.support.stepper import step_through
from tests.support.tiers import initial_state

BATCHES = 1
BATCH = 25


def nothing(_: object) -> int:
    return 0


def asked_of(program: Program, budget: int, chip: Chip = LUNA_LIKE) -> ChipTierProblem:
    return ChipTierProblem(program, with_memory(chip, budget, 1), budget, nothing)


def tier_of(tiers: ChipTierProblem, name: str, op: str, best: bool = True) -> int | None:
    state = tiers.found().state if best else initial_state(tiers.problem)
    position = [each.name for each in ops(tiers.program.body)].index(op)
    return state.tier_at(tiers.names.index(name), position)


# -- costs -------------------------------------------------------------------------------------


def test_accesses_cost_the_npus_ports_and_transfers_what_the_dma_takes() -> None:
    program = small_network("one")
    ports = Fraction(4096, 8) + Fraction(4096, 16)
    moves = transfer_cycles(LUNA_LIKE, "load", 4096) + transfer_cycles(LUNA_LIKE, "store", 4096)
    for budget, tier in ((8192, SHARED), (64, PSRAM)):
        tiers = asked_of(program, budget)
        assert tier_of(tiers, "y", "y") == tier
        assert initial_state(tiers.problem).cycles == ports + moves, "what is used once costs the same"


def test_an_op_in_a_loop_costs_its_cycles_in_every_iteration() -> None:
    assert [step.times for step in asked_of(small_network("loop"), 4096).problem.steps] == [5, 1]


# -- decisions ---------------------------------------------------------------------------------


def test_a_tensor_that_only_lives_through_the_widest_op_leaves_for_that_time() -> None:
    tiers = asked_of(skip_connection(), 33000)
    assert tier_of(tiers, "wide2", "wide2", best=False) == PSRAM
    found = tiers.found()
    assert found.state.cycles < found.initial.cycles
    residency = residency_of(tiers, found.state)
    assert residency.spilled == ("early",)
    assert not residency.striped
    first, second = residency.segments["early"]
    assert [[t.position for t in s.touches] for s in (first, second)] == [[0, 1], [4]]
    assert (first.loaded, first.stored, second.loaded, second.stored) == (False, (0,), True, ())


def test_operands_in_shared_memory_stay_whole_and_the_others_are_striped() -> None:
    tiers = asked_of(skip_connection(), 19000)
    residency = residency_of(tiers, tiers.found().state)
    assert "wide2" in residency.striped
    mixed = {op: names for op, names in residency.kept.items() if names}
    assert mixed
    operands = {op.name: {*op.inputs, *op.outputs} for op in tiers.table.ops}
    assert all(names < operands[op] for op, names in mixed.items())


def test_a_tensor_that_overwrote_its_input_may_leave_and_return() -> None:
    tiers = asked_of(small_network("state_search in-place"), 8900)
    residency = residency_of(tiers, tiers.found().state)
    assert residency.storage["b"] == "a"
    first, second = residency.segments["a"]
    assert {t.value for t in first.touches} == {"a", "b"}
    assert first.stored == (1,)
    assert (second.loaded, second.brings) == (True, "b")


def test_where_all_fits_nothing_is_decided_and_no_spill_refuses() -> None:
    program = skip_connection()
    assert decide_tiers(program, LUNA_LIKE, 65536, nothing, spill=False).spilled == ()
    with pytest.raises(DoesNotFit, match="'wide2' has the largest live set"):
        decide_tiers(program, LUNA_LIKE, 33000, nothing, spill=False)
    with pytest.raises(DoesNotFit, match="to run from Psram, of 8 B"):
        decide_tiers(program, LUNA_LIKE, 8, nothing)


def test_a_tensor_of_several_straight_runs_stays_in_one_memory() -> None:
    program = small_network("branch")
    tiers = asked_of(program, 4096)
    assert [tiers.mobile(name) for name in ("x", "a", "out")] == [True, False, False]


# -- correctness -------------------------------------------------------------------------------


def random_case(seed: int) -> tuple[Program, Chip, str, Random]:
    random = Random(seed)
    program = random_program(seed, TreeShape(ops=5, depth=seed % 3, side=5, channels=6))
    program = reuse(program, random.choice(("all", "declared", "elementwise")))
    return program, tiny_chip(random), random.choice(("sync", "ping-pong", "weight-pipeline")), random


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_plan_of_a_random_program_is_correct_and_both_simulators_agree(batch: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        program, chip, streamer, random = random_case(seed)
        try:
            planned = plan(PlanRequest(program, chip, "state-search", streamer))
        except DoesNotFit:
            continue
        seen["planned"] += 1
        seen["striped"] += bool(planned.schedule.striped)
        seen["spilled"] += bool(planned.schedule.spilled)
        if planned.solved.peak <= chip.shared_memory.bytes:
            assert verify(program, planned.commands, chip) == (), (seed, streamer)
        choices = random_path(planned.commands, random)
        trace = simulate(planned.commands, chip, choices)
        assert trace == step_through(planned.commands, chip, choices), seed
    assert seen["planned"] > BATCH // 2
    assert seen["striped"]
    assert seen["spilled"]


@pytest.mark.parametrize("seed", range(60))
def test_live_bytes_and_reserves_never_exceed_the_budget(seed: int) -> None:
    program, chip, _, random = random_case(seed)
    budget = chip.shared_memory.bytes
    keeps = {op.name: random.choice((0, 3, 9)) for op in ops(program.body)}
    tiers = ChipTierProblem(program, chip, budget, lambda op: keeps[op.name])
    try:
        found = search(tiers.problem)
    except DoesNotFit:
        return
    assert found.state.cycles <= found.initial.cycles
    residency = residency_of(tiers, found.state)
    for op, through in zip(ops(program.body), residency.through, strict=True):
        assert through + keeps[op.name] <= budget, op.name


# -- what the search is worth ------------------------------------------------------------------


def test_alignment_and_costs_are_the_chips() -> None:
    chip = replace(LUNA_LIKE, shared_memory=replace(LUNA_LIKE.shared_memory, alignment=32))
    shared, psram = ChipTierProblem(skip_connection(), chip, 33000, nothing).problem.tiers
    assert (shared.alignment, shared.capacity, psram.capacity) == (32, 33000, None)
    assert psram.leave(1000) == transfer_cycles(chip, "load", 1000)
    assert psram.enter(1000) == transfer_cycles(chip, "store", 1000)
    assert (shared.leave(1000), shared.enter(1000)) == (0, 0)


def test_further_memories_are_tiers_between_the_two() -> None:
    memories = (
        FurtherMemory("slow", 4096, 5, Fraction(1), 7, Fraction(1, 2)),
        FurtherMemory("quick", 8192, 40, Fraction(8), 9, Fraction(4)),
    )
    chip = replace(with_memory(LUNA_LIKE, 33000, 1), memories=memories)
    problem = ChipTierProblem(skip_connection(), chip, 33000, nothing).problem
    shared, quick, slow, psram = problem.tiers
    assert [tier.name for tier in problem.tiers] == ["SharedMemory", "quick", "slow", "Psram"]
    assert (quick.capacity, slow.capacity, psram.capacity) == (8192, 4096, None)
    assert (quick.leave(800), quick.enter(800)) == (40 + 100, 9 + 200)
    assert quick.read(800) == quick.leave(800) + shared.read(800)
    assert slow.write(800) == slow.enter(800) + shared.write(800) == 7 + 1600 + shared.write(800)
    assert {block.home for block in problem.blocks} <= {None, 3}
    assert {block.ends for block in problem.blocks} == {None, 3}
