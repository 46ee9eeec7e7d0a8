"""The whole way: rounds, refusals, the smallest capacity, and plans that once were wrong."""

import re
from dataclasses import replace
from random import Random

import pytest

from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.model.nesting import Section
from chipmodel.model.plan import Plan, Problem, Solved
from chipmodel.model.program import Program
from chipmodel.passes.liveness import liveness
from chipmodel.pipeline.plan import largest_live_set, plan, plan_as_cut, smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rounds import ROUNDS
from chipmodel.pipeline.run import run
from solvers.core.deadline import deadline_in
from tests.support.chips import LUNA_LIKE, tiny_chip, with_memory
from tests.support.random_programs import TreeShape, random_program
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder


def wide(*sizes: int) -> Program:
    """A chain of ReLUs on tensors of these bytes (each row of work one byte)."""
    builder = ProgramBuilder("wide")
    x = builder.raw("x", sizes[0], is_input=True)
    for index, size in enumerate(sizes[1:]):
        y = builder.raw(f"t{index}", size)
        builder.custom(f"op{index}", [x], [y], rows=min(size, 64))
        x = y
    builder.output(x)
    return builder.build()


def test_the_first_plan_that_fits_is_taken() -> None:
    planned = plan(PlanRequest(wide(1000, 2000, 500), LUNA_LIKE, "large-first", "sync"))
    (attempt,) = planned.attempts
    assert (attempt.budget, attempt.peak, attempt.lower_bound) == (384 * 1024, 3000, 3000)
    assert planned.solved.peak == 3000
    assert planned.commands


def test_every_round_gives_up_a_quarter_of_what_was_too_much() -> None:
    """``naive`` never shares: 15,000 B of a chain that needs 6,000 B at once."""
    chip = with_memory(LUNA_LIKE, 6400)
    first, *rest = plan(PlanRequest(wide(*[3000] * 5), chip, "naive", "sync")).attempts
    assert (first.budget, first.peak) == (6400, 4 * 3008 + 3000)
    assert rest[0].budget == 6400 - (15032 - 6400) // 4
    assert len(rest) < ROUNDS
    assert rest[-1].peak <= 6400


def test_where_no_round_fits_the_smallest_peak_is_taken() -> None:
    chip = with_memory(LUNA_LIKE, 6400)
    planned = plan(PlanRequest(wide(*[3000] * 40), chip, "naive", "sync"))
    assert planned.solved.peak == min(a.peak for a in planned.attempts) > 6400
    assert planned.problem.capacity == 6400
    assert not run(PlanRequest(wide(*[3000] * 40), chip, "naive", "sync")).fits


