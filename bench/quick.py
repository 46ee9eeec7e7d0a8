"""CPU time of small jobs that users wait for, and its ratio to that of a fixed loop in the same run.

    python -m bench.quick [--tries 5]

The tests count the calls of these jobs, so that a busy machine fails none of them; what a call takes is
measured here. CPU time of the process, the shortest of several tries; the loop is a million additions in
Python, so that ratios of different machines and days can be compared.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from time import process_time

from chipmodel.errors import BadInput
from chipmodel.files.yaml_file import read_yaml
from chipmodel.hardware.chip_file import load_chip
from solvers.core.outcome import Limits
from solvers.registry import solve
from tests.support.random_buffers import random_buffers
from workloads.load import load
from workloads.zoo import build

CHARACTERS = 10_000_000
OP = "- name: conv{0}\n  kind: conv\n  in: [t{0}, u{0}]\n  kernel: [3, 3]\n  stride: 1\n  out: {0}\n"


def loop() -> int:
    total = 0
    for number in range(1_000_000):
        total += number
    return total


def jobs() -> dict[str, Callable[[], object]]:
    large = "ops:\n" + "".join(OP.format(i) for i in range(5000))
    keys = "\n".join(f"k{i}: 1" for i in range(CHARACTERS // 10))
    roomy = replace(random_buffers(1, 10_000, horizon=20_000, longest=200), capacity=1 << 30)
    return {
        "a preset read again": lambda: load_chip("luna-arcs"),
        "ResNet-50 built": lambda: build("resnet50"),
        "DenseNet-121 read from ONNX": lambda: load("onnx:light_densenet121"),
        "5,000 ops read from YAML": lambda: read_yaml(large, "large.yaml"),
        "10 MB of keys refused": lambda: refuse(keys),
        "10 MB of open lists refused": lambda: refuse("[" * CHARACTERS),
        "10,000 buffers with room, exact": lambda: solve(roomy, "exact", Limits(seconds=60.0)),
    }


def refuse(text: str) -> None:
    try:
        read_yaml(text, "hostile.yaml")
    except BadInput:
        return
    raise SystemExit("a hostile file was read")


def shortest(job: Callable[[], object], tries: int) -> float:
    """CPU seconds; the first run, which imports and compiles, is not counted."""
    job()
    took: list[float] = []
    for _ in range(tries):
        began = process_time()
        job()
        took.append(process_time() - began)
    return min(took)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tries", type=int, default=5)
    tries = parser.parse_args().tries
    unit = shortest(loop, tries)
    print(f"| job | ms of CPU | of the loop ({unit * 1000:.0f} ms) |\n| --- | ---: | ---: |")
    for name, job in jobs().items():
        seconds = shortest(job, tries)
        print(f"| {name} | {seconds * 1000:,.1f} | {seconds / unit:.2f} |", flush=True)


if __name__ == "__main__":
    main()
