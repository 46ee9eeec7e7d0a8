"""Addresses in Psram: what a plan keeps where, and what a store there destroys.

Tensors may lie in the same bytes at different times. The abstract machine of ``verify`` follows them: a
store of one ends what it knows of all others whose bytes it touches. Weights are never destroyed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE, Share
from chipmodel.model.commands import AnyTransfer, Command, Compute, DmaMove, DmaStart
from chipmodel.model.program import Op, Program, ops
from chipmodel.model.schedule import PSRAM, WEIGHTS, Part
from chipmodel.model.tree import walk
from chipmodel.records import dataclass
from chipmodel.verify.parts import part_label
from chipmodel.verify.places import bytes_of_share


@dataclass(frozen=True, slots=True)
class _Tenant:
    """A tensor, or a slice of an op's weights, in a home."""

    name: str
    weights: tuple[str, ...] = ()
    share: Share = WHOLE
    channels: int = 1
    """Channels each of which has its share of several weights."""

    def __str__(self) -> str:
        return f"weights of {self.name!r}" if self.weights else repr(self.name)


@dataclass(frozen=True, slots=True)
class PsramPlace:
    """Where a part lies in Psram: its first address, its runs of bytes, and from one's start to the next."""

    start: int
    runs: int = 1
    pitch: int = 0

    def __str__(self) -> str:
        if self.runs == 1:
            return f"one run of bytes at {self.start} of Psram"
        return f"{self.runs} runs of bytes, {self.pitch} apart, at {self.start} of Psram"


def thing(part: Part) -> Part:
    """What a move copies of ``part``: its whole tensor, or its slice of weights."""
    return part if part.weights else Part(part.name)


def memory_fault(memory: str, home: Interval, capacity: int, further: Mapping[str, Interval]) -> str | None:
    """Say why ``home`` does not lie in the memory of that name; None where it does. The chip has ``capacity``
    bytes of Psram and weights' memory, and the addresses of ``further`` memories."""
    inside = Interval(0, capacity) if memory in ("", PSRAM, WEIGHTS) else further.get(memory)
    if inside is None:
        return f"{home} lies in {memory!r}, which the chip does not have"
    if home.start < inside.start or home.stop > inside.stop:
        return f"{home} lies beyond {memory or PSRAM!r}, which has {inside}"
    return None


def psram_uses(commands: tuple[Command, ...]) -> Iterator[tuple[str, Part, Interval, str]]:
    """What transfers move, and weights that steps read in place: who does, what, its place off chip, and the
    further memory that this is in. What is loaded from where a move has copied it counts at its home."""
    copied = {(thing(c.part), c.target) for c in walk(commands) if isinstance(c, DmaMove)}
    for command in walk(commands):
        if isinstance(command, DmaStart):
            part = thing(command.at.part)
            if command.direction == "store" or (part, command.home) not in copied:
                yield f"transfer {command.name!r}", part, command.home, command.memory
        elif isinstance(command, DmaMove):
            memory = "" if command.source in (PSRAM, WEIGHTS) else command.source
            yield f"transfer {command.name!r}", thing(command.part), command.home, memory
        elif isinstance(command, Compute) and command.weights_at is not None:
            yield f"step {command.label!r}", Part(command.op, weights=True), command.weights_at, ""


