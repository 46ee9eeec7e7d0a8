"""One Psram for the plans of all cores: addresses for what each of them moves.

Every core is planned as if it had the Psram to itself. Here its tensors and weights get addresses beside
those of the other cores. What several cores know has one place: a tensor that is handed over, or the weights
of bands of one op. Where Psram is too small for all of that side by side, tensors share bytes if one is done
with before the other begins. Of one core the order of its commands says so, of two cores a tensor that is
handed over: what its maker did before the ``Release`` is done when a reader is past its ``Acquire``.

Source: the relation *happened before* of L. Lamport, "Time, clocks, and the ordering of events in a
distributed system", 1978, by the vector clocks of C. J. Fidge, "Timestamps in message-passing systems that
preserve the partial ordering", 1988. ``chipmodel.verify.cores`` proves it in another way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from chipmodel.geometry.groups import joined
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import WHOLE
from chipmodel.hardware.chip import Chip
from chipmodel.model.commands import Acquire, Command, Deadlock, DmaStart, DmaWait, Release
from chipmodel.model.core_parts import CorePart
from chipmodel.model.fit import off_chip_bytes, own_weight_bytes
from chipmodel.model.plan import Plan
from chipmodel.model.program import Program
from chipmodel.model.schedule import Schedule
from chipmodel.model.tree import walk
from chipmodel.passes.lower import lower
from dma.schedule.psram_layout import HomeKey, aligned, weights_key
from dma.schedule.psram_sharing import at_homes, changed_in_parts, one_after_another

Tenant = HomeKey | tuple[int, Interval]
"""What has one place: a tensor or weight slice of several cores, or what a core has in a home."""
Tenants = Sequence[Mapping[Interval, Tenant]]
"""The tenant of each home of every core."""


def one_psram(
    program: Program, parts: Sequence[CorePart], schedules: Sequence[Schedule], capacity: int | None = None
) -> list[Schedule]:
    """Return the ``schedules`` of the ``parts`` of ``program`` with addresses in one Psram.

    First comes what several cores know, then the weights and tensors of each core, in the order that it has.

    Where that takes more than ``capacity`` bytes, tensors share bytes.
    """
    tenants = _tenants(parts, schedules)
    sizes: dict[Tenant, int] = {}
    for home, tenant in (item for each in tenants for item in sorted(each.items())):
        sizes[tenant] = max(sizes.get(tenant, 0), len(home))
    of_one = [tenant for tenant in sizes if isinstance(tenant, tuple) and isinstance(tenant[0], int)]
    order = [*sorted(sizes.keys() - {*of_one}, key=str), *of_one]
    plain = _laid(schedules, tenants, one_after_another({each: sizes[each] for each in order})[0])
    if capacity is None or max(map(off_chip_bytes, plain)) <= capacity:
        return plain
    uses = _uses_of_cores(program, parts, schedules, tenants)
    packed = _laid(schedules, tenants, _packed(order, sizes, uses))
    return min(plain, packed, key=lambda laid: max(map(off_chip_bytes, laid)))


def within_psram(program: Program, schedule: Schedule, chip: Chip) -> Schedule:
    """Return ``schedule``, which is for one core, with tensors that share bytes of Psram if it needs more
    otherwise than the chip has."""
    capacity = chip.psram.bytes + own_weight_bytes(schedule, chip)
    if off_chip_bytes(schedule) <= capacity:
        return schedule
    return one_psram(program, [CorePart(0, program, {}, {})], [schedule], capacity)[0]


def _tenants(parts: Sequence[CorePart], schedules: Sequence[Schedule]) -> Tenants:
    """The tenant of each home. What shares a home on some core has one place."""
    held = [_held_homes(part, schedule) for part, schedule in zip(parts, schedules, strict=True)]
    cores = Counter(key for each in held for key in {key for keys in each.values() for key in keys})
    cores |= Counter(n for part in parts for n in {*part.program.inputs, *part.imports, *part.exports})
    number = {key: index for index, key in enumerate(key for key, count in cores.items() if count > 1)}
    together = ([number[key] for key in keys if key in number] for each in held for keys in each.values())
    keys = list(number)
    of_key = {keys[i]: keys[group[0]] for group in joined(len(keys), together) for i in group}
    return [
        {home: next((of_key[k] for k in keys if k in of_key), (core, home)) for home, keys in each.items()}
        for core, each in enumerate(held)
    ]


def _held_homes(part: CorePart, schedule: Schedule) -> dict[Interval, list[HomeKey]]:
    """Every home in Psram of one core, and what lies there: several tensors if they share memory."""
    ops = {op.name: op for op in part.program.ops()}
    found: dict[Interval, list[HomeKey]] = {}
    for name, home in schedule.weights_in_place.items():
        found.setdefault(home, []).extend([weights_key(ops[name], WHOLE)] if name in ops else [])
    for transfer in (each for each in schedule.transfers if not each.memory):
        keys, moved = found.setdefault(transfer.home, []), transfer.part
        if not moved.weights:
            keys.append(moved.name)
        elif moved.name in ops:
            keys.append(weights_key(ops[moved.name], moved.share))
    return found


def _laid(schedules: Sequence[Schedule], tenants: Tenants, starts: Mapping[Tenant, int]) -> list[Schedule]:
    """The schedules with each tenant at its start."""
    return [
        at_homes(
            schedule, {home: Interval(starts[each], starts[each] + len(home)) for home, each in own.items()}
        )
        for schedule, own in zip(schedules, tenants, strict=True)
    ]


def _packed(order: Sequence[Tenant], sizes: Mapping[Tenant, int], uses: _TenantUses) -> dict[Tenant, int]:
    """The start of each tenant: the lowest free one after all that stays, the largest tenants first."""
    starts, floor = one_after_another({each: sizes[each] for each in order if each not in uses.of})
    placed: dict[Tenant, Interval] = {}
    for tenant in sorted(uses.of, key=lambda each: -sizes[each]):
        start = aligned(floor)
        for taken in sorted(at for other, at in placed.items() if not uses.apart(tenant, other)):
            if start + sizes[tenant] <= taken.start:
                break
            start = max(start, aligned(taken.stop))
        starts[tenant] = start
        placed[tenant] = Interval(start, start + sizes[tenant])
    return starts


class _TenantUse(NamedTuple):
    """From when to when a core uses a tenant: the numbers of two commands outside of branches and loops."""

    core: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class _TenantUses:
    """The uses ``of`` each tenant that has its bytes for a time only. For each core and command, ``done`` is
    how many commands of every core are done when it begins."""

    of: Mapping[Tenant, Sequence[_TenantUse]]
    done: Sequence[Sequence[Sequence[int]]]

    def apart(self, one: Tenant, other: Tenant) -> bool:
        """Whether all that uses the one ends before anything uses the other."""
        pairs = [(a, b) for a in self.of[one] for b in self.of[other]]
        return all(self._before(a, b) for a, b in pairs) or all(self._before(b, a) for a, b in pairs)

    def _before(self, a: _TenantUse, b: _TenantUse) -> bool:
        return b.first >= 0 and a.last < self.done[b.core][b.first][a.core]


def _uses_of_cores(
    program: Program, parts: Sequence[CorePart], schedules: Sequence[Schedule], tenants: Tenants
) -> _TenantUses:
    """When cores use what lies in Psram. Weights stay, and so do tensors that decide a branch, or that change
    slice by slice."""
    streams = [
        lower(schedule, Plan(dict.fromkeys(schedule.buffers, 0)), part)
        for part, schedule in zip(parts, schedules, strict=True)
    ]
    kept = {*program.conditions.values(), *changed_in_parts(program)}
    uses: dict[Tenant, list[_TenantUse]] = {}
    stay: set[Tenant] = set()
    for core, (commands, own) in enumerate(zip(streams, tenants, strict=True)):
        numbers: dict[Tenant, list[int]] = {}
        for number, start in _touches(commands):
            tenant, name = own[start.home], start.part.name
            stay |= {tenant} if start.part.weights or name in kept else set()
            numbers.setdefault(tenant, []).append(-1 if name in program.inputs else number)
            numbers[tenant].append(len(commands) if name in program.outputs else number)
        for tenant, each in numbers.items():
            uses.setdefault(tenant, []).append(_TenantUse(core, min(each), max(each)))
    return _TenantUses({tenant: each for tenant, each in uses.items() if tenant not in stay}, _done(streams))


def _touches(commands: Sequence[Command]) -> Iterator[tuple[int, DmaStart]]:
    """The numbers of the commands outside of branches and loops that start a transfer or wait for it."""
    starts: dict[str, DmaStart] = {}
    for number, each in ((n, inner) for n, command in enumerate(commands) for inner in walk((command,))):
        if isinstance(each, DmaStart):
            starts[each.name] = each
        if isinstance(each, DmaStart | DmaWait) and each.name in starts and not starts[each.name].memory:
            yield number, starts[each.name]


def _done(streams: Sequence[Sequence[Command]]) -> list[list[tuple[int, ...]]]:
    """For each command outside of branches and loops, how many of every core are done when it begins.
    Raises Deadlock where cores wait for one another forever."""
    found: list[list[tuple[int, ...]]] = [[] for _ in streams]
    known = [[0] * len(streams) for _ in streams]
    released: dict[tuple[int, str], list[int]] = {}
    while any(len(each) < len(commands) for each, commands in zip(found, streams, strict=True)):
        waits: list[str] = []
        before = sum(map(len, found))
        for core, commands in enumerate(streams):
            for command in commands[len(found[core]) :]:
                inside = [each for each in walk((command,)) if isinstance(each, Acquire)]
                missing = [each.wanted for each in inside if (each.core, each.tensor) not in released]
                if missing:
                    waits.append(f"core {core} waits for {missing[0]}")
                    break
                known[core][core] = len(found[core])
                if isinstance(command, Acquire):
                    known[core] = list(map(max, known[core], released[command.core, command.tensor]))
                if isinstance(command, Release):
                    released[core, command.tensor] = list(known[core])
                found[core].append(tuple(known[core]))
        if before == sum(map(len, found)):
            raise Deadlock("; ".join(waits))
    return found
