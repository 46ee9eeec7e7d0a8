"""Cascades on one of several cores: they end where that core would hold up another one, and vice versa."""

from dataclasses import replace

import pytest

from chipmodel.cascades.arrivals import LateArrival
from chipmodel.cascades.rewrite import CascadeChoice, with_cascades
from chipmodel.errors import BadInput
from chipmodel.model.core_parts import CorePart, split
from chipmodel.model.program import Program
from chipmodel.pipeline.multicore import joined_plans
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.rounds import plan_in_rounds
from chipmodel.pipeline.run import run
from chipmodel.verify.cores import verify_cores
from tests.support.chips import LUNA_LIKE
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder

CHIP = replace(LUNA_LIKE, cores=2)


def crossing(handed_on: bool) -> Program:
    """Ops ``a``, ``c`` and ``d`` on core 0, and ``b`` on core 1, in alphabetical order; ``c`` reads ``b``,
    which reads ``a`` where that is ``handed_on`` and otherwise the input."""
    builder = ProgramBuilder("crossing")
    x = builder.input("x", (1, 2, 8, 8))
    a = builder.conv("a", x, 2, 3, pad=1)
    b = builder.conv("b", a if handed_on else x, 2, 3, pad=1)
    c = builder.elementwise("add", "c", [a, b])
    builder.output(builder.conv("d", c, 2, 3, pad=1))
    return builder.build()


def parts(program: Program) -> tuple[CorePart, ...]:
    return split(program, {"a": 0, "b": 1, "c": 0, "d": 0}, 2)


def choice(*ops: str) -> CascadeChoice:
    return CascadeChoice(ops, (1,) * len(ops))


def test_a_cascade_that_hands_on_cannot_wait_for_the_answer() -> None:
    """Core 1 waits for all of ``a``, which is there when the cascade has ended, and that would wait for
    core 1."""
    part = parts(crossing(handed_on=True))[0]
    with pytest.raises(LateArrival, match="'c' waits for 'b' of another core"):
        with_cascades(part.program, [choice("a", "c")])
    with_cascades(part.program, [choice("c", "d")])


def test_a_cascade_that_hands_nothing_on_may_wait() -> None:
    program = crossing(handed_on=False)
    apart = parts(program)
    request = PlanRequest(program, CHIP, "large-first", "ping-pong")
    cascades: list[list[CascadeChoice]] = [[choice("a", "c", "d")], []]
    planned = [
        plan_in_rounds(replace(request, program=part.program), None, with_cascades(part.program, each))
        for part, each in zip(apart, cascades, strict=True)
    ]
    plans = joined_plans(program, apart, planned, CHIP)
    members = [[each.members for each in plan.schedule.cascades] for plan in plans]
    assert [len(each) for each in members] == [1, 0]
    assert verify_cores(program, [plan.commands for plan in plans], CHIP, members) == ()


@pytest.mark.parametrize(
    ("ops", "arrival"), [((), 1), (("a", "c", "d"), 0), (("c", "d"), 1), (("a", "c"), 0)]
)
def test_arrivals_are_numbered_by_cascades(ops: tuple[str, ...], arrival: int) -> None:
    """Where the cascade begins before the tensor arrives, it may wait for it all the same."""
    part = parts(crossing(handed_on=False))[0]
    assert part.program.arrivals == {"b": 1}
    cascaded = with_cascades(part.program, [choice(*ops)] if ops else [])
    assert cascaded.arrivals == {"b": arrival}


def test_a_tensor_that_arrives_during_a_cascade_is_not_waited_for_there() -> None:
    """Core 0 makes ``a`` and ``c`` in turns and hands on ``a``: what arrives for ``e`` comes after them."""
    part = split(small_network("later"), {"a": 0, "b": 1, "c": 0, "d": 0, "e": 0}, 2)[0]
    assert part.program.arrivals == {"b": 1}
    assert with_cascades(part.program, [choice("a", "c")]).arrivals == {"b": 1}
    assert with_cascades(part.program, [choice("a", "c", "d")]).arrivals == {"b": 1}
    assert with_cascades(part.program, [choice("c", "d")]).arrivals == {"b": 1}


def test_named_ops_that_cannot_wait_are_refused_with_a_hint() -> None:
    program = crossing(handed_on=True)
    named = {"a": 0, "b": 1, "c": 0, "d": 0}
    body = tuple(replace(op, core=named[op.name]) for op in program.ops())
    request = PlanRequest(replace(program, body=body), CHIP, "large-first", "sync", cascade="a,c")
    with pytest.raises(BadInput, match="'c' waits for 'b' of another core") as refusal:
        run(request)
    assert "end the cascade before that op" in str(refusal.value)
