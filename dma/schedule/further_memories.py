"""Which tensors and weights lie in further memories of a chip, and which moves bring them there.

A schedule first has all that leaves SharedMemory in Psram. Then each tensor or weight slice, the one that
saves the most cycles of the DMA engine a byte first, gets the first of these that has room and saves any:

* a tensor that the plan makes has its *home* in a further memory, for its whole life off chip;
* what is read from Psram or the weights' memory has a *copy* in a further memory: a move brings it there
  before the first of the loads that read the copy.

Inputs and outputs of the program have their homes in Psram, where the host writes and reads them. Moves begin
and end outside of branches and loops. Of all in Psram, homes alone, and homes with moves, the schedule with
the fewest forecast cycles is taken.

Source: chipmodel; docs/decisions/0149-further-memories.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from itertools import accumulate

from chipmodel.geometry.interval import Interval
from chipmodel.geometry.rounding import round_up
from chipmodel.hardware.chip import Chip
from chipmodel.model.fit import OFF_CHIP_ALIGNMENT, further_addresses, off_chip_bytes
from chipmodel.model.program import Program
from chipmodel.model.schedule import (
    PSRAM,
    WEIGHTS,
    Hop,
    OffChipMove,
    Part,
    Schedule,
    Step,
    StepIf,
    StepLoop,
    StepNode,
    Transfer,
    steps,
)
from chipmodel.records import dataclass
from chipmodel.verify.parts import part_label
from dma.schedule.forecast import TransferTimes
from dma.schedule.path_forecast import ScheduleForecast
from dma.schedule.psram_sharing import at_homes, changed_in_parts

HIDDEN = 2
"""A move is issued so early that ops compute for this many times its cycles before it is waited for (assumed:
half of the DMA engine's time is left for other transfers)."""
MOST_SPLITS = 8
"""Places in the order of a tensor's loads at which a move is tried, those that save the most (assumed)."""


def in_further_memories(program: Program, schedule: Schedule, chip: Chip, capacity: int) -> Schedule:
    """Return ``schedule`` with what lies in further memories of ``chip``, which has some.

    Parameters
    ----------
    schedule : Schedule
        With all homes apart, in Psram and the weights' memory.
    capacity : int
        Bytes off chip without further memories. A schedule that needs more has no moves.
    """
    homes, moves = (with_further_memories(program, schedule, chip, each) for each in (False, True))
    if off_chip_bytes(schedule) > capacity or off_chip_bytes(moves) > capacity:
        return homes
    forecast = ScheduleForecast(program, chip)
    return min((homes, moves, schedule), key=forecast.cycles)


def with_further_memories(program: Program, schedule: Schedule, chip: Chip, moves: bool = True) -> Schedule:
    """Return ``schedule`` with homes in further memories of ``chip``, and with ``moves`` where asked for,
    whether or not it becomes faster. Its homes are apart, in Psram and the weights' memory."""
    return packed(_Placer(program, schedule, chip).placed(moves))


def packed(schedule: Schedule) -> Schedule:
    """Return ``schedule`` with its homes in Psram one after another, in the order of their addresses."""
    used = {t.home for t in schedule.transfers if not t.memory} | {*schedule.weights_in_place.values()}
    used |= {move.home for move in schedule.moves}
    new: dict[Interval, Interval] = {}
    end = 0
    for home in sorted(used):
        new[home] = Interval(end, end + len(home))
        end += round_up(len(home), OFF_CHIP_ALIGNMENT)
    found = at_homes(schedule, new)
    moves = tuple(replace(move, home=new[move.home]) for move in schedule.moves)
    return replace(found, moves=moves)


@dataclass(frozen=True, slots=True)
class _Split:
    """A move at positions ``issue`` to ``due``. The transfers ``near`` use the further memory, throughout the
    positions ``life``; ``gain``: DMA cycles saved."""

    gain: int
    issue: int
    due: int
    near: frozenset[str]
    life: Interval


@dataclass
class _Space:
    """Addresses of a further memory, and when each is in use."""

    addresses: Interval
    taken: list[tuple[Interval, tuple[Interval, ...]]] = field(
        default_factory=list[tuple[Interval, tuple[Interval, ...]]]
    )

    def take(self, size: int, life: tuple[Interval, ...]) -> Interval | None:
        """Take and return the lowest ``size`` bytes that are free throughout ``life``; None for none."""
        busy = sorted(at for at, lives in self.taken if any(a.overlaps(b) for a in lives for b in life))
        start = self.addresses.start
        for at in busy:
            if start + size <= at.start:
                break
            start = max(start, round_up(at.stop, OFF_CHIP_ALIGNMENT))
        if start + size > self.addresses.stop:
            return None
        self.taken.append((Interval(start, start + size), life))
        return self.taken[-1][0]


class _Placer:
    """Places what one schedule moves."""

    def __init__(self, program: Program, schedule: Schedule, chip: Chip) -> None:
        self.program, self.schedule, self.chip = program, schedule, chip
        self.cycles_of = TransferTimes(chip)
        self.spaces = {name: _Space(at) for name, at in further_addresses(chip).items()}
        computes = [step.cycles for step in steps(schedule.body)]
        self.before = [0, *accumulate(computes)]
        """Cycles that ops compute before each position."""
        self.outer: list[Interval] = []
        """For each position, those of the step, branch or loop outside of all others that it is in."""
        self.alone: list[bool] = []
        """For each position, whether its step is outside of branches and loops."""
        self.times: list[int] = []
        for node in schedule.body:
            counts = list(_times((node,)))
            at = Interval(len(self.times), len(self.times) + len(counts))
            self.outer += [at] * len(counts)
            self.alone += [isinstance(node, Step)] * len(counts)
            self.times += counts
        self.new: dict[str, tuple[str, Interval]] = {}
        """The memory and the home of each transfer that uses a further memory, by its name."""
        self.moves: list[OffChipMove] = []

    def placed(self, moves: bool) -> Schedule:
        """Return the schedule with homes in further memories, and with ``moves`` where asked for."""
        groups: dict[Interval, list[Transfer]] = {}
        for transfer in self.schedule.transfers:
            groups.setdefault(transfer.home, []).append(transfer)
        movable = [home for home, group in groups.items() if len(home) and self._may_move(group)]
        homed = {home for home in movable if self._may_have_home(groups[home])}
        most = {home: max(self._saving(groups[home], name) for name in self.spaces) for home in movable}
        savings = {home: saving / len(home) for home, saving in most.items()}
        for home in sorted(movable, key=lambda each: (-savings[each], each)):
            group = groups[home]
            if home in homed and self._home(home, group):
                continue
            if moves and len({_thing(t.part) for t in group}) == 1:
                self._copy(home, group)
        return self._schedule()

    # -- what may be placed --------------------------------------------------------------------

    def _may_move(self, group: Sequence[Transfer]) -> bool:
        """Whether a move copies all of what the transfers move: not slices of a loop, or rows of a table."""
        slices = self.program.stays_in_psram if self.program.inferences > 1 else frozenset[str]()
        kept = changed_in_parts(self.program) | slices
        whole = (t.bytes == len(t.home) if t.part.weights else t.part.name not in kept for t in group)
        return all(whole) and not any(t.advance for t in group)

    def _may_have_home(self, group: Sequence[Transfer]) -> bool:
        """Whether the plan makes the tensor, for itself alone."""
        program = self.program
        outside = {*program.inputs, *program.outputs, *program.conditions.values()}
        return not any(t.part.weights or t.part.name in outside for t in group)

    def _saving(self, group: Iterable[Transfer], memory: str) -> int:
        """DMA cycles that the transfers save in a further memory, of one run."""
        return sum(
            self.times[t.due if t.direction == "load" else t.issue]
            * (self.cycles_of.of(t) - self.cycles_of.of(replace(t, memory=memory)))
            for t in group
        )

    # -- places --------------------------------------------------------------------------------

    def _home(self, home: Interval, group: Sequence[Transfer]) -> bool:
        """Give a tensor its home in the memory that saves the most; whether any had room and saves any."""
        used = [self.outer[at] for each in group for at in (each.issue, each.due)]
        life = (Interval(min(each.start for each in used), max(each.stop for each in used)),)
        savings = {name: self._saving(group, name) for name in self.spaces}
        for name in sorted(savings, key=lambda each: -savings[each]):
            place = self.spaces[name].take(len(home), life) if savings[name] > 0 else None
            if place:
                self.new.update({t.name: (name, place) for t in group})
                return True
        return False

    def _copy(self, home: Interval, group: Sequence[Transfer]) -> None:
        """Move a copy to a further memory for the last of its loads, by the best move that has room."""
        source = WEIGHTS if group[0].part.weights else PSRAM
        for memory, space in self.spaces.items():
            hop = Hop(source, memory)
            splits = sorted(self._copies(group, hop), key=lambda split: (-split.gain, split.due))
            for split in splits[:MOST_SPLITS]:
                if place := space.take(len(home), (split.life,)):
                    self.new.update(dict.fromkeys(split.near, (memory, place)))
                    thing = _thing(group[0].part)
                    title = f"move {part_label(thing) if thing.weights else thing.name} to {memory}"
                    at = source, home, memory, place, split.issue, split.due
                    self.moves.append(OffChipMove(title, thing, len(home), *at))
                    return

    # -- moves ---------------------------------------------------------------------------------

    def _copies(self, group: Sequence[Transfer], hop: Hop) -> Iterator[_Split]:
        """Yield the moves of a copy for each last part of the loads."""
        cost = self.cycles_of(hop, len(group[0].home))
        stored = max((self.outer[t.due].stop for t in group if t.direction == "store"), default=0)
        loads = sorted((t for t in group if t.direction == "load"), key=lambda each: each.issue)
        for number in range(len(loads)):
            tail = loads[number:]
            due = self._outside(min(each.issue for each in tail))
            issue = self._early(due, cost, stored)
            gain = self._saving(tail, hop.target) - cost
            if issue is not None and gain > 0:
                life = Interval(issue, max(self.outer[t.due].stop for t in tail))
                yield _Split(gain, issue, due, frozenset(t.name for t in tail), life)

    def _outside(self, position: int) -> int:
        """The last position up to ``position`` of a step outside of branches and loops; -1 for none."""
        while position >= 0 and not self.alone[position]:
            position = self.outer[position].start - 1
        return position

    def _early(self, due: int, cost: int, stored: int) -> int | None:
        """The last position of issue that hides a move of ``cost`` cycles, or the first; None for none."""
        issue: int | None = None
        for position in range(due - 1, stored - 1, -1):
            if self.alone[position]:
                issue = position
                if self.before[due] - self.before[position] >= HIDDEN * cost:
                    break
        return issue

    def _schedule(self) -> Schedule:
        def move(transfer: Transfer) -> Transfer:
            if transfer.name not in self.new:
                return transfer
            memory, home = self.new[transfer.name]
            psram = transfer.psram - transfer.home.start + home.start
            return replace(transfer, memory=memory, home=home, psram=psram)

        moves = tuple(sorted(self.moves, key=lambda each: (each.issue, each.due, each.name)))
        return replace(self.schedule, transfers=tuple(map(move, self.schedule.transfers)), moves=moves)


def _thing(part: Part) -> Part:
    """What a move copies: the whole tensor, or the slice of weights."""
    return part if part.weights else Part(part.name)


def _times(body: Sequence[StepNode], times: int = 1) -> Iterator[int]:
    """How often the step of each position runs, if all branches take the arm that it is in."""
    for node in body:
        match node:
            case Step():
                yield times
            case StepIf():
                for arm in node.arms:
                    yield from _times(arm.body, times)
            case StepLoop():
                yield from _times(node.body, times * node.iterations)
