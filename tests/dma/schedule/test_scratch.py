"""An op's scratch: bytes of SharedMemory for as long as it runs, in every plan and at every check."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import chipmodel
from chipmodel.bounds.least_memory import least_memory
from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Compute, Located
from chipmodel.model.program import Program, with_ops
from chipmodel.model.schedule import steps
from chipmodel.pipeline.by_ways import least_plan_in
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.narrowed import some
from workloads.load import load

CHAIN = """
name: chain
inputs: {x: [1, 8, 8, 8]}
ops:
  - {op: conv, name: a, channels: 8, kernel: 3, pad: same, scratch: 1KiB}
  - {op: conv, name: b, channels: 8, kernel: 3, pad: same}
"""
GATED = """\
  - op: if
    name: gate
    arms:
      left: [{op: conv, name: c, channels: 8, kernel: 3, pad: same, in: a, scratch: 500}]
      right: [{op: relu, name: r, in: b, scratch: 64}]
    outputs: {d: {left: c, right: r}}
  - {op: add, name: e, in: [a, d], scratch: 300}
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / "chain.yaml").write_text(CHAIN)
    return load(str(tmp_path / "chain.yaml"))


@pytest.mark.parametrize("memory", [1 << 16, 2124, 1900])
def test_scratch_is_alive_while_its_op_runs(program: Program, memory: int) -> None:
    """Beside 512 B of input, 512 of output and 608 of weights, a slice of which at least has 76."""
    chip = with_memory(LUNA_LIKE, memory)
    found = plan(PlanRequest(program, chip, streamer="sync"))
    buffer = next(each for each in found.problem.buffers if each.name == "a scratch")
    ends = sum(step.op == "a" for step in steps(found.schedule.body))
    assert (buffer.bytes, buffer.live) == (1024, (Interval(0, ends),))
    assert ends == 1 or memory < 512 + 512 + 608 + 1024
    assert found.solved.peak <= memory
    assert verify(program, found.commands, chip) == ()
    assert not any(transfer.part.name == "a scratch" for transfer in found.schedule.transfers)


def test_bounds_on_memory_count_scratch(program: Program) -> None:
    plain = replace(program, body=with_ops(program.body, lambda op: replace(op, scratch=None)))
    with_it, without = (some(least_memory(each, LUNA_LIKE)) for each in (program, plain))
    assert with_it.bytes > max(1024 + 512, without.bytes)  # Its input may come in stripes.
    _, planned = some(least_plan_in(PlanRequest(program, LUNA_LIKE), with_it.paths[0]))
    assert with_it.bytes <= planned.solved.peak <= with_it.bytes + 76


CHANGES: list[tuple[Callable[[Located, Located], tuple[Located, ...]], str]] = [
    (lambda out, own: (out,), "'a scratch'"),
    (lambda out, own: (out, replace(own, bytes=8)), "1024 bytes into a buffer of 8"),
    (lambda out, own: (out, replace(own, offset=1 << 20)), "of a memory of 65536"),
    (lambda out, own: (out, replace(own, offset=out.offset)), "'a' is not at"),
]
"""What becomes of the output and scratch of "a", and the fault."""


@pytest.mark.parametrize(("change", "fault"), CHANGES)
def test_a_plan_without_room_for_scratch_is_wrong(
    program: Program, change: Callable[[Located, Located], tuple[Located, ...]], fault: str
) -> None:
    chip = with_memory(LUNA_LIKE, 1 << 16)
    commands = [
        replace(each, writes=change(*each.writes)) if isinstance(each, Compute) and each.op == "a" else each
        for each in plan(PlanRequest(program, chip)).commands
    ]
    wrong = verify(program, tuple(commands), chip)
    assert any(fault in each for each in wrong), wrong


@pytest.mark.parametrize("streamer", ["auto", "ping-pong", "prefetch-greedy", "weight-pipeline", "vendor"])
@pytest.mark.parametrize("memory", [2800, 4400, 1 << 16])
def test_plans_with_scratch_compute_what_the_network_does(streamer: str, memory: int, tmp_path: Path) -> None:
    """Executed plans fill scratch with other bytes, so that whatever else lay there is lost."""
    (tmp_path / "gated.yaml").write_text(CHAIN + GATED)
    program = load(str(tmp_path / "gated.yaml"))
    chip = chipmodel.chip("luna-arcs", **{"shared_memory.bytes": memory})
    answer = chipmodel.simulate(program, chip, streamer=streamer)
    assert {"a scratch", "c scratch"} <= {buffer.name for buffer in answer.result.problem.buffers}
    assert chipmodel.check(answer, program, chip=chip, execute=True).correct


def test_a_refusal_names_scratch(program: Program) -> None:
    with pytest.raises(DoesNotFit, match=r"'a' has the largest live set: .* has 1,024 B of scratch, "):
        plan(PlanRequest(program, with_memory(LUNA_LIKE, 1100)))


def test_scratch_is_a_number_of_bytes(tmp_path: Path) -> None:
    (tmp_path / "wrong.yaml").write_text(CHAIN.replace("1KiB", "much"))
    with pytest.raises(BadInput, match="much"):
        chipmodel.load(tmp_path / "wrong.yaml")
