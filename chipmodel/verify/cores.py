"""Verify the commands of several cores: each core's on their own, and their use of each other's tensors.

Each core runs a part of the program (see ``chipmodel.model.core_parts``), and ``verify`` proves that its
commands do so, provided that tensors of other cores are in Psram when they are loaded. This module proves
that they are: every load comes after an ``Acquire``, every ``Release`` after all commands that make the
tensor, only its maker stores a tensor, the cores do not deadlock, and tensors share bytes of Psram only if
one is done with before the other begins. Nothing is shared with the planners but the vocabulary.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import (
    Acquire,
    Anchor,
    Branch,
    Command,
    Compute,
    DmaStart,
    DmaWait,
    Release,
    Repeat,
    node_name,
)
from chipmodel.model.core_parts import CorePart, Uses, split, uses
from chipmodel.model.program import Program, ops
from chipmodel.model.schedule import CascadeOps
from chipmodel.model.tree import bodies, walk
from chipmodel.records import dataclass
from chipmodel.verify.commands import MAX_VIOLATIONS, verify
from chipmodel.verify.psram import PsramMap

CoreCommands = Sequence[tuple[Command, ...]]
"""The commands of each core."""
NEVER = 1 << 62
"""The number of a command that no core comes to."""


def verify_cores(
    program: Program, streams: CoreCommands, chip: Chip, cascades: Sequence[Sequence[CascadeOps]] = ()
) -> tuple[str, ...]:
    """Describe the first ``MAX_VIOLATIONS`` violations of each core's commands and its ``cascades``."""
    faults: list[str] = []
    runs = [
        {node_name(command) for command in commands if isinstance(command, Anchor)} for commands in streams
    ]
    core_of: dict[str, int] = {}
    for node in program.body:
        on = [core for core, names in enumerate(runs) if node.name in names]
        if len(on) > 1:
            faults.append(f"{node.name!r} runs on cores {', '.join(map(str, on))}")
        core_of[node.name] = on[0] if on else 0
    faults += misplaced_ops(program, core_of)
    faults += _inconsistent_tensors(program, uses(program), core_of)
    if faults:
        return tuple(faults)[:MAX_VIOLATIONS]
    parts = split(program, core_of, len(streams))
    of_core = cascades or [()] * len(streams)
    for part, commands, taking_turns in zip(parts, streams, of_core, strict=True):
        inputs = tuple(name for name in part.program.inputs if name not in part.imports)
        lent = {*part.exports} - {*program.outputs}
        alone = verify(replace(part.program, inputs=inputs), commands, chip, taking_turns, lent)
        faults += [f"core {part.core}: {fault}" for fault in (*alone, *_protocol(part, commands))]
    progress = _CoreProgress(streams)
    faults += _deadlocks(progress)
    every = tuple(command for commands in streams for command in commands)
    faults += PsramMap(program, every).faults(chip.off_chip_bytes)
    faults += _psram_faults(program, parts, progress)
    return tuple(dict.fromkeys(faults))[:MAX_VIOLATIONS]


def misplaced_ops(program: Program, core_of: Mapping[str, int]) -> Iterator[str]:
    """Ops that the workload assigns to another core than the plan does."""
    for node in program.body:
        for op in ops((node,)):
            core = core_of.get(node.name, 0)
            if op.core is not None and op.core != core:
                yield f"op {op.name!r} runs on core {core}, the workload assigns it to core {op.core}"


def _inconsistent_tensors(program: Program, tensor_uses: Uses, core_of: Mapping[str, int]) -> Iterator[str]:
    """Tensors that several cores define, or of which a core may read a newer definition than it should."""
    core_at = [core_of[node.name] for node in program.body]
    for name, definers in tensor_uses.defined.items():
        cores = {core_at[index] for index in definers}
        if len(cores) > 1:
            yield f"{name!r} is defined on cores {', '.join(map(str, sorted(cores)))}"
        for reader in tensor_uses.read.get(name, ()):
            if reader < definers[-1] and core_at[reader] not in cores:
                yield f"core {core_at[reader]} reads {name!r}, which another core defines again later"


# -- acquire and release ---------------------------------------------------------------------------


def _protocol(part: CorePart, commands: tuple[Command, ...]) -> list[str]:
    """What is acquired twice, and releases that are missing, conditional or too early."""
    faults = list(_acquired_twice(commands, set()))
    released = {c.tensor: index for index, c in enumerate(commands) if isinstance(c, Release)}
    for inner in (b for c in commands if isinstance(c, Branch | Repeat) for b in walk((c,))):
        if isinstance(inner, Release):
            faults.append(f"{inner.tensor!r} is released within an if or loop, which may not run")
    for name in part.exports:
        if name not in released:
            faults.append(f"{name!r} is never released, but another core needs it")
    for index, command in enumerate(commands):
        for name in {name for c in walk((command,)) for name in _made(c)}:
            if index > released.get(name, index):
                faults.append(f"{name!r} is released before all of it has been made and stored")
    return faults


def _made(command: Command) -> tuple[str, ...]:
    if isinstance(command, Compute):
        return tuple(place.part.name for place in command.writes)
    return (command.part.name,) if isinstance(command, DmaStart) and command.direction == "store" else ()


def _acquired_twice(commands: tuple[Command, ...], acquired: set[tuple[str, int]]) -> Iterator[str]:
    """Acquires of what every path to them has acquired before; adds to ``acquired``."""
    for command in commands:
        if isinstance(command, Acquire):
            if (command.tensor, command.core) in acquired:
                yield f"{command.tensor!r} of core {command.core} is acquired twice"
            acquired.add((command.tensor, command.core))
        for body in bodies(command):
            yield from _acquired_twice(body, set(acquired))


