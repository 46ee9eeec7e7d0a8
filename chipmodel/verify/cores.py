"""Verifies the commands of several cores: each core's alone, and what they do to one another.

Each core runs a part of the program (``chipmodel.model.core_parts`` says which), and ``verify`` proves that
its commands do that, given that what other cores make is in Psram when it is loaded. Here it is proven that
it is: every load is behind an ``Acquire``, every ``Release`` behind all that makes the tensor, no two things
share bytes of Psram, nothing is stored over what another core may read, and no cores wait for one another in
a circle. Nothing is shared with the planners but the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from chipmodel.chip.chip import Chip
from chipmodel.model.commands import Acquire, Branch, Command, Compute, DmaStart, Release, Repeat, walk
from chipmodel.model.core_parts import CorePart, Uses, split, uses
from chipmodel.model.interval import Interval
from chipmodel.model.program import If, Node, Program, ops
from chipmodel.plan_file.contents import PlanFile
from chipmodel.verify.commands import MOST_VIOLATIONS, buffer_faults, verify
from chipmodel.verify.commands import verify_file as verify_one_core

Streams = Sequence[tuple[Command, ...]]


def verify_file(program: Program, plan: PlanFile, chip: Chip) -> tuple[str, ...]:
    """What is wrong with a plan file, of one core or of several, in words; empty for a correct one."""
    if not plan.cores:
        wrong = [f"op {op!r} is for core {core}" for op, core in _elsewhere(program, {})]
        return (*wrong, *verify_one_core(program, plan, chip))[:MOST_VIOLATIONS]
    faults: list[str] = []
    if len(plan.cores) != chip.cores:
        faults.append(f"the plan is for {len(plan.cores)} cores, the chip has {chip.cores}")
    peak = max(core.peak_bytes for core in plan.cores)
    if peak != plan.peak_bytes:
        faults.append(f"the plan says its peak is {plan.peak_bytes} bytes, its worst core's is {peak}")
    for number, core in enumerate(plan.cores):
        alone = replace(plan, peak_bytes=core.peak_bytes, buffers=core.buffers, commands=core.commands)
        faults += [f"core {number}: {fault}" for fault in buffer_faults(program, alone, chip)]
    faults += verify_cores(program, [core.commands for core in plan.cores], chip)
    return tuple(dict.fromkeys(faults))[:MOST_VIOLATIONS]


def verify_cores(program: Program, streams: Streams, chip: Chip) -> tuple[str, ...]:
    """What is wrong with the commands of the cores, in words, the first ``MOST_VIOLATIONS``."""
    faults: list[str] = []
    runs = [set(_run(commands)) for commands in streams]
    core_of: dict[str, int] = {}
    for node in program.body:
        on = [core for core, names in enumerate(runs) if node.name in names]
        if len(on) > 1:
            faults.append(f"{node.name!r} runs on cores {', '.join(map(str, on))}")
        core_of[node.name] = on[0] if on else 0
    faults += [f"op {op!r} is for core {core}" for op, core in _elsewhere(program, core_of)]
    found = uses(program)
    faults += _torn(program, found, core_of)
    if faults:
        return tuple(faults)[:MOST_VIOLATIONS]
    parts = split(program, core_of, len(streams))
    for part, commands in zip(parts, streams, strict=True):
        alone = verify(part.program, commands, chip)
        faults += [f"core {part.core}: {fault}" for fault in (*alone, *_protocol(part, commands))]
    faults += _in_psram(parts, streams)
    faults += _circle(streams)
    return tuple(dict.fromkeys(faults))[:MOST_VIOLATIONS]


def _run(commands: tuple[Command, ...]) -> Iterator[str]:
    """Names of the nodes that outermost commands run."""
    for command in commands:
        match command:
            case Compute():
                yield command.op
            case Branch() | Repeat():
                yield command.name
            case _:
                pass


def _elsewhere(program: Program, core_of: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """Ops that the workload gives another core than the plan does."""
    for node in program.body:
        for op in ops((node,)):
            if op.core is not None and op.core != core_of.get(node.name, 0):
                yield op.name, op.core


def _torn(program: Program, found: Uses, core_of: Mapping[str, int]) -> Iterator[str]:
    """Tensors whose definitions lie on several cores, or that one core may find newer than it should."""
    core_at = [core_of[node.name] for node in program.body]
    for name, definers in found.defined.items():
        cores = {core_at[index] for index in definers}
        if len(cores) > 1:
            yield f"{name!r} is defined on cores {', '.join(map(str, sorted(cores)))}"
        for reader in found.read.get(name, ()):
            if reader < definers[-1] and core_at[reader] not in cores:
                yield f"core {core_at[reader]} reads {name!r}, of which another core makes a newer value"


# -- acquire and release ---------------------------------------------------------------------------


def _protocol(part: CorePart, commands: tuple[Command, ...]) -> list[str]:
    """Loads without an acquire, and releases that are missing or too early."""
    nodes = {node.name: node for node in part.program.nodes()}
    faults = list(_unacquired(part, commands, nodes, set()))
    released = {c.tensor: index for index, c in enumerate(commands) if isinstance(c, Release)}
    for inner in (b for c in commands if isinstance(c, Branch | Repeat) for b in walk((c,))):
        if isinstance(inner, Release):
            faults.append(f"{inner.tensor!r} is released inside of an if or loop, perhaps never")
    for name in part.exports:
        if name not in released:
            faults.append(f"{name!r} is never released, and another core needs it")
    for index, command in enumerate(commands):
        for name in {name for c in walk((command,)) for name in _made(c)}:
            if index > released.get(name, index):
                faults.append(f"{name!r} is released before the last of it is made and stored")
    return faults


def _made(command: Command) -> tuple[str, ...]:
    match command:
        case Compute():
            return tuple(place.part.name for place in command.writes)
        case DmaStart() if command.direction == "store":
            return (command.at.part.name,)
        case _:
            return ()


def _unacquired(
    part: CorePart, commands: tuple[Command, ...], nodes: Mapping[str, Node], acquired: set[tuple[str, int]]
) -> Iterator[str]:
    """What is read of another core's tensors where not every path has waited for it; ``acquired`` grows."""
    for command in commands:
        match command:
            case Acquire():
                acquired.add((command.tensor, command.core))
            case DmaStart() if command.direction == "load" and not command.at.part.weights:
                yield from _missed(part, command.at.part.name, f"transfer {command.name!r}", acquired)
            case Branch():
                node = nodes.get(command.name)
                if isinstance(node, If) and node.condition and command.condition is None:
                    yield from _missed(part, node.condition, f"if {command.name!r}", acquired)
                for arm in command.arms:
                    yield from _unacquired(part, arm.body, nodes, set(acquired))
            case Repeat():
                yield from _unacquired(part, command.body, nodes, set(acquired))
            case _:
                pass


