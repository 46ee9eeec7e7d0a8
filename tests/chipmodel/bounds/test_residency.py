"""The residency problem of a program by hand, and the lower bound that follows from it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from chipmodel.bounds import residency
from chipmodel.bounds.residency import LEFT_OUT, residency_bound, residency_problem
from chipmodel.bounds.time_bound import time_bound
from chipmodel.hardware.chip import Chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Program, ops
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from solvers.core.deadline import Deadline
from solvers.residency.milp import solve_residency
from solvers.residency.problem import InPlaceItems, ResidencyFound, ResidencyItem, ResidencyProblem
from tests.chipmodel.machine.test_simulate import PLAIN
from tests.support.chips import with_memory
from workloads.build.builder import ProgramBuilder


def problem_of(program: Program, chip: Chip, **path: str) -> ResidencyProblem:
    problem = residency_problem(program, chip, path)
    assert problem is not None
    return problem


def by_name(problem: ResidencyProblem) -> dict[str, ResidencyItem]:
    return {item.name: item for item in problem.items}


def skipping(middle: int = 8) -> Program:
    """x (32 B in 4 rows) -> a -> b of ``middle`` channels -> c reads b and a, all 3 x 3 over 4 x 4."""
    builder = ProgramBuilder("skipping")
    a = builder.conv("a", builder.input("x", (1, 2, 4, 4)), 4, 3, pad=1, bias=False)
    b = builder.conv("b", a, middle, 3, pad=1, bias=False)
    c = builder.conv("c", b, 4, 3, pad=1, bias=False)
    builder.output(builder.elementwise("add", "d", [a, c]))
    return builder.build()


def test_items_of_a_run_by_hand() -> None:
    """The set-up of a load takes 10 cycles, of a store 5; a byte takes one. Of the 3 rows that a row of a
    convolution reads two are left at the end."""
    found = by_name(problem_of(skipping(), with_memory(PLAIN, 4000)))
    x, a, d = found["x"], found["a"], found["d"]
    assert (x.bytes, x.touches, x.loads, x.made, x.ends) == (32, (0,), (Fraction(42),), False, False)
    assert (x.passing, x.ending) == ((24,), (16,))
    assert (a.bytes, a.touches, a.reads, a.made) == (64, (0, 1, 3), (0, 64, 64), True)
    assert a.store == 5 + 64
    assert a.passing[:2] == (4, 48)  # a row of one channel, three rows of all
    assert a.ending[:2] == (4, 32)
    assert (d.touches, d.ends, d.store) == ((3,), True, Fraction(5 + 64))
    weights = found["weights of b"]
    assert (weights.bytes, weights.touches, weights.whole) == (8 * 36, (1,), False)
    assert weights.passing == weights.ending == (36,)


def test_weights_that_a_loop_reads_several_times_are_not_part_of_the_options() -> None:
    """They may have stayed; only weights that are loaded once are part of the options to run their op."""
    builder = ProgramBuilder("loop")
    x = builder.input("x", (1, 2, 4, 4))
    state = builder.elementwise("copy", "start", [x], outputs=["state"])
    with builder.block() as body:
        y = builder.conv("y", state, 2, 3, pad=1, bias=False)
        builder.elementwise("copy", "again", [y], outputs=["state"])
    builder.add_loop("loop", 3, body, ["state"])
    builder.output(state)
    program, chip = builder.build(), with_memory(PLAIN, 4000)
    problem = problem_of(program, chip, loop="3")
    weights = by_name(problem)["weights of y"]
    assert weights.touches == (1, 3, 5)
    assert weights.reads == (36, 36, 36)
    most = {step: max(o.bytes for o in problem.options if o.step == step) for step in (1, 3, 5)}
    assert most == {1: 64, 3: 64, 5: 64}
    once = problem_of(program, chip, loop="1")
    assert by_name(once)["weights of y"].touches == (1,)
    assert max(o.bytes for o in once.options if o.step == 1) == 64 + 18


def test_a_tensor_made_in_place_shares_its_bytes() -> None:
    program = reuse(skipping(), "all")
    problem = problem_of(program, with_memory(PLAIN, 4000))
    index = {item.name: i for i, item in enumerate(problem.items)}
    over = next(op.overwrites for op in ops(program.body) if op.name == "d")
    assert over is not None
    assert over in ("a", "c")
    assert problem.overlays == (InPlaceItems(3, (index[over],), index["d"]),)
    assert by_name(problem)[over].absorbed == 3
    assert not problem_of(skipping(), with_memory(PLAIN, 4000)).overlays


def test_there_is_no_bound_for_several_cores_or_a_very_long_run() -> None:
    program = skipping()
    assert residency_problem(program, replace(PLAIN, cores=2), {}) is None
    long = replace(program, body=program.body * 101)
    assert residency_problem(long, PLAIN, {}) is None
    assert residency_bound(long, PLAIN, {}) is None


def test_no_time_gives_no_bound_and_says_so() -> None:
    said: list[str] = []
    over = Deadline(0, lambda: 1, said.append)
    assert residency_bound(skipping(16), with_fast_npu(400), {}, deadline=over) is None
    assert said == [LEFT_OUT]
    assert time_bound(skipping(16), with_fast_npu(400), {}, True, over) == time_bound(
        skipping(16), with_fast_npu(400), {}
    )


def test_after_the_deadline_no_further_solver_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """The relaxation takes all the time: its bound, which is at most the other one's, is the answer."""
    now, solved, said = [0.0], list[bool](), list[str]()

    def relaxed_takes_long(*given: Any, **named: Any) -> ResidencyFound:
        found = solve_residency(*given, **named)
        solved.append(bool(named.get("relaxed")))
        now[0] = 100.0
        return found

    monkeypatch.setattr(residency, "solve_residency", relaxed_takes_long)
    program, chip = skipping(16), with_fast_npu(400)
    late = Deadline(50, lambda: now[0], said.append)
    weaker = residency_bound(program, chip, {}, deadline=late)
    assert (solved, said) == ([True], [LEFT_OUT])
    full = residency_bound(program, chip, {})
    assert weaker is not None
    assert full is not None
    assert 0 < weaker.cycles <= full.cycles


