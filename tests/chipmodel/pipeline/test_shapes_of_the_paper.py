"""The rules of thumb of Wang et al. 2025, whose models are not public, as shapes of results."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from chipmodel.model.plan import Problem
from chipmodel.model.program import If, Node, Program, ops
from chipmodel.model.schedule import Schedule, StepIf, steps
from chipmodel.passes.liveness import liveness
from dma.stream import stream
from solvers.registry import solve
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.build.builder import ProgramBuilder

ROOMY = with_memory(LUNA_LIKE, 4 << 20)


def arms(left: int, right: int, before: int = 64) -> Program:
    """Two arms, each two dense layers whose outputs have ``left`` or ``right`` features, behind two layers
    of ``before`` features. An arm's features are the bytes of its tensors, two of which are alive at once."""
    builder = ProgramBuilder("arms")
    x = builder.input("x", (1, 64))
    x = builder.dense("before2", builder.dense("before1", x, before), 64)
    blocks: list[tuple[str, Sequence[Node]]] = []
    for name, features in (("left", left), ("right", right)):
        with builder.block() as block:
            y = builder.dense(f"{name}1", x, features)
            y = builder.dense(f"{name}2", y, features)
            builder.dense(f"{name}3", y, 64, outputs=["y"])
        blocks.append((name, block))
    builder.add_if("gate", blocks)
    builder.output(builder.tensor("y", (1, 64)))
    return builder.build()


def peaks(program: Program) -> tuple[int, int]:
    """Proven smallest peaks of the tensors where arms share bytes, and where no tensor of one arm shares a
    byte with one of the other."""
    schedule = stream(program, ROOMY, "sync", ROOMY.shared_memory.bytes)
    buffers = tuple(b for b in liveness(schedule, ROOMY).buffers if schedule.buffers[b.name].kind == "tensor")
    first, second = inside(schedule)
    pairs = tuple(product(sorted(first), sorted(second)))
    merged = solve(Problem(buffers), "cp-sat")
    apart = solve(Problem(buffers, separated=pairs), "cp-sat")
    assert merged.status == apart.status == "optimal"
    return merged.peak, apart.peak


def inside(schedule: Schedule) -> tuple[set[str], set[str]]:
    """The buffers that one arm alone writes, of each arm."""
    gate = next(node for node in schedule.body if isinstance(node, StepIf))
    written = [{o.buffer for s in steps(arm.body) for o in s.writes} for arm in gate.arms]
    left, right = written
    return left - right, right - left


def gain(program: Program) -> float:
    merged, apart = peaks(program)
    return (apart - merged) / apart


def test_the_arms_are_what_the_shapes_need() -> None:
    program = arms(4096, 256)
    assert any(isinstance(node, If) for node in program.body)
    schedule = stream(program, ROOMY, "sync", ROOMY.shared_memory.bytes)
    assert inside(schedule) == ({"left1", "left2"}, {"right1", "right2"})
    assert peaks(program)[0] >= 2 * 4096


def test_merging_arms_that_are_alike_wins_nearly_half() -> None:
    assert gain(arms(4096, 4096)) > 0.45


def test_merging_arms_that_are_very_unequal_wins_nothing() -> None:
    """Under 1 % where one arm is 256 times the other; nothing at all where the peak is elsewhere."""
    assert gain(arms(16384, 64)) < 0.01
    assert gain(arms(256, 256, before=16384)) == 0


def test_the_gain_is_the_smaller_arm() -> None:
    """The more unequal the arms, the less merging wins: never more than the smaller arm takes."""
    gains: list[float] = []
    for small in (4096, 2048, 1024, 256, 64):
        merged, apart = peaks(arms(4096, small))
        assert 0 <= apart - merged <= 2 * small + 2 * 64
        gains.append((apart - merged) / apart)
    assert gains == sorted(gains, reverse=True)
    assert gains[0] > 10 * gains[-1]


def layers(count: int, size: int, compute: int) -> Program:
    """``count`` dense layers with ``size`` bytes of weights, of ``compute`` cycles each."""
    builder = ProgramBuilder("layers")
    x = builder.input("x", (1, 64))
    for index in range(count):
        x = builder.dense(f"n{index}", x, 64, weights=[builder.weight(f"w{index}", size)])
    builder.output(x)
    program = builder.build()
    return replace(program, body=tuple(replace(op, cycles=compute) for op in ops(program.body)))
