"""Whole commands with a limit: seconds against ``--time-limit``, and refusals of what is too long.

    python -m bench.limits

Wall seconds mean something on an idle machine only; the CPU seconds beside them are a lower bound. The bar is
the limit, 20 % of it and 2 s more. A refusal has exit code 1 or
2, a limit that comes before any answer 3.
"""

from __future__ import annotations

import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
SHARE, SECONDS = 0.2, 2.0
"""How far over its limit a command may be."""
DENSE = "simulate onnx:light_densenet121 --chip luna-csk6 --streamer exact --packer exact"
LIMITED = (
    (DENSE, 20),
    (DENSE, 5),
    ("simulate zoo:mobilenetv2 --chip luna-arcs --streamer exact --packer exact", 5),
    ("simulate chain-50000.yaml", 5),
    ("pack overlapping-20000.csv", 5),
    ("pack passing-20000.csv", 5),
    ("pack passing-200000.csv", 10),
    ("pack scattered-200000.csv", 5),
)
REFUSED = (
    "simulate zoo:ds_cnn --steady-state 100000",
    "simulate workloads/decoder_loop.yaml --path decode=1000000",
    "simulate zoo:resnet18 --chip stm32n6 --set shared_memory.bytes=1KiB",
    "simulate zoo:resnet18 --chip stm32n6 --set shared_memory.bytes=4KiB --streamer sync",
    "simulate zoo:resnet8 --set shared_memory.bytes=512",
    "pack passing-1000000.csv",
)


def main() -> None:
    """Run all commands one after another, and print a table."""
    print("| command | limit s | wall s | CPU s | bar s | exit code |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in (20_000, 200_000, 1_000_000):
            _write(folder / f"passing-{count}.csv", count, lambda i, chance: i + 1 + chance.randrange(50))
        _write(folder / "overlapping-20000.csv", 20_000, lambda i, chance: 10**6)
        _chain(folder / "chain-50000.yaml", 50_000)
        scattered(folder / "scattered-200000.csv", 200_000)
        for command, limit in LIMITED:
            print(_row(f"{command} --time-limit {limit}", limit, folder), flush=True)
        for command in REFUSED:
            print(_row(command, None, folder), flush=True)


def _write(path: Path, count: int, stop: Callable[[int, random.Random], int]) -> None:
    """Buffers of up to 5,000 B, each alive from its number on."""
    chance = random.Random(1)
    rows = (f"b{i},{i},{stop(i, chance)},{chance.randrange(1, 5000)}\n" for i in range(count))
    path.write_text("id,lower,upper,size\n" + "".join(rows))


def _chain(path: Path, count: int) -> None:
    """Ops that each work on what the one before made."""
    ops = "".join(f"- {{op: relu, name: r{i}}}\n" for i in range(count))
    path.write_text(f"name: chain\ninputs: {{x: [1, 8]}}\nops:\n{ops}")


def scattered(path: Path, count: int) -> None:
    """Buffers of five sizes, alive from anywhere on, in no order."""
    chance = random.Random(2)
    starts = [chance.randrange(count // 2) for _ in range(count)]
    sizes = [chance.choice((64, 128, 256, 1024, 4096)) for _ in range(count)]
    rows = (
        f"b{i},{start},{start + chance.randrange(1, 401)},{size}\n"
        for i, (start, size) in enumerate(zip(starts, sizes, strict=True))
    )
    path.write_text("id,lower,upper,size\n" + "".join(rows))


def _row(command: str, limit: int | None, folder: Path) -> str:
    words = [
        str(folder / word) if word.endswith(("0.csv", "0.yaml")) else word for word in shlex.split(command)
    ]
    before, began = _cpu(), perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "chipmodel", *words], cwd=ROOT, capture_output=True, check=False
    )
    wall, cpu = perf_counter() - began, _cpu() - before
    bar = "" if limit is None else f"{limit * (1 + SHARE) + SECONDS:.1f}"
    return f"| {command} | {limit or ''} | {wall:.1f} | {cpu:.1f} | {bar} | {done.returncode} |"


def _cpu() -> float:
    """CPU seconds of all processes that have ended."""
    times = os.times()
    return times.children_user + times.children_system


if __name__ == "__main__":
    main()