def test_what_no_memory_can_hold_is_refused_with_a_size_of_psram_that_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before it is cut: SharedMemory is large enough."""
    with pytest.raises(DoesNotFit, match=rf"tensor 't0': {1 << 40:,} B, and Psram has 8,388,608 B\n"):
        plan(PlanRequest(wide(64, 1 << 40), LUNA_LIKE, "large-first", "sync"))
    monkeypatch.setattr("chipmodel.pipeline.plan.LARGEST_CUT", 1)
    chip = with_memory(LUNA_LIKE, 6400)
    request = PlanRequest(wide(30_000, 30_000), replace(chip, psram=replace(chip.psram, bytes=1000)))
    with pytest.raises(DoesNotFit) as refusal:
        plan(request)
    (size,) = re.findall(r"--set psram\.bytes=(\d+) \(", refusal.value.hint or "")
    assert run(request.with_chip(replace(chip, psram=replace(chip.psram, bytes=int(size))))).fits


def test_of_all_rounds_the_smallest_peak_is_taken_also_if_it_was_not_the_last() -> None:
    later_is_worse = 0
    for seed in range(12):
        program = random_program(seed, TreeShape(ops=5, depth=1, side=5, channels=6))
        try:
            planned = plan(PlanRequest(program, with_memory(LUNA_LIKE, 160, 16), "naive", "ping-pong"))
        except DoesNotFit:
            continue
        peaks = [a.peak for a in planned.attempts]
        assert planned.solved.peak == min(peaks)
        assert planned.solved.plan.peak(liveness(planned.schedule, LUNA_LIKE)) == min(peaks)
        later_is_worse += peaks[-1] > min(peaks)
    assert later_is_worse


def test_a_plan_that_just_fits_is_enough() -> None:
    planned = plan(PlanRequest(wide(3000, 3000, 3000), with_memory(LUNA_LIKE, 6008), "large-first", "sync"))
    assert [a.peak for a in planned.attempts] == [6008]


def test_a_result_has_its_synchronous_twin_beside_it() -> None:
    program = random_program(7, TreeShape(ops=6, depth=1))
    ping_pong = run(PlanRequest(program, LUNA_LIKE, "large-first", "ping-pong", sync_too=True))
    sync = run(PlanRequest(program, LUNA_LIKE, "large-first", "sync"))
    assert ping_pong.sync_cycles == sync.sync_cycles == sync.trace.cycles
    assert ping_pong.trace.cycles < sync.trace.cycles
    assert ping_pong.attempts
    assert (ping_pong.program, ping_pong.chip) == (program, LUNA_LIKE)


def test_a_wrong_packer_is_caught_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(problem: Problem, nesting: Section, packer: str, merge: str, limits: object) -> Solved:
        return Solved(Plan({b.name: 0 for b in problem.buffers}), "optimal", 0, 0, 0.0, packer)

    monkeypatch.setattr("chipmodel.pipeline.quickest.merge_arms", wrong)
    with pytest.raises(AssertionError, match="packer large-first made a wrong plan: buffers"):
        plan(PlanRequest(wide(10, 10), LUNA_LIKE, "large-first", "sync"))


def test_unknown_names_are_bad_input() -> None:
    for packer, streamer in (("best", "sync"), ("large-first", "best")):
        with pytest.raises(BadInput, match="unknown"):
            run(PlanRequest(wide(10, 10), LUNA_LIKE, packer, streamer))
    with pytest.raises(BadInput, match="not an if or loop"):
        run(PlanRequest(wide(10, 10), LUNA_LIKE, "large-first", "sync"), {"gate": "a"})


def test_the_largest_live_set_in_words() -> None:
    planned = plan(PlanRequest(wide(100, 50, 300, 20), LUNA_LIKE, "large-first", "sync"))
    words = largest_live_set(planned.problem, planned.schedule)
    assert words == "op 'op1' has the largest live set, 350 B: t1 300 B, t0 50 B"
    planned = plan(PlanRequest(small_network("many"), LUNA_LIKE, "large-first", "sync"))
    words = largest_live_set(planned.problem, planned.schedule)
    assert words.startswith("op 'all' has the largest live set, 166 B: x10 20 B, x9 19 B")
    assert words.endswith("x3 13 B and 4 more")
    planned = plan(PlanRequest(small_network("nine"), LUNA_LIKE, "large-first", "sync"))
    assert largest_live_set(planned.problem, planned.schedule).endswith("x0 10 B and 1 more")


def test_without_spilling_a_packers_own_peak_may_be_what_does_not_fit() -> None:
    chip = with_memory(LUNA_LIKE, 6400)
    program = wide(3000, 3000, 3000, 3000)
    assert plan(PlanRequest(program, chip, "large-first", "sync", spill=False)).solved.peak <= 6400
    with pytest.raises(DoesNotFit) as refusal:
        plan(PlanRequest(program, chip, "naive", "sync", spill=False))
    assert refusal.value.what.startswith("packer naive needs 12,024 B of 6,400 B; op 'op0' has the largest")
    assert "12,032" in refusal.value.hint
    assert "shared_memory.bytes=12032" in refusal.value.hint


@pytest.mark.slow
@pytest.mark.parametrize("packer", ["large-first", "naive"])
def test_the_smallest_capacity_does_and_one_step_less_does_not(packer: str) -> None:
    for seed in range(12):
        program = random_program(seed, TreeShape(ops=4, depth=1, side=4, channels=4))
        chip = with_memory(tiny_chip(Random(seed)), 64, 16)
        size = smallest_capacity(PlanRequest(program, chip, packer, "ping-pong"))
        assert size is not None
        assert size % 16 == 0
        assert (
            plan(PlanRequest(program, with_memory(chip, size), packer, "ping-pong", spill=False)).solved.peak
            <= size
        )
        if size > 16:
            with pytest.raises(DoesNotFit):
                plan(PlanRequest(program, with_memory(chip, size - 16), packer, "ping-pong", spill=False))


def test_where_no_capacity_would_do() -> None:
    program = wide(10, 5 << 30)
    assert smallest_capacity(PlanRequest(program, LUNA_LIKE, "large-first", "sync")) is None
    with pytest.raises(DoesNotFit) as refusal:
        plan(PlanRequest(program, LUNA_LIKE, "large-first", "sync", spill=False))
    assert "5,368,709,120 B" in refusal.value.what
    chip = replace(LUNA_LIKE, psram=replace(LUNA_LIKE.psram, bytes=1 << 34))
    with pytest.raises(DoesNotFit) as refusal:
        plan(PlanRequest(program, chip, "large-first", "sync", spill=False))
    assert refusal.value.hint == "no SharedMemory of up to 4 GiB would do without spilling"


def test_without_time_to_search_the_hint_has_room_for_everything() -> None:
    program = wide(10, 5000)
    tight = PlanRequest(program, with_memory(LUNA_LIKE, 4096), "large-first", "sync", spill=False)
    with pytest.raises(DoesNotFit) as refusal:
        plan(tight.until(deadline_in(0)))
    found = re.search(r"--set shared_memory\.bytes=(\d+)", refusal.value.hint)
    assert found
    ample = int(found[1])
    assert plan(tight.with_chip(with_memory(LUNA_LIKE, ample))).solved.peak <= ample


def test_what_does_not_fit_even_in_stripes_is_refused_as_it_is() -> None:
    program = small_network("row")
    with pytest.raises(DoesNotFit) as refusal:
        plan_as_cut(PlanRequest(program, with_memory(LUNA_LIKE, 4096), "large-first", "sync"), {})
    assert "op 'op' has the largest live set" in refusal.value.what
    assert "'chipmodel memory'" in refusal.value.hint
    with pytest.raises(DoesNotFit) as refusal:
        plan(PlanRequest(program, with_memory(LUNA_LIKE, 4096), "large-first", "sync", spill=False))
    assert "shared_memory.bytes=5024" in refusal.value.hint


def test_a_path_may_not_skip_what_is_read_later() -> None:
    builder = ProgramBuilder("loop")
    x = builder.input("x", (1, 64))
    with builder.block() as body:
        state = builder.dense("again", x, 64)
    builder.add_loop("loop", 2, body)
    builder.output(builder.dense("last", state, 8))
    program = builder.build()
    assert run(PlanRequest(program, LUNA_LIKE, "large-first", "sync"), {"loop": "1"}).trace.path == {
        "loop": "1"
    }
    with pytest.raises(BadInput, match=r"--path loop=00: .* no iterations never defines"):
        run(PlanRequest(program, LUNA_LIKE, "large-first", "sync"), {"loop": "00"})
