"""Runs a plan's commands on an abstract machine that knows what every byte holds.

Nothing here is shared with the planners but the vocabulary. The machine follows the program's tree:
every arm of every ``if`` from the same state, every loop until its state repeats. It proves that each
step finds exactly the operands that the program gives it where the plan says they are, complete and
of the newest definition; that no byte is overwritten while it is needed or in flight; that nothing
lies outside of SharedMemory; and that the program's outputs end up in Psram.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise

from chipmodel.chip.chip import Chip
from chipmodel.model.commands import (
    Acquire,
    Branch,
    Command,
    Compute,
    DmaStart,
    DmaWait,
    Located,
    Release,
    Repeat,
    walk,
)
from chipmodel.model.interval import Interval
from chipmodel.model.plan import Buffer, Plan, Problem
from chipmodel.model.program import NO_SHARE, Arm, If, Loop, Node, Op, Program, ops
from chipmodel.model.schedule import Part
from chipmodel.model.work import WHOLE, Share, by_channels
from chipmodel.npu.cycles import op_cycles, op_phases
from chipmodel.passes.in_place import left_to_move, places_in_concat
from chipmodel.plan_file.document import PlanFile
from chipmodel.verify.memory_state import MemoryState
from chipmodel.verify.offsets import check

MOST_VIOLATIONS = 20
MOST_ITERATIONS = 8
"""A loop's state repeats after the second iteration of any sane plan; one that never settles is reported."""


def verify(program: Program, commands: tuple[Command, ...], chip: Chip) -> tuple[str, ...]:
    """What is wrong with the plan, in words, the first ``MOST_VIOLATIONS``; empty for a correct one."""
    checker = _Checker(program, chip)
    state = checker.block(program.body, commands, MemoryState(frozenset(program.inputs)))
    for name in program.outputs:
        if name in checker.defined and not state.in_psram(name):
            checker.report(f"output {name!r} is not completely in Psram at the end")
    checker.apart_in_psram()
    for name in state.in_flight:
        checker.report(f"nobody waits for transfer {name!r}")
    return tuple(dict.fromkeys(checker.violations))[:MOST_VIOLATIONS]


