"""Run a plan on the machine and compare what it makes with the plain run of its network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from chipmodel.cascades.accumulation import in_cascades
from chipmodel.execute.byte_arrays import Bytes
from chipmodel.execute.evaluate import evaluate
from chipmodel.execute.machine import CoreOrder, Execution, RunOptions, StepRun, execute
from chipmodel.execute.op_part import Evaluate, OpPart, Streams, banded_ops
from chipmodel.execute.reference import Reference, defined_bytes, random_inputs, random_weights, reference
from chipmodel.geometry.interval import Interval
from chipmodel.model.commands import Branch, Command, Repeat, resolve_path
from chipmodel.model.program import Op, Program
from chipmodel.model.schedule import CascadeOps
from chipmodel.model.tree import walk
from chipmodel.records import dataclass
from chipmodel.rewrites.steady_state import LOOP

Flags: TypeAlias = NDArray[np.bool_]
"""One for each byte of a tensor."""
UNWRITTEN = (0, 255, 85, 170, 51)
"""What is allocated and not written, in one plain run after another. Of two, a byte in 256 that depends on it
would be the same."""
CORE_ORDERS: tuple[CoreOrder, ...] = ("in turn", "lowest first", "highest first")
"""Every rule by which cores take turns."""


@dataclass(frozen=True, slots=True)
class PlanRun:
    """A plan to run: the commands of each core, and the bytes of each core's SharedMemory."""

    program: Program
    streams: Streams
    shared_bytes: int
    cascades: tuple[CascadeOps, ...] = ()


@dataclass(frozen=True, slots=True)
class PathVerdict:
    """What a run along ``path`` did, and where it went wrong; no ``faults`` for a right plan."""

    path: Mapping[str, str]
    steps: int
    transfers: int
    moved_bytes: int
    compared_bytes: int
    faults: tuple[str, ...]
    KEYS: ClassVar = ("path=words", "steps", "transfers", "moved_bytes", "compared_bytes", "faults")

    @property
    def words(self) -> str:
        """The path as ``--path`` takes it."""
        return ", ".join(f"{name}={choice}" for name, choice in self.path.items())


def check_paths(plan: PlanRun, choices: Mapping[str, str], seed: int = 0) -> tuple[PathVerdict, ...]:
    """Run ``plan`` along the path that ``choices`` name or, without any, along paths that take every arm of
    every branch and some iterations of every loop. Raises BadInput for unknown choices."""
    paths = [resolve_path(_all(plan), choices)] if choices else list(covering_paths(plan))
    return tuple(check_path(plan, path, seed) for path in paths)


def covering_paths(plan: PlanRun) -> Iterator[dict[str, str]]:
    """The default path, then as many more as put every arm on one; with loops, all once in an iteration."""
    commands = _all(plan)
    arms = {c.name: [arm.name for arm in c.arms] for c in walk(commands) if isinstance(c, Branch)}
    loops = {c.name: c.iterations for c in walk(commands) if isinstance(c, Repeat)}
    most = max(map(len, arms.values()), default=1)
    for number in range(most):
        yield resolve_path(commands, {name: each[number % len(each)] for name, each in arms.items()})
    if any(iterations > 1 for iterations in loops.values()):
        once = {name: str(min(1, iterations)) for name, iterations in loops.items()}
        yield resolve_path(commands, once)


def check_path(plan: PlanRun, path: Mapping[str, str], seed: int = 0) -> PathVerdict:
    """Run ``plan`` along one path, with every order of the cores if there are several."""
    program = in_cascades(plan.program, plan.cascades)
    inputs, weights = random_inputs(program, seed), random_weights(program, seed)
    banded = banded_ops(program, plan.streams)
    allocates = any(op.allocates for op in program.ops())
    fills = UNWRITTEN if allocates else UNWRITTEN[:1]
    once = _evaluated_once()
    runs = [reference(program, inputs, weights, path, once, banded, fill) for fill in fills]
    wanted, compare = runs[0], _ComparedRun(program, path, runs)
    execution, faults = Execution(), list[str]()
    for order in CORE_ORDERS if len(plan.streams) > 1 else CORE_ORDERS[:1]:
        options = RunOptions(seed, order)
        execution = execute(program, plan.streams, plan.shared_bytes, inputs, weights, path, options)
        if faults := [*execution.faults, *compare.faults(execution)]:
            break
    compared = sum(int(compare.sound(name).sum()) for name in program.outputs if name in wanted.tensors)
    return PathVerdict(
        path,
        len(execution.runs),
        execution.transfers,
        execution.moved_bytes,
        compared,
        tuple(dict.fromkeys(faults)),
    )


