"""The dependencies between the events of a trace: the transfers and steps whose results each event used.

A step depends on the loads that are due at it and on the last step of each op that makes an input of its op;
a store on the step after which it is issued; a load of a tensor on the latest store of it; a wait on one
transfer.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator

from chipmodel.answers.result import Result
from chipmodel.model.program import Program
from chipmodel.model.schedule import Transfer
from chipmodel.model.trace import Event
from reports.run.network import flows

Needs = tuple[tuple[int, ...], ...]
"""For each event of the trace the indices of the events that it depends on, ascending."""


def needs(result: Result) -> Needs:
    """Find what each event of ``result.trace`` depends on."""
    index = _EventIndex(result)
    return tuple(tuple(sorted(set(index.of(event)))) for event in result.trace.events)


class _EventIndex:
    """The events by step, op and transfer, in the order of their ends."""

    def __init__(self, result: Result) -> None:
        self.events = result.trace.events
        self.transfers = _transfers(result)
        self.makers = _makers(result.program)
        self.named: defaultdict[tuple[int, str], list[int]] = defaultdict(list)
        self.computes: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        self.of_op: defaultdict[str, list[int]] = defaultdict(list)
        self.stores: defaultdict[str, list[int]] = defaultdict(list)
        self.loads: defaultdict[tuple[int, int], set[str]] = defaultdict(set)
        for (core, name), transfer in self.transfers.items():
            if transfer.direction == "load":
                self.loads[core, transfer.due].add(name)
        for index, event in enumerate(self.events):
            self._add(index, event)
        for indices in (*self.named.values(), *self.of_op.values(), *self.stores.values()):
            indices.sort(key=lambda i: self.events[i].stop)

    def _add(self, index: int, event: Event) -> None:
        if event.cause:
            return
        if event.unit == "npu":
            self.computes[event.core, event.position].append(index)
            self.of_op[event.op].append(index)
            return
        self.named[event.core, event.name].append(index)
        transfer = self.transfers.get((event.core, event.name))
        if transfer is not None and transfer.direction == "store":
            self.stores[transfer.part.name].append(index)

    def of(self, event: Event) -> Iterator[int]:
        if event.cause:
            yield from self._awaited(event)
        elif event.unit == "npu":
            for name in self.loads.get((event.core, event.position), ()):
                yield from self._last(self.named.get((event.core, name), []), event.start)
            for maker in self.makers.get(event.op, ()):
                yield from self._last(self.of_op.get(maker, []), event.start)
        else:
            yield from self._of_transfer(event)

    def _of_transfer(self, event: Event) -> Iterator[int]:
        transfer = self.transfers.get((event.core, event.name))
        if transfer is None:
            return
        if transfer.direction == "store":
            yield from self._last(self.computes.get((event.core, transfer.issue), []), event.start)
        elif not transfer.part.weights:
            yield from self._last(self.stores.get(transfer.part.name, []), event.start)

    def _awaited(self, event: Event) -> Iterator[int]:
        """The transfer that ended when the wait did."""
        named = self.named.get((event.core, event.name), [])
        at = bisect_left(named, event.stop, key=lambda i: self.events[i].stop)
        if at < len(named) and self.events[named[at]].stop == event.stop:
            yield named[at]

    def _last(self, indices: list[int], clock: int) -> Iterator[int]:
        """The latest of ``indices`` that had ended at ``clock``."""
        at = bisect_right(indices, clock, key=lambda i: self.events[i].stop)
        if at:
            yield indices[at - 1]


def _transfers(result: Result) -> dict[tuple[int, str], Transfer]:
    schedules = [(plan.core, plan.schedule) for plan in result.cores] or [(0, result.schedule)]
    return {(core, t.name): t for core, schedule in schedules for t in schedule.transfers}


def _makers(program: Program) -> dict[str, tuple[str, ...]]:
    """For each op the other ops that write its inputs: several for one tensor where arms of an ``if`` do."""
    names = [op.name for op in program.ops()]
    makers_of: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for flow in flows(program):
        if flow.kind != "decides" and max(flow.maker, flow.reader) < len(names):
            makers_of[names[flow.reader]][names[flow.maker]] = None
    return {name: tuple(makers) for name, makers in makers_of.items()}