class _Checker:
    def __init__(self, program: Program, chip: Chip) -> None:
        self.program = program
        self.chip = chip
        self.capacity = chip.shared_memory.bytes
        self.ops = {op.name: op for op in ops(program.body)}
        self.defined = {name for op in self.ops.values() for name in op.outputs}
        self.violations: list[str] = []
        self.homes: dict[tuple[str, bool, Share], Interval] = {}

    def report(self, text: str) -> None:
        self.violations.append(text)

    # -- the tree ------------------------------------------------------------------------------

    def block(self, body: tuple[Node, ...], commands: tuple[Command, ...], state: MemoryState) -> MemoryState:
        """Run one straight block and everything inside it."""
        nodes = {node.name: node for node in body}
        covered: dict[str, list[Compute]] = {}
        entered: list[str] = []
        for command in commands:
            match command:
                case DmaStart():
                    self.start(command, state)
                case DmaWait():
                    for fault in state.wait(command.name):
                        self.report(fault)
                case Compute():
                    self.compute(command, state)
                    covered.setdefault(command.op, []).append(command)
                case Branch():
                    entered.append(command.name)
                    state = self.branch(nodes.get(command.name), command, state)
                case Repeat():
                    entered.append(command.name)
                    state = self.repeat(nodes.get(command.name), command, state)
                case Release() | Acquire():
                    pass  # verify_cores follows what the cores tell one another
        self._coverage(body, covered, entered)
        return state

    def branch(self, node: Node | None, branch: Branch, state: MemoryState) -> MemoryState:
        if not isinstance(node, If):
            self.report(f"the plan branches at {branch.name!r}, the program does not")
            return state
        if branch.condition is not None:
            self._holds(branch.condition, Part(node.condition or ""), f"if {branch.name!r}", state)
        elif node.condition is not None and not state.in_psram(node.condition) and any(ops((node,))):
            self.report(f"if {branch.name!r} finds {node.condition!r} neither in SharedMemory nor in Psram")
        arms = {arm.name: arm for arm in branch.arms}
        if list(arms) != [arm.name for arm in node.arms]:
            self.report(f"if {branch.name!r} has arms {list(arms)}, not those of the program")
            return state
        ends = [self._arm(arm, arms[arm.name].body, state) for arm in node.arms]
        joined = ends[0]
        for end in ends[1:]:
            if not end.leaves_like(joined):
                self.report(f"the arms of {branch.name!r} leave different transfers in flight")
            joined = joined.common(end)
        return joined

    def _arm(self, arm: Arm, commands: tuple[Command, ...], state: MemoryState) -> MemoryState:
        return self.block(arm.body, commands, state.copy())

    def repeat(self, node: Node | None, loop: Repeat, state: MemoryState) -> MemoryState:
        if not isinstance(node, Loop) or node.iterations != loop.iterations:
            self.report(f"the plan's loop {loop.name!r} is not the program's")
            return state
        before = state
        after: MemoryState | None = None
        for _ in range(MOST_ITERATIONS if loop.iterations else 0):
            end = self.block(node.body, loop.body, state.copy())
            after = end if after is None else after.common(end)
            if end.same_as(state):
                break
            state = end
        else:
            if loop.iterations:
                self.report(f"loop {loop.name!r} leaves memory in another state on every iteration")
        if after is None:
            return state
        if not after.leaves_like(before):
            self.report(f"loop {loop.name!r} leaves transfers in flight that no iteration may have started")
        return after.unless_skipped(before)

    def _coverage(
        self, body: tuple[Node, ...], covered: dict[str, list[Compute]], entered: list[str]
    ) -> None:
        for node in body:
            if not isinstance(node, Op):
                if entered.count(node.name) != 1:
                    self.report(f"{node.name!r} runs {entered.count(node.name)} times in its block")
                continue
            tiles = covered.pop(node.name, [])
            area = sum(len(t.rows) * len(t.channels) for t in tiles)
            if area != node.work.rows * node.work.channels or _clash(tiles):
                self.report(f"the steps of op {node.name!r} do not cover its work exactly once")
        for name in covered:
            self.report(f"op {name!r} runs in a block that it does not belong to")

    # -- single commands -----------------------------------------------------------------------

    def start(self, start: DmaStart, state: MemoryState) -> None:
        part, who = start.at.part, f"transfer {start.name!r}"
        self._inside(start.at, who)
        self._at_home(start, part, who)
        size = self._size(part)
        if size is None:
            self.report(f"{who} moves {part.name!r}, which the program does not have")
        elif size != start.bytes:
            self.report(f"{who} moves {start.bytes} bytes of a part of {size}")
        elif start.bytes > start.at.bytes:
            self.report(f"{who} moves {start.bytes} bytes into a buffer of {start.at.bytes}")
        if start.direction == "load" and not part.weights and not state.can_load(part):
            self.report(f"{who} loads {part.name!r}, which is not completely in Psram")
        if start.direction == "store":
            self._holds(start.at, part, who, state)
        for fault in state.start(start):
            self.report(fault)

    def _at_home(self, start: DmaStart, part: Part, who: str) -> None:
        """A transfer stays within what it moves, whose place in Psram never changes."""
        home, end = start.home, start.psram + start.bytes
        if not home.start <= start.psram <= end <= home.stop:
            self.report(f"{who} moves [{start.psram}, {end}) of Psram, beyond [{home.start}, {home.stop})")
        key = (part.name, part.weights, part.share if part.weights else WHOLE)
        if self.homes.setdefault(key, home) != home:
            self.report(f"{who} moves {_words(part)} from two places in Psram")

    def apart_in_psram(self) -> None:
        """Two things share addresses in Psram only where one overwrites the other."""
        whose: dict[Interval, set[str]] = {}
        for (name, weights, _), home in self.homes.items():
            whose.setdefault(home, set()).add(f"weights of {name}" if weights else self._storage(name))
        for home, names in whose.items():
            if len(names) > 1 and len(home):
                self.report(f"{', '.join(sorted(names))} share Psram [{home.start}, {home.stop})")
        for before, after in pairwise(sorted(home for home in whose if len(home))):
            if before.overlaps(after):
                self.report(
                    f"Psram [{before.start}, {before.stop}) and [{after.start}, {after.stop}) overlap"
                )

    def _storage(self, name: str) -> str:
        overwritten = {n: op.overwrites for op in self.ops.values() for n in op.outputs if op.overwrites}
        while name in overwritten:
            name = overwritten.pop(name)
        return name

    def compute(self, step: Compute, state: MemoryState) -> None:
        op = self.ops.get(step.op)
        if op is None:
            self.report(f"step {step.label!r} runs {step.op!r}, which is no op of the program")
            return
        who = f"step {step.label!r}"
        self._cost(op, step, who)
        for part in self._wanted(op, step):
            found = [r for r in step.reads if _same_thing(r.part, part) and _includes(r.part, part)]
            if not found:
                self.report(f"{who} does not read {_words(part)}")
            for read in found:
                self._holds(read, read.part, who, state)
        for name in op.outputs:
            part = Part(name, op.writes(name, step.rows, step.channels))
            found = [w for w in step.writes if w.part == part]
            if op.allocates:
                for fault in state.allocate(name, who):
                    self.report(fault)
            elif not found:
                self.report(f"{who} does not write {_words(part)}")
            for write in found:
                self._write(write, step, op, state)

    def _cost(self, op: Op, step: Compute, who: str) -> None:
        """The chip's cycles for what there is to do; nothing where a concat finds all in place."""
        left = left_to_move(self.program, op, self._placed(op, step))
        tile = (len(step.rows), len(step.channels))
        cycles = op_cycles(self.chip.npu, left, *tile) if left else 0
        if step.cycles != cycles:
            self.report(f"{who} takes {cycles} cycles on {self.chip.name}, not {step.cycles}")
        if step.phases != (op_phases(self.chip.npu, left, *tile) if left else ()):
            self.report(f"{who} has other phases on {self.chip.name}")

    def _placed(self, op: Op, step: Compute) -> frozenset[str]:
        """Inputs of a concat that lie whole where its output has them."""
        if not op.absorbs:
            return frozenset()
        places = places_in_concat(self.program, op)
        starts = {w.offset for w in step.writes if w.part == Part(op.outputs[0])}
        return frozenset(
            read.part.name
            for read in step.reads
            if read.part.name in op.absorbs
            and read.part.share == WHOLE
            and starts == {read.offset - places[read.part.name]}
        )

    def _wanted(self, op: Op, step: Compute) -> Iterator[Part]:
        for index, name in enumerate(op.inputs):
            share = op.reads(index, step.rows, step.channels)
            if share != NO_SHARE:
                yield Part(name, share)
        if self.program.block_bytes(op):
            yield Part(op.name, by_channels(step.channels, op.work.channels), weights=True)

    def _write(self, write: Located, step: Compute, op: Op, state: MemoryState) -> None:
        who = f"step {step.label!r}"
        self._inside(write, who)
        size = self._size(write.part) or 0
        if write.bytes < size:
            self.report(f"{who} writes {size} bytes into a buffer of {write.bytes}")
        placed = self._placed(op, step)
        for read in step.reads:
            over = read.part.name in (op.overwrites, write.part.name) and read.offset == write.offset
            if _overlap(read, write) and not over and read.part.name not in placed:
                self.report(f"{who} writes {_words(write.part)} over its own operand {_words(read.part)}")
        accumulates = write.bytes >= self.program.tensors[write.part.name].bytes
        if write.part.name in op.inputs and (op.collects or write.part.share != WHOLE):
            faults = state.update(write, who, accumulates, passes=not op.collects)
        else:
            faults = state.write(write, who, accumulates)
        for fault in faults:
            self.report(fault)

    def _holds(self, place: Located, part: Part, who: str, state: MemoryState) -> None:
        self._inside(place, who)
        if not _same_thing(place.part, part):
            self.report(f"{who} looks for {_words(part)} where {_words(place.part)} lies")
        fault = state.missing(place)
        if fault:
            self.report(f"{who}: {fault}")

    def _inside(self, place: Located, who: str) -> None:
        if place.offset < 0 or place.offset + place.bytes > self.capacity:
            end = place.offset + place.bytes
            self.report(f"{who} uses bytes [{place.offset}, {end}) of a memory of {self.capacity}")

    def _size(self, part: Part) -> int | None:
        if part.weights:
            op = self.ops.get(part.name)
            return part.share.bytes(self.program.block_bytes(op)) if op else None
        tensor = self.program.tensors.get(part.name)
        return part.share.bytes(tensor.bytes) if tensor else None