def _missed(part: CorePart, name: str, who: str, acquired: set[tuple[str, int]]) -> Iterator[str]:
    maker = part.imports.get(name)
    if maker is not None and (name, maker) not in acquired:
        yield f"{who} reads {name!r} without waiting for core {maker}, which makes it"


def _circle(streams: Streams) -> list[str]:
    """Cores that wait for one another: each runs as far as it can, whatever path it takes."""
    at = [0] * len(streams)
    released: set[tuple[int, str]] = set()
    moved = True
    while moved:
        moved = False
        for core, commands in enumerate(streams):
            while at[core] < len(commands) and not _lacks(commands[at[core]], released):
                command = commands[at[core]]
                if isinstance(command, Release):
                    released.add((core, command.tensor))
                at[core] += 1
                moved = True
    return [
        f"core {core} waits for {lacked.tensor!r} of core {lacked.core} for ever"
        for core, commands in enumerate(streams)
        if at[core] < len(commands)
        for lacked in _lacks(commands[at[core]], released)[:1]
    ]


def _lacks(command: Command, released: set[tuple[int, str]]) -> list[Acquire]:
    """What some path through ``command`` waits for that is not there."""
    inside = [c for c in walk((command,)) if isinstance(c, Acquire)]
    return [c for c in inside if (c.core, c.tensor) not in released]


# -- Psram -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class _Home:
    """A place in Psram and what lies there: one core's thing, or (``core`` -1) a tensor that several know."""

    start: int
    stop: int
    core: int
    tensor: str


def _in_psram(parts: Sequence[CorePart], streams: Streams) -> list[str]:
    """Places that overlap though they hold different things, and stores over what other cores may read."""
    known = [{*p.program.inputs, *p.imports, *p.exports} for p in parts]
    shared = {n for i, names in enumerate(known) for other in known[:i] for n in names & other}
    homes = {home for core, commands in enumerate(streams) for home in _homes(core, commands, shared)}
    faults = [
        f"{_words(a)} and {_words(b)} share Psram [{b.start}, {min(a.stop, b.stop)})"
        for a, b in _overlaps(sorted(homes))
    ]
    starts: dict[str, set[int]] = {}
    for home in homes:
        if home.core < 0:
            starts.setdefault(home.tensor, set()).add(home.start)
    faults += [
        f"{name!r} lies at {' and '.join(map(str, sorted(at)))} in Psram, depending on the core"
        for name, at in sorted(starts.items())
        if len(at) > 1
    ]
    places = {home.tensor: Interval(home.start, home.stop) for home in homes if home.core < 0}
    for part, commands in zip(parts, streams, strict=True):
        mine = {name: place for name, place in places.items() if name not in part.exports}
        faults += [
            f"core {part.core}: {name!r}, which several cores know, is stored over by {start.name!r}"
            for start in walk(commands)
            if isinstance(start, DmaStart) and start.direction == "store"
            for name, place in mine.items()
            if place.overlaps(start.home)
        ]
        faults += _after_release(part, commands, places)
    return faults


def _homes(core: int, commands: tuple[Command, ...], shared: set[str]) -> set[_Home]:
    """A core's places; one that a shared tensor has is that tensor's, whatever else is kept there before."""
    starts = [c for c in walk(commands) if isinstance(c, DmaStart) and len(c.home)]
    named = {c.home: c.at.part.name for c in starts if not c.at.part.weights and c.at.part.name in shared}
    return {
        _Home(c.home.start, c.home.stop, -1 if c.home in named else core, named.get(c.home, ""))
        for c in starts
    }


def _overlaps(homes: list[_Home]) -> Iterator[tuple[_Home, _Home]]:
    for a, b in pairwise(homes):
        if b.start < a.stop:
            yield a, b


def _after_release(
    part: CorePart, commands: tuple[Command, ...], places: Mapping[str, Interval]
) -> Iterator[str]:
    """Stores over a tensor that other cores may read already."""
    released: dict[str, Interval] = {}
    for command in commands:
        if isinstance(command, Release) and command.tensor in places:
            released[command.tensor] = places[command.tensor]
        for start in walk((command,)):
            if isinstance(start, DmaStart) and start.direction == "store":
                for name, place in released.items():
                    if place.overlaps(start.home):
                        yield f"core {part.core}: {start.name!r} stores over {name!r}, which is released"


def _words(home: _Home) -> str:
    return f"{home.tensor!r}" if home.core < 0 else f"something of core {home.core}"