class PsramMap:
    """The homes in Psram of all that the commands of a plan move."""

    def __init__(self, program: Program, commands: tuple[Command, ...]) -> None:
        self.program = program
        self.ops = {op.name: op for op in ops(program.body)}
        self.overwritten = {n: op.overwrites for op in self.ops.values() for n in op.outputs if op.overwrites}
        uses = [*psram_uses(commands)]
        self.further = {home for _, _, home, memory in uses if memory}
        """Homes in further memories."""
        moves = [command for command in walk(commands) if isinstance(command, DmaMove)]
        self.targets = {(thing(move.part), move.target) for move in moves}
        """What moves copy, and where to."""
        tenants = {(home, self._tenant(part)) for _, part, home, _ in uses if len(home)}
        self.tenants = sorted(tenants, key=lambda each: (each[0], str(each[1])))
        """What lies off chip, by address."""

    def _tenant(self, part: Part) -> _Tenant:
        if not part.weights:
            return _Tenant(part.name)
        op = self.ops.get(part.name)
        weights = op.constants if op else (part.name,)
        share = WHOLE if op and op.gathers else part.share
        return _Tenant(part.name, weights, share, _channels(op) if op else 1)

    def storage(self, name: str) -> str:
        """The first tensor in the chain of those that ``name`` overwrites in place."""
        seen = {name}
        while (before := self.overwritten.get(name)) is not None and before not in seen:
            seen.add(before)
            name = before
        return name

    def reads_copy(self, start: DmaStart) -> bool:
        """Whether a transfer loads what a move of the plan copies to where it looks for it."""
        return start.direction == "load" and (thing(start.at.part), start.home) in self.targets

    def clash(self, a: AnyTransfer, b: AnyTransfer) -> bool:
        """Whether one of the two destroys the other's data."""
        touch = a.written.overlaps(b.written) or a.written.overlaps(b.home) or a.home.overlaps(b.written)
        one_place = isinstance(a, DmaStart) and isinstance(b, DmaStart) and a.home == b.home
        return touch and not (one_place and self._in_place(a.part, b.part))

    def _in_place(self, a: Part | _Tenant, b: Part | _Tenant) -> bool:
        """Whether both are one tensor, or one has the other's memory, as an op overwrites it."""
        return not (a.weights or b.weights) and self.storage(a.name) == self.storage(b.name)

    def home_bytes(self, part: Part) -> int:
        """Bytes of the home of ``part``: its weight slice, its whole look-up table, or its whole tensor."""
        op = self.ops.get(part.name)
        if part.weights:
            return 0 if op is None else self._weight_bytes(part)
        return self.program.psram_bytes(part.name) if part.name in self.program.tensors else 0

    def _weight_bytes(self, part: Part) -> int:
        op = self.ops[part.name]
        return self.program.table_bytes(op) if op.gathers else part.share.bytes(self.program.block_bytes(op))

    def place(self, part: Part, home: Interval) -> PsramPlace:
        """Where ``part`` lies in its ``home``: weights at its start, a tensor row by row, then channels."""
        tensor = self.program.tensors.get(part.name)
        spans = [] if part.weights or tensor is None else [*bytes_of_share(part.share, tensor.bytes)]
        if not spans:
            return PsramPlace(home.start)
        pitch = spans[1].start - spans[0].start if len(spans) > 1 else 0
        return PsramPlace(home.start + spans[0].start, len(spans), pitch)

    def range_faults(self, start: DmaStart) -> Iterator[str]:
        """What is wrong with the addresses of a transfer: its home has the size of what it moves, which has
        its own place there."""
        part, home, end = start.at.part, start.home, start.psram_end
        subject = f"transfer {start.name!r} moves"
        if not home.start <= start.psram <= end <= home.stop:
            yield f"{subject} [{start.psram}, {end}) of Psram, beyond {home}"
        size = self.home_bytes(part)
        if len(home) != size:
            yield f"{subject} {part_label(part)}, which takes {size} bytes of Psram, not {home}"
        place, moves = self.place(part, home), PsramPlace(start.psram, start.runs, start.pitch)
        if moves != place:
            yield f"{subject} {part_label(part)} as {moves}, expected {place}"

    def in_place_faults(self, op: Op, step: Compute) -> Iterator[str]:
        """What is wrong with the weights that a step reads in place: all of its op, none of an op that loads
        its weights."""
        if (step.weights_at is None) != (op.weights_in_place is None):
            where = "does not read" if step.weights_at is None else "reads"
            yield f"step {step.label!r} {where} the weights of {op.name!r} in place"
        elif step.weights_at is not None and len(step.weights_at) != self.program.table_bytes(op):
            yield f"step {step.label!r} reads weights of {len(step.weights_at)} bytes in place"

    def destroyed_by(self, store: DmaStart) -> set[str]:
        """Names of the other tensors that have bytes where ``store`` puts its tensor."""
        here = ((home, t) for home, t in self.tenants if home.overlaps(store.home) and not t.weights)
        return {t.name for home, t in here if home != store.home or not self._in_place(t, store.at.part)}

    def under(self, target: Interval) -> tuple[set[str], bool]:
        """Return the names of the tensors that have bytes in the target of a move, and whether weights do."""
        tenants = [tenant for home, tenant in self.tenants if home.overlaps(target)]
        return {t.name for t in tenants if not t.weights}, any(t.weights for t in tenants)

    def faults(self, capacity: int) -> Iterator[str]:
        """What lies beyond Psram, what is in several places, also as equal slices of the same weights, and
        what shares bytes but never may: weights, the program's inputs."""
        end = max((home.stop for home, _ in self.tenants if home not in self.further), default=0)
        if end > capacity:
            yield f"the plan needs {end} bytes of Psram, the chip has {capacity}"
        places: dict[object, Interval] = {}
        before: list[tuple[Interval, _Tenant]] = []
        for home, tenant in self.tenants:
            content = tenant.weights, tenant.share, tenant.channels
            first = places.setdefault(content if tenant.weights else tenant.name, home)
            if first != home:
                yield f"{tenant} in Psram: at {first} and at {home}"
            before = [each for each in before if each[0].stop > home.start]
            for _, other in before:
                if self._never_share(other, tenant):
                    yield f"{other} and {tenant} share Psram {home}"
            before.append((home, tenant))

    def _never_share(self, a: _Tenant, b: _Tenant) -> bool:
        if a.weights and b.weights:
            return a.name == b.name or (a.weights, a.share, a.channels) != (b.weights, b.share, b.channels)
        inputs = self.program.inputs
        return bool(a.weights or b.weights) or (a.name in inputs and b.name in inputs)


def _channels(op: Op) -> int:
    several = len(op.constants) > 1 and not op.gathers
    return op.work.channels if several else 1
