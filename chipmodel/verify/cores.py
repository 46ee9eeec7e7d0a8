"""Verify the commands of several cores: each core's on their own, and their use of each other's tensors.

Each core runs a part of the program (see ``chipmodel.model.core_parts``), and ``verify`` proves that its
commands do so, provided that tensors of other cores are in Psram when they are loaded. This module proves
that they are: every load comes after an ``Acquire``, every ``Release`` after all commands that make the
tensor, no two tensors or weights share bytes of Psram, no store overwrites a tensor that another core may
read, and the cores do not deadlock. Nothing is shared with the planners but the vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Acquire, Branch, Command, Compute, DmaStart, Release, Repeat, walk
from chipmodel.model.core_parts import CorePart, Uses, split, uses
from chipmodel.model.program import If, Node, Program, ops
from chipmodel.model.schedule import CascadeOps
from chipmodel.verify.commands import MAX_VIOLATIONS, verify

CoreCommands = Sequence[tuple[Command, ...]]
"""The commands of each core."""


def verify_cores(
    program: Program, streams: CoreCommands, chip: Chip, cascades: Sequence[Sequence[CascadeOps]] = ()
) -> tuple[str, ...]:
    """Describe the first ``MAX_VIOLATIONS`` violations of the commands of each core, which has its own
    ``cascades``."""
    faults: list[str] = []
    runs = [set(_nodes_run(commands)) for commands in streams]
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
        alone = verify(part.program, commands, chip, taking_turns)
        faults += [f"core {part.core}: {fault}" for fault in (*alone, *_protocol(part, commands))]
    faults += _psram_faults(parts, streams)
    faults += _deadlocks(streams)
    return tuple(dict.fromkeys(faults))[:MAX_VIOLATIONS]


def _nodes_run(commands: tuple[Command, ...]) -> Iterator[str]:
    """Names of the nodes that the outermost commands run."""
    for command in commands:
        match command:
            case Compute():
                yield command.op
            case Branch() | Repeat():
                yield command.name
            case _:
                pass


def misplaced_ops(program: Program, core_of: Mapping[str, int]) -> Iterator[str]:
    """Ops that the workload assigns to another core than the plan does."""
    for node in program.body:
        for op in ops((node,)):
            core = core_of.get(node.name, 0)
            if op.core is not None and op.core != core:
                yield f"op {op.name!r} runs on core {core}, the workload assigns it to core {op.core}"


def _inconsistent_tensors(program: Program, found: Uses, core_of: Mapping[str, int]) -> Iterator[str]:
    """Tensors that several cores define, or of which a core may read a newer definition than it should."""
    core_at = [core_of[node.name] for node in program.body]
    for name, definers in found.defined.items():
        cores = {core_at[index] for index in definers}
        if len(cores) > 1:
            yield f"{name!r} is defined on cores {', '.join(map(str, sorted(cores)))}"
        for reader in found.read.get(name, ()):
            if reader < definers[-1] and core_at[reader] not in cores:
                yield f"core {core_at[reader]} reads {name!r}, which another core defines again later"


# -- acquire and release ---------------------------------------------------------------------------


def _protocol(part: CorePart, commands: tuple[Command, ...]) -> list[str]:
    """Loads without an acquire, and releases that are missing, conditional or too early."""
    nodes = {node.name: node for node in part.program.nodes()}
    faults = list(_unacquired(part, commands, nodes, set()))
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
    """Reads of another core's tensors that some path comes to without an acquire; adds to ``acquired``."""
    for command in commands:
        match command:
            case Acquire():
                if (command.tensor, command.core) in acquired:
                    yield f"{command.tensor!r} of core {command.core} is acquired twice"
                acquired.add((command.tensor, command.core))
            case DmaStart() if command.direction == "load" and not command.at.part.weights:
                yield from _read_fault(part, command.at.part.name, f"transfer {command.name!r}", acquired)
            case Branch():
                node = nodes.get(command.name)
                if isinstance(node, If) and node.condition and command.condition is None:
                    yield from _read_fault(part, node.condition, f"if {command.name!r}", acquired)
                for arm in command.arms:
                    yield from _unacquired(part, arm.body, nodes, set(acquired))
            case Repeat():
                yield from _unacquired(part, command.body, nodes, set(acquired))
            case _:
                pass


def _read_fault(part: CorePart, name: str, subject: str, acquired: set[tuple[str, int]]) -> Iterator[str]:
    maker = part.imports.get(name)
    if maker is not None and (name, maker) not in acquired:
        yield f"{subject} reads {name!r} without waiting for core {maker}, which makes it"


def _deadlocks(streams: CoreCommands) -> list[str]:
    """Cores that wait forever: each runs as far as it can on every path."""
    at = [0] * len(streams)
    released: set[tuple[int, str]] = set()
    moved = True
    while moved:
        moved = False
        for core, commands in enumerate(streams):
            while at[core] < len(commands) and not _unreleased(commands[at[core]], released):
                command = commands[at[core]]
                if isinstance(command, Release):
                    released.add((core, command.tensor))
                at[core] += 1
                moved = True
    return [
        f"core {core} waits for {acquire.tensor!r} of core {acquire.core} forever"
        for core, commands in enumerate(streams)
        if at[core] < len(commands)
        for acquire in _unreleased(commands[at[core]], released)[:1]
    ]