class _CoreProgress:
    """How far cores come with their commands, those outside of branches and loops counted from 0."""

    def __init__(self, streams: CoreCommands) -> None:
        self.streams = streams
        self.released_at: dict[tuple[int, str], int] = {}
        self.acquires = [[*map(_acquires, commands)] for commands in streams]
        self.reached = cache(self._reached)
        for core, commands in enumerate(streams):
            for number, command in enumerate(commands):
                if isinstance(command, Release):
                    self.released_at.setdefault((core, command.tensor), number)

    def _reached(self, held: int = -1, until: int = -1) -> list[int]:
        """The command that no core gets beyond while core ``held`` does not run its command ``until``."""
        at = [0] * len(self.streams)
        before: list[int] = []
        while at != before:
            before = list(at)
            for core, commands in enumerate(self.streams):
                end = until if core == held else -1
                while at[core] not in (end, len(commands)) and not self.missing(core, at):
                    at[core] += 1
        return at

    def missing(self, core: int, at: Sequence[int]) -> list[Acquire]:
        """What the next command of ``core`` waits for on any path, where each core is ``at`` a command."""
        flagged = ((each, (each.core, each.tensor)) for each in self.acquires[core][at[core]])
        flags = self.released_at
        return [each for each, flag in flagged if flag not in flags or at[each.core] <= flags[flag]]


def _acquires(command: Command) -> list[Acquire]:
    return [each for each in walk((command,)) if isinstance(each, Acquire)]


def _deadlocks(progress: _CoreProgress) -> list[str]:
    """Cores that wait forever."""
    at = progress.reached()
    return [
        f"core {core} waits forever for {acquire.wanted}"
        for core, commands in enumerate(progress.streams)
        if at[core] < len(commands)
        for acquire in progress.missing(core, at)[:1]
    ]


# -- Psram -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class _PsramRange:
    """Addresses of Psram, and what they hold: data of one core, or (``core`` -1) of several."""

    start: int
    stop: int
    core: int
    what: str

    def __str__(self) -> str:
        return repr(self.what) if self.core < 0 else f"{self.what!r} of core {self.core}"


class _RangeUse(NamedTuple):
    """First and last command at which a core needs a range: -1 before the run, ``NEVER`` after it."""

    core: int
    first: int
    last: int


def _psram_faults(program: Program, parts: Sequence[CorePart], progress: _CoreProgress) -> Iterator[str]:
    """Ranges that are in use at the same time, and stores of others' tensors."""
    used = [{*p.program.inputs, *p.imports, *p.exports} for p in parts]
    shared = {each for number, own in enumerate(used) for other in used[:number] for each in own & other}
    uses: dict[_PsramRange, list[_RangeUse]] = {}
    for part, commands in zip(parts, progress.streams, strict=True):
        for each, use in _uses(program, part, commands, shared):
            uses.setdefault(each, []).append(use)
        for start in (each for each in walk(commands) if isinstance(each, DmaStart)):
            if start.direction == "store" and start.at.part.name in part.imports:
                yield f"core {part.core}: {start.name!r} stores {start.at.part.name!r} of another core"
    yield from _overlaps(uses, progress)


def _uses(
    program: Program, part: CorePart, commands: tuple[Command, ...], shared: Collection[str]
) -> Iterator[tuple[_PsramRange, _RangeUse]]:
    """When a core needs the tensor in each range: from its first transfer on, or as an input from the start,
    to the wait for its last one, or as an output or condition to the end."""
    inputs, stay = {*program.inputs}, {*program.outputs, *program.conditions.values()}
    numbers: dict[_PsramRange, list[int]] = {}
    starts: dict[str, DmaStart] = {}
    for number, each in ((n, inner) for n, command in enumerate(commands) for inner in walk((command,))):
        if isinstance(each, DmaStart):
            starts[each.name] = each
        start = starts.get(each.name) if isinstance(each, DmaStart | DmaWait) else None
        if start is None or start.at.part.weights or not len(start.home):
            continue
        name, home = start.at.part.name, start.home
        place = _PsramRange(home.start, home.stop, -1 if name in shared else part.core, name)
        numbers.setdefault(place, []).append(-1 if name in inputs else number)
        numbers[place].append(NEVER if name in stay else number)
    for place, needed in numbers.items():
        yield place, _RangeUse(part.core, min(needed), max(needed))


def _overlaps(uses: Mapping[_PsramRange, Sequence[_RangeUse]], progress: _CoreProgress) -> Iterator[str]:
    """Bytes that two cores, or a core and a shared tensor, have at once; ``verify`` knows one core's."""

    def done(one: _PsramRange, other: _PsramRange) -> bool:
        return all(_ends_before(a, b, progress) for a in uses[one] for b in uses[other])

    before: list[_PsramRange] = []
    for use in sorted(uses):
        before = [other for other in before if other.stop > use.start]
        for other in before:
            if 0 <= other.core == use.core or done(use, other) or done(other, use):
                continue
            yield f"{other} and {use} share Psram [{use.start}, {min(other.stop, use.stop)})"
        before.append(use)


def _ends_before(a: _RangeUse, b: _RangeUse, progress: _CoreProgress) -> bool:
    """Whether a core cannot begin one use before another core, or the same one, is done with the other."""
    if b.first < 0 or a.last == NEVER:
        return False
    return a.last < b.first if a.core == b.core else progress.reached(a.core, a.last)[b.core] < b.first