def with_fast_npu(size: int) -> Chip:
    """A chip with ``size`` bytes of SharedMemory whose NPU takes a 64th of the time."""
    macs = dict.fromkeys((8, 16, 32), Fraction(64))
    return with_memory(replace(PLAIN, npu=replace(PLAIN.npu, macs_per_cycle=macs)), size)


def test_a_tensor_that_cannot_stay_comes_back() -> None:
    """b takes 256 B, so not all tensors stay in 500 B. The residency bound is then higher than the others."""
    program, last = skipping(16), 0
    tight = with_fast_npu(400)
    assert time_bound(program, tight, {}, True).cycles > time_bound(program, tight, {}).cycles
    for chip in (with_fast_npu(4000), with_fast_npu(800), with_fast_npu(500), tight):
        bound = time_bound(program, chip, {}, True)
        assert bound.cycles >= last
        last = bound.cycles
        planned = plan(PlanRequest(program, chip, "large-first", "exact:50"))
        assert planned.solved.peak <= chip.shared_memory.bytes
        assert simulate(planned.commands, chip).cycles >= bound.cycles


def test_the_cycles_of_the_bindings_add_up_to_the_bound() -> None:
    bound = residency_bound(skipping(16), with_fast_npu(400), {})
    assert bound is not None
    assert {each.unit for each in bound.bindings} == {"dma"}
    assert bound.cycles * 0.99 <= sum(each.cycles for each in bound.bindings) <= bound.cycles * 1.01
    assert (bound.bindings[0].first, bound.bindings[-1].last) == ("a", "d")
    slow = residency_bound(skipping(16), with_memory(PLAIN, 4000), {})
    assert slow is not None
    assert "npu" in {each.unit for each in slow.bindings}


def test_the_bound_is_zero_where_no_plan_fits() -> None:
    """c reads three rows of b, 192 B, makes 4 B of one channel of a row, and has 144 B of weights for it."""
    bound = residency_bound(skipping(16), with_fast_npu(192 + 4 + 144 - 1), {})
    assert bound is not None
    assert bound.cycles == 0
    fits = residency_bound(skipping(16), with_fast_npu(192 + 4 + 144), {})
    assert fits is not None
    assert fits.cycles > 0
