"""The order of ops as a decision: what it saves in live bytes, and in cycles where memory is tight.

    python -m bench.order

First the least peak of live bytes over all orders of networks without control flow; then runs of some, by
``ping-pong`` and ``large-first``. Every plan that is shown as the best passes the independent verifier.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from bench.order_networks import darts, randwire
from chipmodel.hardware.chip_file import load_chip
from chipmodel.machine.simulate import simulate
from chipmodel.model.program import Op, Program
from chipmodel.pipeline.order_choice import ChosenOrder, OrderRequest, PlanCost, chosen_order
from chipmodel.pipeline.order_search import live_bytes, ordered
from chipmodel.pipeline.plan import plan
from chipmodel.pipeline.request import Planned, PlanRequest
from chipmodel.verify.commands import verify
from workloads.load import load
from workloads.zoo import networks

RUNS = (
    ("workloads/branches.yaml", "luna-arcs", (128, 160, 192)),
    ("onnx:light_shufflenet", "stm32n6", (512, 768)),
    ("onnx:light_shufflenet", "luna-arcs", (512, 768)),
    ("onnx:light_inception_v2", "luna-arcs", (768,)),
    ("darts", "luna-arcs", (640, 896)),
    ("randwire-0", "stm32n6", (512, 768, 1024)),
    ("randwire-0", "luna-arcs", (512, 768, 1024)),
    ("randwire-3", "stm32n6", (768, 1024)),
    ("randwire-3", "luna-arcs", (1024,)),
)
RANDOM = 6
LIGHT = (
    "bvlc_alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
)


def program_of(name: str) -> Program:
    if name == "darts":
        return darts()
    if name.startswith("randwire-"):
        return randwire(int(name.partition("-")[2]))
    return load(name, dtype="int8", shapes={}, strict=False, iterations={})


def peaks() -> Iterator[str]:
    """Rows of the first table; networks whose given order is proven least are counted in the last line."""
    least = 0
    names = [f"zoo:{network.name}" for network in networks()] + [f"onnx:light_{name}" for name in LIGHT]
    names += ["workloads/branches.yaml", "darts", *(f"randwire-{seed}" for seed in range(RANDOM))]
    for name in names:
        program = program_of(name)
        if not all(isinstance(node, Op) for node in program.body):
            continue
        began = time.process_time()
        found = ordered(program, "all", "least-peak")
        seconds = time.process_time() - began
        given = live_bytes(program, "all")
        if found.proven and given == found.live_bytes:
            least += 1
            continue
        deep = ordered(program, "all", "depth-first").live_bytes
        saved = f"{1 - found.live_bytes / given:.1%}"
        cells = (len(program.body), given, deep, found.live_bytes, found.least_bytes or 0)
        yield f"| {name} | {' | '.join(f'{c:,}' for c in cells)} | {saved} | {seconds:.1f} |"
    yield f"\n{least} more networks have the least peak, proven, in the order given."


def run(name: str, program: Program, chip_name: str, kib: int) -> str:
    """A row of the second table. Raises SystemExit for a wrong plan."""
    chip = load_chip(chip_name, (f"shared_memory.bytes={kib}KiB", "psram.bytes=64MiB"))

    def cost(planned: Planned) -> PlanCost:
        peak = planned.solved.peak
        return PlanCost(peak > chip.shared_memory.bytes, simulate(planned.commands, chip).cycles, peak)

    chosen: ChosenOrder[Planned] = chosen_order(
        OrderRequest(program, "all", "best"), lambda each: plan(PlanRequest(each, chip)), cost
    )
    assert chosen.planned is not None
    assert chosen.ordering is not None
    faults = verify(chosen.program, chosen.planned.commands, chip)
    if faults:
        raise SystemExit(f"{name} on {chip_name} with {kib} KiB: {faults[0]}")
    tried = {each.name: each.cycles or 0 for each in chosen.ordering.tried}
    saved = 1 - tried[chosen.ordering.runs] / tried["given"]
    cycles = " | ".join(f"{each:,}" for each in tried.values())
    return f"| {name} | {chip_name} | {kib} | {cycles} | {chosen.ordering.runs} | {saved:.1%} |"


def main() -> None:
    print("| network | ops | given B | depth-first B | least-peak B | bound B | saved | s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for row in peaks():
        print(row)
        sys.stdout.flush()
    print("\n| network | chip | KiB | given | least-peak | depth-first | breadth-first | best | saved |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |")
    for name, chip, memories in RUNS:
        program = program_of(name)
        for kib in memories:
            print(run(name, program, chip, kib))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
