"""The instruction stream of the chip's sequencer, with addresses, as plan files hold it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chipmodel.errors import BadInput
from chipmodel.geometry.interval import Interval, StridedBytes
from chipmodel.model.program import MAX_ITERATIONS
from chipmodel.model.schedule import PSRAM, WEIGHTS, Direction, OffChipCopy, Part, Phase, Traffic, traffic_of
from chipmodel.model.tree import walk
from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class Located:
    """A part of a tensor or weight block in SharedMemory; ``bytes`` is the size of its buffer."""

    part: Part
    offset: int
    bytes: int
    touched: Interval | None = None
    """The bytes of the buffer that the op reads or writes; None for all of them."""
    rolls: bool = False
    """Whether the buffer rolls: byte ``x`` of the tensor is at ``offset + (first + x) mod bytes``."""
    in_tensor: bool = False
    """Whether all of the tensor has its place here, and a part lies in it where its share says; otherwise
    the part lies here alone, its bytes one after another from ``offset`` on."""
    runs: int = 1
    """In how many runs of equal length the tensor lies, where it has its place in the output of a concat."""
    pitch: int = 0
    """Bytes from the start of a run to that of the next one; 0 for a single run."""
    advance: int = 0
    """Bytes by which the part, or what is touched of it, moves on with each iteration of the innermost loop:
    from a slice of the tensor to the next one."""
    buffer: str = ""
    """The name of the buffer in SharedMemory that holds it."""
    first: int = 0
    """Where in a rolling buffer the first byte of the tensor has its place: several tensors may share one."""

    @property
    def addresses(self) -> StridedBytes:
        """The addresses of the whole place, in the first iteration."""
        return StridedBytes(self.offset, self.bytes // self.runs, self.runs, self.pitch)

    @property
    def moved(self) -> Interval:
        """The addresses that the op reads or writes, from the first to the last, in the first iteration."""
        touched = Interval(0, self.bytes) if self.touched is None else self.touched
        if self.runs == 1 or not len(touched):
            return Interval(self.offset + touched.start, self.offset + touched.stop)
        return Interval(self._address(touched.start), self._address(touched.stop - 1) + 1)

    def _address(self, byte: int) -> int:
        run, inside = divmod(byte, self.bytes // self.runs)
        return self.offset + run * self.pitch + inside


@dataclass(frozen=True, slots=True)
class DmaStart:
    """Queue a transfer of ``bytes`` between Psram and SharedMemory at ``at.offset``.

    In SharedMemory they are consecutive; in Psram they are ``runs`` equal runs, ``pitch`` bytes from the
    start of one to the start of the next.
    """

    name: str
    direction: Direction
    bytes: int
    at: Located
    op: str
    psram: int = 0
    """The first address in Psram."""
    home: Interval = Interval(0, 0)
    """The addresses in Psram of the whole tensor or weight slice that it moves."""
    runs: int = 1
    pitch: int = 0
    """0 for a single run."""
    advance: int = 0
    """Bytes by which its addresses in Psram move on with each iteration of the innermost loop, from a slice
    of the tensor to the next one; beyond the end of ``home`` they begin at its start again."""
    memory: str = ""
    """The further memory of the chip in which ``home`` is; empty for Psram, or the weights' own memory."""

    @property
    def traffic(self) -> Traffic:
        return traffic_of(self.direction, self.at.part.weights, self.memory)

    @property
    def part(self) -> Part:
        return self.at.part

    @property
    def run_bytes(self) -> int:
        """Bytes of a run, rounded up where elements are narrower than a byte."""
        return -(-self.bytes // self.runs)

    @property
    def psram_end(self) -> int:
        """The address after its last byte in Psram."""
        return self.psram + (self.runs - 1) * self.pitch + self.run_bytes

    @property
    def near(self) -> Interval:
        """The addresses in SharedMemory."""
        start = self.at.moved.start if self.at.rolls else self.at.offset
        return Interval(start, start + self.bytes)

    @property
    def on_psram(self) -> Direction | None:
        """What it does to the home memory of tensors or weights; None where it has no bytes there."""
        return None if self.memory else self.direction

    @property
    def written(self) -> Interval:
        """The addresses off chip that it writes."""
        return self.home if self.direction == "store" else NOWHERE


@dataclass(frozen=True, slots=True)
class DmaMove(OffChipCopy):
    """Queue a copy from one memory off chip to another, for ``op``."""

    op: str

    @property
    def near(self) -> Interval:
        """It has no bytes in SharedMemory."""
        return NOWHERE

    @property
    def on_psram(self) -> Direction | None:
        """What it does to the Psram or the weights' memory; None where it has no bytes in them."""
        if self.memory == PSRAM:
            return "store"
        return "load" if self.source in (PSRAM, WEIGHTS) else None

    @property
    def written(self) -> Interval:
        """The addresses that it writes."""
        return self.target


AnyTransfer = DmaStart | DmaMove
NOWHERE = Interval(0, 0)


def clash(one: AnyTransfer, other: AnyTransfer, same_core: bool = True) -> bool:
    """Whether the two must not be in flight at once: they share bytes, or one writes what the other moves."""
    if same_core and one.near.overlaps(other.near):
        return True
    return (
        one.written.overlaps(other.written)
        or one.written.overlaps(other.home)
        or one.home.overlaps(other.written)
    )


@dataclass(frozen=True, slots=True)
class DmaWait:
    """Go on when the latest transfer of this name has ended; at once if it has been waited for before.
    ``op`` is the op that needs it, or the branch or loop before."""

    name: str
    op: str


@dataclass(frozen=True, slots=True)
class Compute:
    """Run output ``rows`` by ``channels`` by ``columns`` of ``op`` for ``cycles``, and wait for its end."""

    label: str
    op: str
    position: int
    rows: Interval
    channels: Interval
    cycles: int
    reads: tuple[Located, ...]
    writes: tuple[Located, ...]
    phases: tuple[Phase, ...] = ()
    columns: Interval | None = None
    """The output columns that it computes; None for all."""
    weights_at: Interval | None = None
    """The addresses in Psram of all weights of the op, which it reads in place; None where it does not."""


@dataclass(frozen=True, slots=True)
class BranchArm:
    """One arm's commands; possibly none."""

    name: str
    body: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """Run exactly one of the arms. ``condition`` is the deciding tensor, where it lies in SharedMemory."""

    name: str
    arms: tuple[BranchArm, ...]
    condition: Located | None = None


@dataclass(frozen=True, slots=True)
class Repeat:
    """Run ``body`` ``iterations`` times."""

    name: str
    iterations: int
    body: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """Let other cores have ``tensor`` once all of this core's stores of it have ended: a flag that the DMA
    engine raises. ``op`` made it, or runs last in the cascade that made it."""

    tensor: str
    op: str


@dataclass(frozen=True, slots=True)
class Acquire:
    """Go on when ``core`` has released ``tensor`` and its stores of it have ended. ``op`` needs it."""

    tensor: str
    core: int
    op: str

    @property
    def wanted(self) -> str:
        """What is waited for, in words."""
        return f"{self.tensor!r} of core {self.core} before op {self.op!r}"


Plain = DmaStart | DmaMove | DmaWait | Compute | Release | Acquire
"""The commands that remain when branches are decided and loops are unrolled."""
Command = Plain | Branch | Repeat
Anchor = Compute | Branch | Repeat
"""What has a place in the program's tree; every other command belongs to one of these."""


class Deadlock(RuntimeError):
    """Every sequencer waits for another, and no transfer is in flight: the commands are wrong."""


def node_name(anchor: Anchor) -> str:
    """The op, branch or loop that ``anchor`` runs."""
    return anchor.op if isinstance(anchor, Compute) else anchor.name


def operands(command: Command) -> tuple[Located, ...]:
    """What ``command`` moves, reads or writes in SharedMemory."""
    match command:
        case DmaStart():
            return (command.at,)
        case Compute():
            return (*command.reads, *command.writes)
        case Branch() if command.condition:
            return (command.condition,)
        case _:
            return ()


def along(commands: tuple[Command, ...], path: Mapping[str, str]) -> Iterator[Plain]:
    """The commands that run on ``path``, by the arm of each branch and iterations of each loop."""
    for command in commands:
        match command:
            case Branch():
                yield from along(next(a.body for a in command.arms if a.name == path[command.name]), path)
            case Repeat():
                for _ in range(int(path[command.name])):
                    yield from along(command.body, path)
            case _:
                yield command


def resolve_path(commands: tuple[Command, ...], choices: Mapping[str, str]) -> dict[str, str]:
    """The decision at each branch (an arm's name) and loop (its iterations), by name.

    Without a choice it is the first arm, or the loop's own iterations. Raises BadInput for a choice of an
    unknown name or arm, or of iterations that are not a number.
    """
    path: dict[str, str] = {}
    for command in walk(commands):
        if isinstance(command, Branch):
            path[command.name] = _arm(command, choices)
        elif isinstance(command, Repeat):
            path[command.name] = _iterations(command, choices)
    for name in choices:
        if name not in path:
            hint = f"there are: {', '.join(path)}" if path else "the workload has no if and no loop"
            raise BadInput(f"--path names {name!r}, which is not an if or loop", hint=hint)
    return path


def _arm(branch: Branch, choices: Mapping[str, str]) -> str:
    names = [arm.name for arm in branch.arms]
    chosen = choices.get(branch.name, names[0])
    if chosen not in names:
        raise BadInput(
            f"--path {branch.name}={chosen}: the if has no such arm", hint=f"one of {', '.join(names)}"
        )
    return chosen


def _iterations(loop: Repeat, choices: Mapping[str, str]) -> str:
    chosen = choices.get(loop.name, str(loop.iterations))
    number = chosen.lstrip("0") or chosen[:1]
    if not (number.isascii() and number.isdigit()) or len(number) > 9 or int(number) > MAX_ITERATIONS:
        raise BadInput(
            f"--path {loop.name}={chosen[:60]}: a loop takes a number of iterations",
            hint=f"0 to {MAX_ITERATIONS:,}, as in --path {loop.name}=3",
        )
    return number
