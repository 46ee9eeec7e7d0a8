"""Networks of the onnx package and built-in ones through the whole way; results in the shapes of a paper."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.plan import Problem
from chipmodel.model.program import If, Node, Program, ops
from chipmodel.model.schedule import Schedule, StepIf, steps
from chipmodel.passes.liveness import liveness
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from dma.stream import stream
from solvers.registry import solve
from tests.support.bounds import lower_bound_cycles
from tests.support.chips import LUNA_LIKE, with_memory, with_psram
from tests.support.folders import LIGHT_MODELS
from tests.support.networks import CONTROL_FLOW, PLANNED
from workloads.build.builder import ProgramBuilder
from workloads.load import load

LIGHT = sorted(LIGHT_MODELS.glob("*.onnx"))
LARGE_PSRAM = 256 << 20
"""Bytes; more than AlexNet needs."""
BUILT_IN = [f"zoo:{network.name}" for network in PLANNED if network not in CONTROL_FLOW]
"""Those with branches and loops, along every path: tests/workloads/zoo/test_dynamic.py."""
QUICK = {"light_bvlc_alexnet", "light_shufflenet", "light_squeezenet"}
"""Built-in networks stand for the others of the package."""
CASES = [
    *((str(source), "luna-csk6") for source in LIGHT if source.stem in QUICK),
    *((s, "luna-csk6" if n % 2 else "stm32n6") for n, s in enumerate(BUILT_IN) if s != "zoo:vgg16"),
]
"""Each network once; both chips run some of them."""


@cache
def program(source: str) -> Program:
    return load(source)


def test_all_nine_models_are_there() -> None:
    assert len(LIGHT) == 9


@pytest.mark.slow
@pytest.mark.parametrize(("source", "chip_name"), CASES, ids=[f"{Path(s).stem}-{c}" for s, c in CASES])
def test_network_fits_and_its_plan_is_correct(source: str, chip_name: str) -> None:
    network, chip = program(source), with_psram(load_chip(chip_name), LARGE_PSRAM)
    planned = plan(PlanRequest(network, chip))
    assert planned.solved.peak <= chip.shared_memory.bytes
    assert verify(network, planned.commands, chip) == ()
    trace = simulate(planned.commands, chip)
    assert lower_bound_cycles(network, chip, trace.path) <= trace.cycles
    loaded = sum(e.bytes for e in trace.events if e.kind == "load weights")
    assert loaded >= network.weight_bytes


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