def _evaluated_once() -> Evaluate:
    """The same as ``evaluate``, once for the same arrays: plain runs share what reads no unwritten byte."""
    known: dict[tuple[str, int, tuple[int, ...]], tuple[Sequence[Bytes], tuple[Bytes, ...]]] = {}

    def once(
        op: Op, program: Program, inputs: Sequence[Bytes], weights: Bytes, part: OpPart
    ) -> tuple[Bytes, ...]:
        key = op.name, part.iteration, tuple(map(id, inputs))
        if key not in known:
            known[key] = inputs, evaluate(op, program, inputs, weights, part)
        return known[key][1]

    return once


def _all(plan: PlanRun) -> tuple[Command, ...]:
    return tuple(command for commands in plan.streams for command in commands)


@dataclass(frozen=True, slots=True)
class _ComparedRun:
    """Compares with the first of several ``plain`` runs, as far as all agree: bytes that depend on what no
    iteration of a loop writes are not defined."""

    program: Program
    path: Mapping[str, str]
    plain: Sequence[Reference]

    @property
    def wanted(self) -> Reference:
        return self.plain[0]

    def sound(self, name: str) -> Flags:
        """The bytes of an output that a run defines: not those of inferences that it does not make."""
        sound = defined_bytes([run.tensors[name] for run in self.plain])
        if self.program.inferences > 1:
            made = int(self.path[LOOP])
            sound[len(sound) // self.program.inferences * made :] = False
        return sound

    def faults(self, execution: Execution) -> Iterator[str]:
        """Outputs and conditions that differ, and the first step that computes something else."""
        wrong = [*self._conditions(execution), *self._outputs(execution)]
        if wrong:
            yield from self._first_wrong_step(execution)
        yield from wrong

    def _outputs(self, execution: Execution) -> Iterator[str]:
        for name in self.program.outputs:
            if name not in self.wanted.tensors:
                continue
            sound, right = self.sound(name), self.wanted.tensors[name]
            if name not in execution.outputs:
                if sound.any():
                    yield f"output {name!r} is not in Psram at the end"
                continue
            got = execution.outputs[name]
            size = min(len(got), len(right))
            differ = (got[:size] != right[:size]) & sound[:size]
            if differ.any() or sound[size:].any():
                count = f"{int(differ.sum()):,} of {len(right):,} bytes differ"
                yield f"output {name!r}: {count}, the first is {self._byte(name, int(differ.argmax()))}"

    def _byte(self, name: str, byte: int) -> str:
        """The number of a byte of a tensor, with its row and channel."""
        tensor = self.program.tensors[name]
        rows, channels, _ = tensor.stored.grid
        line = byte * rows * channels // max(1, tensor.bytes)
        return f"byte {byte:,} (row {line // channels}, channel {line % channels})"

    def _conditions(self, execution: Execution) -> Iterator[str]:
        seen: Counter[str] = Counter()
        for decision in execution.decisions:
            right = [run.decided[decision.branch][seen[decision.branch]] for run in self.plain]
            seen[decision.branch] += 1
            if not _same(decision.content, right):
                yield f"if {decision.branch!r} finds other bytes than those of {decision.tensor!r}"

    def _first_wrong_step(self, execution: Execution) -> Iterator[str]:
        runs: Counter[str] = Counter()
        for run in execution.runs:
            number = runs[f"{run.core} {run.step.label}"]
            runs[f"{run.core} {run.step.label}"] += 1
            if number >= len(self.wanted.made.get(run.step.op, [])):
                yield f"step {run.step.label!r} runs more often than the network does"
                return
            fault = self._step_fault(run, [plain.made[run.step.op][number] for plain in self.plain])
            if fault:
                yield fault
                return

    def _step_fault(self, run: StepRun, made: Sequence[Mapping[str, Bytes]]) -> str | None:
        for each in run.written:
            right = [plain[each.tensor][each.numbers] for plain in made]
            differ = (each.content != right[0]) & defined_bytes(right)
            if differ.any():
                byte = int(each.numbers[int(differ.argmax())])
                count = f"{int(differ.sum()):,} of {len(differ):,} bytes"
                where = f"rows {_span(run.step.rows)}, channels {_span(run.step.channels)}"
                when = f" in iteration {run.iteration}" if run.iteration else ""
                step = f"step {run.step.label!r} ({where}){when}"
                return (
                    f"{step} writes {count} of {each.tensor!r} wrong, first {self._byte(each.tensor, byte)}"
                )
        return None


def _span(interval: Interval) -> str:
    return f"[{interval.start}, {interval.stop})"


def _same(found: Bytes, plain: Sequence[Bytes]) -> bool:
    return len(found) == len(plain[0]) and not ((found != plain[0]) & defined_bytes(plain)).any()