def _unreleased(command: Command, released: set[tuple[int, str]]) -> list[Acquire]:
    """The acquires on any path through ``command`` whose tensor is not released yet."""
    inside = [c for c in walk((command,)) if isinstance(c, Acquire)]
    return [c for c in inside if (c.core, c.tensor) not in released]


# -- Psram -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, order=True)
class _PsramRange:
    """Addresses of Psram, and what they hold: data of one core, or (``core`` -1) a tensor of several."""

    start: int
    stop: int
    core: int
    tensor: str

    def __str__(self) -> str:
        return f"{self.tensor!r}" if self.core < 0 else f"data of core {self.core}"


def _psram_faults(parts: Sequence[CorePart], streams: CoreCommands) -> list[str]:
    """Overlapping ranges of Psram, and stores over tensors and weights that other cores may read."""
    shared = _shared_tensors(parts)
    weights = _shared_weights(parts)
    ranges = {
        each
        for part, commands in zip(parts, streams, strict=True)
        for each in _ranges(part, commands, shared, weights)
    }
    faults = [*_overlaps(sorted(ranges)), *_split_tensors(ranges)]
    places = {each.tensor: Interval(each.start, each.stop) for each in ranges if each.core < 0}
    for part, commands in zip(parts, streams, strict=True):
        faults += _stores_over_imports(part, commands, places)
        faults += _stores_after_release(part, commands, places)
    return faults


def _shared_tensors(parts: Sequence[CorePart]) -> set[str]:
    """Tensors that more than one core uses."""
    used = [{*p.program.inputs, *p.imports, *p.exports} for p in parts]
    return {name for i, names in enumerate(used) for other in used[:i] for name in names & other}


def _shared_weights(parts: Sequence[CorePart]) -> set[tuple[str, ...]]:
    """Weights of ops of more than one core, which may lie in one place."""
    used = [{op.constants for op in part.program.ops() if op.constants} for part in parts]
    return {names for i, own in enumerate(used) for other in used[:i] for names in own & other}


def _ranges(
    part: CorePart, commands: tuple[Command, ...], shared: set[str], weights: set[tuple[str, ...]]
) -> set[_PsramRange]:
    """The ranges that a core's transfers use; one that ever holds a shared tensor counts as that tensor's,
    one with shared weights, which nobody may store over, as theirs."""
    constants = {op.name: op.constants for op in part.program.ops() if op.constants in weights}
    held: dict[Interval, str] = {}
    homes: set[Interval] = set()
    for command in walk(commands):
        if isinstance(command, DmaStart) and len(command.home):
            what = command.at.part
            homes.add(command.home)
            if what.weights and what.name in constants:
                held[command.home] = f"{' '.join(constants[what.name])} {_channels(what.share)}"
            elif not what.weights and what.name in shared:
                held[command.home] = what.name
        elif isinstance(command, Compute) and command.weights_at and command.op in constants:
            homes.add(command.weights_at)
            held[command.weights_at] = " ".join(constants[command.op])
    return {
        _PsramRange(home.start, home.stop, -1 if home in held else part.core, held.get(home, ""))
        for home in homes
    }


def _channels(share: Share) -> str:
    return "" if share.whole else f"channels {share.channels} of {share.of_channels}"


def _overlaps(ranges: list[_PsramRange]) -> Iterator[str]:
    """Bytes that two cores, or a core and a shared tensor, have. ``verify`` follows those of one core."""
    before: list[_PsramRange] = []
    for each in ranges:
        before = [other for other in before if other.stop > each.start]
        for other in before:
            if other.core < 0 or other.core != each.core:
                yield f"{other} and {each} share Psram [{each.start}, {min(other.stop, each.stop)})"
        before.append(each)


def _split_tensors(ranges: set[_PsramRange]) -> Iterator[str]:
    """Shared tensors for which the cores use different addresses."""
    starts: dict[str, set[int]] = {}
    for each in ranges:
        if each.core < 0:
            starts.setdefault(each.tensor, set()).add(each.start)
    for name, addresses in sorted(starts.items()):
        if len(addresses) > 1:
            yield f"the cores use {name!r} at {' and '.join(map(str, sorted(addresses)))} in Psram"


def _stores_over_imports(
    part: CorePart, commands: tuple[Command, ...], places: Mapping[str, Interval]
) -> Iterator[str]:
    """Stores over a shared tensor by a core that does not make it."""
    imports = {name: place for name, place in places.items() if name not in part.exports}
    for start in _stores(commands):
        for name, place in imports.items():
            if place.overlaps(start.home):
                yield f"core {part.core}: {start.name!r} stores over {name!r}, which several cores use"


def _stores_after_release(
    part: CorePart, commands: tuple[Command, ...], places: Mapping[str, Interval]
) -> Iterator[str]:
    """Stores over a tensor that other cores may read already."""
    released: dict[str, Interval] = {}
    for command in commands:
        if isinstance(command, Release) and command.tensor in places:
            released[command.tensor] = places[command.tensor]
        for start in _stores((command,)):
            for name, place in released.items():
                if place.overlaps(start.home):
                    yield f"core {part.core}: {start.name!r} stores over {name!r}, which is released"


def _stores(commands: tuple[Command, ...]) -> Iterator[DmaStart]:
    for command in walk(commands):
        if isinstance(command, DmaStart) and command.direction == "store":
            yield command