def _places(command: Command) -> tuple[Located, ...]:
    match command:
        case DmaStart():
            return (command.at,)
        case Compute():
            return (*command.reads, *command.writes)
        case _:
            return ()


def _clash(tiles: list[Compute]) -> bool:
    """Whether two tiles share work: band by band where they lie in bands of rows, else pair by pair."""
    bands: dict[Interval, list[Interval]] = {}
    for tile in tiles:
        bands.setdefault(tile.rows, []).append(tile.channels)
    if not _any_overlap(bands):
        return any(_any_overlap(channels) for channels in bands.values())
    pairs = combinations(tiles, 2)
    return any(a.rows.overlaps(b.rows) and a.channels.overlaps(b.channels) for a, b in pairs)


def _any_overlap(intervals: Iterable[Interval]) -> bool:
    """Of sorted intervals with points in them, some neighbours overlap if any two do."""
    return any(a.overlaps(b) for a, b in pairwise(sorted(i for i in intervals if len(i))))


def _same_thing(a: Part, b: Part) -> bool:
    return a.name == b.name and a.weights == b.weights


def _includes(outer: Part, inner: Part) -> bool:
    return outer.share in (WHOLE, inner.share)


def _overlap(a: Located, b: Located) -> bool:
    return max(a.offset, b.offset) < min(a.offset + a.bytes, b.offset + b.bytes)


