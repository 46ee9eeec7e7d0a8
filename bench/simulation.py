"""How long the event-driven simulator takes, and what it grows with.

    python -m bench.simulation

Protocol: each plan is made once, then simulated 7 times; the figure is the median of the process's own time
(``time.process_time``), so that other work on the machine counts little. *Bursts* are lines of the engine.
The second table simulates one program of 400 ops and transfers whose transfers grow from 1 KB to 1 MB, on
flat SharedMemory (nothing meets) and on banks: without meetings the time must not grow with the bytes.
"""

from __future__ import annotations

import time
from statistics import median

from chipmodel.geometry.interval import Interval
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.commands import Command, Compute, DmaStart, DmaWait, Located
from chipmodel.model.schedule import Part, Phase
from chipmodel.model.tree import walk
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import PlanRequest
from chipmodel.timing.shape import shape_of
from workloads.load import load

RUNS = 7
NETWORKS = (
    ("zoo:resnet50", "luna-arcs", ("psram.bytes=32MiB",)),
    ("zoo:resnet50", "luna-arcs", ("psram.bytes=32MiB", "shared_memory.model=flat")),
    ("zoo:resnet50", "stm32n6", ()),
    ("zoo:vgg16", "stm32n6", ()),
)
ONE = Interval(0, 1)


def seconds(commands: tuple[Command, ...], chip: Chip) -> float:
    """The median process time of one simulation."""
    times: list[float] = []
    for _ in range(RUNS):
        began = time.process_time()
        simulate(commands, chip)
        times.append(time.process_time() - began)
    return median(times)


def chain(ops: int, size: int) -> tuple[Command, ...]:
    """``ops`` ops of about as many cycles as the load of ``size`` bytes that goes on beside each."""
    reads = (Located(Part("x"), 0, 64 << 10),)
    commands: list[Command] = []
    for index in range(ops):
        place = Located(Part(f"w{index}", weights=True), (64 << 10) * (1 + index % 2), size)
        phases = (Phase("inputs", size), Phase("outputs", size // 4))
        commands += [
            DmaStart(f"t{index}", "load", size, place, f"op{index}"),
            Compute(f"op{index}", f"op{index}", index, ONE, ONE, size + size // 4, reads, reads, phases),
            DmaWait(f"t{index}", f"op{index}"),
        ]
    return tuple(commands)


def main() -> None:
    """Print both tables."""
    print("| network | chip | options | commands | bursts | simulated cycles | seconds |")
    print("| --- | --- | --- | ---: | ---: | ---: | ---: |")
    for workload, name, sets in NETWORKS:
        chip = load_chip(name, sets)
        commands = plan(PlanRequest(load(workload), chip)).commands
        starts = [c for c in walk(commands) if isinstance(c, DmaStart)]
        bursts = sum(shape_of(chip, s.traffic, s.bytes).lines for s in starts)
        cycles = simulate(commands, chip).cycles
        took = seconds(commands, chip)
        count = sum(1 for _ in walk(commands))
        print(
            f"| {workload} | {name} | {' '.join(sets)} | {count:,} | {bursts:,} | {cycles:,} | {took:.3f} |"
        )
    print("\n| bytes a transfer | flat, seconds | banks, seconds |\n| ---: | ---: | ---: |")
    banks = load_chip("luna-arcs")
    flat = load_chip("luna-arcs", ["shared_memory.model=flat"])
    for size in (1 << 10, 1 << 14, 1 << 17, 1 << 20):
        commands = chain(400, size)
        print(f"| {size:,} | {seconds(commands, flat):.4f} | {seconds(commands, banks):.4f} |")


if __name__ == "__main__":
    main()
