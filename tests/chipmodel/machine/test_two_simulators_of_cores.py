"""Several cores in both simulators: by hand, and equal event for event on any streams of commands."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from chipmodel.hardware.chip import Chip, Cpu
from chipmodel.machine.simulate import simulate_cores
from chipmodel.model.commands import Acquire, Command, Deadlock, Release
from chipmodel.model.trace import Event, Trace
from tests.chipmodel.machine.test_simulate import PLAIN, compute, start, wait
from tests.fuzz.two_simulators import stalls
from tests.support.chips import tiny_chip
from tests.support.random_commands import random_path
from tests.support.random_streams import random_streams
from tests.support.stepper import step_through_cores

BATCHES = 1
BATCH = 60
Machine = Callable[[tuple[tuple[Command, ...], ...], Chip], Trace]
both = pytest.mark.parametrize("machine", [simulate_cores, step_through_cores])


@both
def test_by_hand(machine: Machine) -> None:
    # Core 0 computes [0, 3), its store of y takes [3, 9). Core 1 has waited for it from 0 on, loads y in
    # [9, 20) and computes [20, 24). Of n bytes a load takes 10 + n cycles, a store 5 + n.
    first = (compute("c", 3), start("y", 1, "store", weights=False), Release("y", "c"), wait("y"))
    second = (Acquire("y", 0, "d"), start("y", 1, weights=False), wait("y"), compute("d", 4))
    trace = machine((first, second), PLAIN)
    assert trace.cycles == 24
    assert trace.events == (
        Event("dma", 0, 3, "nothing issued", "", "", "wait"),
        Event("npu", 0, 3, "", "c", "op of c", "compute", 0, 0),
        Event("npu", 0, 9, "core", "y of core 0", "d", "wait", core=1),
        Event("dma", 3, 9, "", "y", "op of y", "store tensor", 1),
        Event("npu", 3, 9, "output", "y", "waiter for y", "wait"),
        Event("dma", 9, 20, "", "y", "op of y", "load tensor", 1, core=1),
        Event("npu", 9, 24, "finished", "", "", "wait"),
        Event("npu", 9, 20, "input", "y", "waiter for y", "wait", core=1),
        Event("dma", 20, 24, "finished", "", "", "wait"),
        Event("npu", 20, 24, "", "d", "op of d", "compute", 0, 0, core=1),
    )
    assert trace.unaccounted() == ()
    assert trace.stalls("npu", 1) == {"core": 9, "input": 11}
    assert trace.busy("npu", 0) == 3


@both
def test_of_two_cores_the_lower_number_is_served_first(machine: Machine) -> None:
    trace = machine(((start("a", 1),), (start("b", 1),)), PLAIN)
    assert [(e.name, e.core, e.start) for e in trace.of("dma")] == [("a", 0, 0), ("b", 1, 11)]


@both
def test_a_wait_is_for_the_transfer_of_the_same_core(machine: Machine) -> None:
    trace = machine(((start("a", 1), wait("a")), (start("a", 9), wait("a"))), PLAIN)
    assert [e.stop for e in trace.of("npu") if e.cause == "weights"] == [11, 30]


@both
def test_after_a_release_a_core_with_a_lower_number_continues_in_the_same_cycle(machine: Machine) -> None:
    trace = machine(((Acquire("y", 1, "c"), compute("c", 2)), (Release("y", "d"),)), PLAIN)
    assert trace.cycles == 2


@both
def test_an_acquire_waits_until_every_store_of_the_tensor_has_ended(machine: Machine) -> None:
    stores = (start("y", 1, "store", weights=False), Release("y", "c"))
    trace = machine((stores, (Acquire("y", 0, "d"), compute("d", 1))), PLAIN)
    assert trace.cycles == 7


@both
def test_cores_that_wait_for_one_another_are_a_deadlock(machine: Machine) -> None:
    streams = ((Acquire("y", 1, "c"), Release("x", "c")), (Acquire("x", 0, "d"), Release("y", "d")))
    with pytest.raises(Deadlock):
        machine(streams, PLAIN)


def run(machine: Callable[..., Trace], *arguments: object) -> Trace | None:
    try:
        return machine(*arguments)
    except Deadlock:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_traces_are_equal_event_for_event(batch: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        random = Random(seed)
        chip = tiny_chip(random)
        streams = random_streams(random, chip.shared_memory.bytes, random.randint(1, 4))
        path = random_path(tuple(c for s in streams for c in s), random)
        trace = run(simulate_cores, streams, chip, path)
        assert trace == run(step_through_cores, streams, chip, path), seed
        seen["deadlock" if trace is None else "done"] += 1
        if trace:
            seen += stalls(trace)
            seen["core"] += trace.stalls("npu")["core"]
            seen["bank on another core"] += sum(
                w.cycles for e in trace.events if e.core for w in e.waits if w.cause == "bank"
            )
    assert seen["done"] > BATCH // 2
    assert seen["deadlock"]
    assert seen["bank"] > 100
    assert seen["bank on another core"]
    assert seen["core"] > 100


def test_the_cpu_accesses_the_memory_of_core_0_alone() -> None:
    conflicts: Counter[int] = Counter()
    for seed in range(60):
        random = Random(seed)
        chip = replace(tiny_chip(random), cpu=Cpu(2, 0, 4))
        streams = random_streams(random, chip.shared_memory.bytes, 2)
        trace = run(simulate_cores, streams, chip, random_path(tuple(c for s in streams for c in s), random))
        for event in trace.events if trace else ():
            conflicts[event.core] += sum(
                wait.cycles for wait in event.waits if wait.by == "CPU" and wait.cause == "bank"
            )
    assert conflicts[0] > 100
    assert conflicts[1] == 0
