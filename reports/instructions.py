"""The instructions of a plan as lines of text: a DMA transfer begins, is waited for, an op computes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from chipmodel.answers.result import Result
from chipmodel.model.commands import (
    Acquire,
    Branch,
    Command,
    Compute,
    DmaMove,
    DmaStart,
    DmaWait,
    Release,
    Repeat,
)
from chipmodel.model.program import SCRATCH
from chipmodel.model.schedule import ends_of
from chipmodel.passes.lower import lower
from chipmodel.plan_file.contents import PlanFile
from chipmodel.terminal.escapes import visible

INDENT = "  "


def plan_listing(plan: PlanFile, core: int | None = None) -> str:
    """The instructions of a plan file, of one core or of all."""
    streams = [part.commands for part in plan.cores] or [plan.commands]
    lines = _of_cores(streams) if core is None else listing(streams[core])
    return "".join(f"{line}\n" for line in lines)


def result_listing(result: Result) -> list[str]:
    """The instructions of a result's plan, core after core."""
    if result.cores:
        return list(_of_cores([part.commands for part in result.cores]))
    return list(listing(lower(result.schedule, result.solved.plan)))


def _of_cores(cores: Sequence[tuple[Command, ...]]) -> Iterator[str]:
    for number, commands in enumerate(cores):
        if len(cores) > 1:
            yield f"core {number}"
        yield from listing(commands)


def listing(commands: Iterable[Command], depth: int = 0) -> Iterator[str]:
    """Yield a line for each command; those of an arm or loop are indented."""
    for command in commands:
        for inside, line, body in _lines(command):
            yield INDENT * (depth + inside) + visible(line)
            yield from listing(body, depth + inside + 1)


def _lines(command: Command) -> Iterator[tuple[int, str, tuple[Command, ...]]]:
    """Lines of a command: how far each is indented, and what runs below it."""
    match command:
        case Branch():
            yield 0, f"If {command.name}", ()
            for arm in command.arms:
                yield 1, f"arm {arm.name}", arm.body
        case Repeat():
            yield 0, f"Loop {command.name}, {command.iterations} times", command.body
        case _:
            yield 0, _plain(command), ()


def _plain(command: DmaStart | DmaMove | DmaWait | Compute | Release | Acquire) -> str:
    match command:
        case DmaStart():
            shared = f"{command.at.buffer} at {command.near.start}"
            source, target = ends_of(command.traffic)
            if command.direction == "load":
                source, target = f"{source} {command.psram}", shared
            else:
                source, target = shared, f"{target} {command.psram}"
            return f"DMAStart {command.name}: {command.bytes} B, {source} -> {target}"
        case DmaMove():
            ends = f"{command.source} {command.home.start}", f"{command.memory} {command.target.start}"
            return f"DMAStart {command.name}: {command.bytes} B, {ends[0]} -> {ends[1]}"
        case DmaWait():
            return f"DMAWait {command.name}"
        case Compute():
            own = (p for p in command.writes if p.part.name == command.op + SCRATCH)
            scratch = "".join(f", {place.bytes} B of scratch at {place.offset}" for place in own)
            return f"Compute {command.label}: {command.cycles} cycles{scratch}"
        case Release():
            return f"Release {command.tensor}"
        case Acquire():
            return f"Acquire {command.tensor} of core {command.core}"
