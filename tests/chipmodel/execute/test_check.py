"""Plans of real networks run on bytes: right ones compute the network, and damage shows."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache

import pytest

from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.check import PathVerdict, PlanRun, check_path, check_paths, covering_paths
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.op_part import OpPart
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Acquire, Command, Compute, DmaStart, DmaWait, Repeat, resolve_path
from chipmodel.model.program import Op, Program
from chipmodel.model.tree import walk
from chipmodel.pipeline.multicore import plan_cores
from chipmodel.pipeline.partition import balanced
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.rewrites.in_place import reuse
from chipmodel.rewrites.steady_state import steady
from dma.stream import streamers
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.narrowed import of_kind
from workloads.build.builder import ProgramBuilder
from workloads.load import load


def joined_network(side: int = 8) -> ProgramBuilder:
    """Convolutions and pooling, some joined by channels; large enough to be cut on a small chip."""
    net = ProgramBuilder("joined")
    x = net.input("x", (1, 4, side, side))
    a = net.conv("a", x, 8, 3, pad=1)
    b = net.conv("b", a, 6, 3, pad=1)
    both = net.vector("concat", "both", [a, b], (1, 14, side, side), rows=side)
    net.output(net.conv("last", net.pool("p", both, 2, stride=2), 5, 1))
    return net


@cache
def planned(memory: int, streamer: str) -> PlanRun:
    program = reuse(joined_network().build(), "all")
    chip = with_memory(LUNA_LIKE, memory, 1)
    made = plan(PlanRequest(program, chip, "large-first", streamer))
    return PlanRun(program, (made.commands,), memory)


def faults(run: PlanRun) -> tuple[str, ...]:
    return tuple(fault for verdict in check_paths(run, {}) for fault in verdict.faults)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [700, 1100, 4096])
@pytest.mark.parametrize("streamer", [*sorted({*streamers()} - {"exact"}), "exact:5"])
def test_every_streamers_plan_computes_the_network(memory: int, streamer: str) -> None:
    assert faults(planned(memory, streamer)) == ()


def test_a_verdict_counts_what_was_done_and_compared() -> None:
    run = planned(4096, "sync")
    (verdict,) = check_paths(run, {})
    commands = run.streams[0]
    moved = sum(c.bytes for c in commands if isinstance(c, DmaStart))
    steps = sum(isinstance(c, Compute) for c in commands)
    starts = sum(isinstance(c, DmaStart) for c in commands)
    assert verdict == PathVerdict({}, steps, starts, moved, 5 * 4 * 4, ())


Change = Callable[[Command], Command | None]


def _shifted(command: Command) -> Command:
    assert isinstance(command, DmaStart)
    size = len(command.home) - command.bytes
    other = command.home.start if command.psram > command.home.start else command.home.start + size
    return replace(command, psram=other)


def _elsewhere(command: Command) -> Command:
    assert isinstance(command, DmaStart)
    return replace(command, at=replace(command.at, offset=(command.at.offset + 64) % 500))


def _other_rows(command: Command) -> Command:
    assert isinstance(command, Compute)
    first = command.rows.start
    rows = Interval(0, len(command.rows)) if first else Interval(1, len(command.rows) + 1)
    return replace(command, rows=rows)


def _swapped_weights(command: Command) -> Command:
    """Weights of the first slice instead of the command's own."""
    return replace(of_kind(DmaStart, command), psram=0)


def _reversed(command: Command) -> Command:
    assert isinstance(command, DmaStart)
    return replace(command, direction="load" if command.direction == "store" else "store")


def damaged(run: PlanRun, kind: type, change: Change, wanted: Callable[[Command], bool]) -> Iterator[PlanRun]:
    """``run`` with one command changed, or dropped, at a time."""
    commands = run.streams[0]
    for index, command in enumerate(commands):
        if isinstance(command, kind) and wanted(command):
            other = change(command)
            rest = commands[:index], (() if other is None else (other,)), commands[index + 1 :]
            yield replace(run, streams=(tuple(each for part in rest for each in part),))


def _partial(command: Command) -> bool:
    return isinstance(command, DmaStart) and not command.at.part.weights and command.bytes < len(command.home)


def _later_weights(command: Command) -> bool:
    return isinstance(command, DmaStart) and command.at.part.weights and command.psram > 0


def _cut(command: Command) -> bool:
    return isinstance(command, Compute) and "[" in command.label


def _any(command: Command) -> bool:
    return True