def _words(part: Part) -> str:
    what = f"weights of {part.name!r}" if part.weights else repr(part.name)
    if part.share == WHOLE:
        return what
    share = part.share
    return (
        f"{what} (rows [{share.rows.start}, {share.rows.stop}) of {share.of_rows}, channels "
        f"[{share.channels.start}, {share.channels.stop}) of {share.of_channels})"
    )


def verify_file(program: Program, plan: PlanFile, chip: Chip) -> tuple[str, ...]:
    """``verify`` for a plan file, and that its buffers, capacity and peak say what its commands do."""
    faults = list(buffer_faults(program, plan, chip))
    return (*faults, *verify(program, plan.commands, chip))[:MOST_VIOLATIONS]


def _gathered(program: Program) -> frozenset[str]:
    """Tensors that may lie in a part of a buffer: the inputs of a concat, in its output, and what those
    have overwritten."""
    every = list(ops(program.body))
    old = {name: op.overwrites for op in every for name in op.outputs if op.overwrites}
    names: list[str] = [name for op in every for name in op.absorbs]
    for name in names:
        if name in old:
            names.append(old[name])
    return frozenset(names)


def _inside_buffer(place: Located, plan: PlanFile) -> bool:
    end = place.offset + place.bytes
    return any(b.offset <= place.offset and end <= b.offset + b.bytes for b in plan.buffers)


def buffer_faults(program: Program, plan: PlanFile, chip: Chip) -> Iterator[str]:
    """Where what a plan file says of its buffers is not what its commands do, or cannot be."""
    if plan.capacity_bytes != chip.shared_memory.bytes:
        has = chip.shared_memory.bytes
        yield f"the plan is for {plan.capacity_bytes} bytes of SharedMemory, the chip has {has}"
    peak = max((b.offset + b.bytes for b in plan.buffers), default=0)
    if peak != plan.peak_bytes:
        yield f"the plan says its peak is {plan.peak_bytes} bytes, its buffers end at {peak}"
    for name, count in Counter(b.name for b in plan.buffers).items():
        if count > 1:
            yield f"{count} buffers of the plan are called {name!r}"
    known = {(b.offset, b.bytes) for b in plan.buffers}
    gathered = _gathered(program)
    for command in walk(plan.commands):
        for place in _places(command):
            if (place.offset, place.bytes) in known:
                continue
            if place.part.name not in gathered or not _inside_buffer(place, plan):
                what = _words(place.part)
                yield f"{what} is at {place.offset} in {place.bytes} bytes, which is no buffer of the plan"
    problem = Problem(tuple(Buffer(b.name, b.bytes, b.live) for b in plan.buffers), chip.shared_memory.bytes)
    yield from check(problem, Plan({b.name: b.offset for b in plan.buffers}))