DAMAGE: dict[str, tuple[type, Change, Callable[[Command], bool]]] = {
    "part of a tensor at another address": (DmaStart, _shifted, _partial),
    "buffer elsewhere": (DmaStart, _elsewhere, _any),
    "other rows": (Compute, _other_rows, _cut),
    "weights of another op": (DmaStart, _swapped_weights, _later_weights),
    "other direction": (DmaStart, _reversed, _any),
    "transfer left out": (DmaStart, lambda command: None, _any),
    "wait left out": (DmaWait, lambda command: None, _any),
    "step left out": (Compute, lambda command: None, _any),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGE)
def test_damage_to_any_command_shows(name: str) -> None:
    """Every other command, one at a time, of a plan with stripes, slices of weights and a concat."""
    wrongs = [*damaged(planned(700, "ping-pong"), *DAMAGE[name])][::2]
    assert wrongs
    assert [number for number, wrong in enumerate(wrongs) if not faults(wrong)] == []


def test_the_first_wrong_step_and_the_output_are_named() -> None:
    run = planned(4096, "sync")
    kind, change, wanted = DAMAGE["weights of another op"]
    step, output = faults(next(damaged(run, kind, change, wanted)))
    assert step.startswith("step 'b' (rows [0, 8), channels [0, 6)) writes ")
    assert output.startswith("output 'last': ")
    assert "bytes differ, the first is byte " in output


def test_paths_cover_every_arm_and_a_single_iteration() -> None:
    program = load("workloads/gated_vision.yaml")
    made = plan(PlanRequest(program, LUNA_LIKE))
    run = PlanRun(program, (made.commands,), LUNA_LIKE.shared_memory.bytes)
    assert [dict(path) for path in covering_paths(run)] == [{"gate": "face"}, {"gate": "nothing"}]
    assert faults(run) == ()


@pytest.mark.slow
@pytest.mark.parametrize("workload", ["zoo:ds_cnn", "zoo:resnet8", "workloads/decoder_loop.yaml"])
def test_built_in_networks_compute_the_same_on_a_small_chip(workload: str) -> None:
    program = reuse(load(workload), "all")
    chip = with_memory(LUNA_LIKE, 48 << 10)
    made = plan(PlanRequest(program, chip))
    assert faults(PlanRun(program, (made.commands,), chip.shared_memory.bytes)) == ()


def test_inferences_one_after_another_take_and_make_their_own_slices() -> None:
    program = steady(reuse(joined_network(4).build(), "all"), 5)
    chip = with_memory(LUNA_LIKE, 900, 1)
    for streamer in ("sync", "prefetch-greedy", "ping-pong-across"):
        made = plan(PlanRequest(program, chip, "large-first", streamer))
        run = PlanRun(program, (made.commands,), 900)
        (every, once) = check_paths(run, {})
        assert (every.faults, once.faults) == ((), ())
        assert (every.compared_bytes, once.compared_bytes) == (5 * 20, 20)
        moved = [c for c in walk(made.commands) if isinstance(c, DmaStart) and c.advance]
        stuck = tuple(_without_advance(c) for c in made.commands)
        assert moved
        assert check_path(replace(run, streams=(stuck,)), resolve_path(stuck, {})).faults


def test_plain_runs_evaluate_an_op_of_the_same_bytes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    evaluated = Counter[str]()

    def counted(
        op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, part: OpPart
    ) -> tuple[Bytes, ...]:
        evaluated[op.name] += 1
        return evaluate(op, program, inputs, weights, part)

    monkeypatch.setattr("chipmodel.execute.check.evaluate", counted)
    program = steady(reuse(joined_network(4).build(), "all"), 3)
    made = plan(PlanRequest(program, with_memory(LUNA_LIKE, 900, 1), "large-first", "sync"))
    assert not check_path(PlanRun(program, (made.commands,), 900), resolve_path(made.commands, {})).faults
    assert (evaluated["a"], evaluated["b"]) == (3, 3)


def _without_advance(command: Command) -> Command:
    match command:
        case DmaStart():
            return replace(command, advance=0)
        case Repeat():
            return replace(command, body=tuple(map(_without_advance, command.body)))
        case _:
            return command


def test_several_cores_compute_the_network_in_any_order() -> None:
    program = reuse(load("workloads/two_cores.yaml"), "all")
    chip = replace(with_memory(LUNA_LIKE, 64 << 10), cores=2)
    cores = plan_cores(PlanRequest(program, chip, "large-first", "ping-pong"), balanced(program, chip))
    streams = tuple(core.commands for core in cores)
    run = PlanRun(program, streams, chip.shared_memory.bytes)
    assert faults(run) == ()
    hasty = tuple(tuple(c for c in s if not isinstance(c, Acquire)) for s in streams)
    assert faults(replace(run, streams=hasty))
