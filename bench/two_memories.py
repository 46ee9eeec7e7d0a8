"""TensorFlow Lite Micro itself with tensors in two memories, as ``chipmodel arena --write-header`` plans.

Every model runs in one arena by the runtime's own planner, then in two arenas with unmapped addresses between
them, on the same two inputs: outputs must be equal, the head in SRAM as large as said to the byte, and of the
Psram nothing touched beyond what was said. *One span* is the alternative that does not work: an offline plan
in one arena that spans both memories.

Needs a C++ compiler and the runtime, built from its checkout:
``make -f tensorflow/lite/micro/tools/make/Makefile microlite``.

    python -m bench.two_memories --library FILE.a --include FOLDER [--include ...] MODEL.tflite ...
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from chipmodel.api.arena import SplitArena, arena, split_arena
from chipmodel.errors import DoesNotFit, Place
from workloads.from_tflite.model_file import read_model
from workloads.from_tflite.offline_plan import with_offline_plan

PROGRAM = Path(__file__).with_suffix(".cpp")
APART = 256 << 20
"""Bytes between the arenas' starts in the program."""
SHARES = (0.75, 0.5, 0.25)
"""SRAM as shares of the smallest head in one memory."""
MOST_PSRAM = 8 << 20
OPTIONS = ("-std=c++17", "-O0", "-fno-rtti", "-fno-exceptions", "-DTF_LITE_STATIC_MEMORY", "-w")


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--library", required=True, help="the runtime's library")
    parser.add_argument("--include", action="append", default=[], help="a folder of headers")
    parser.add_argument("models", nargs="+", type=Path)
    asked = parser.parse_args(argv)
    print("| model | one memory B | SRAM B | head in SRAM | Psram B | touched | outputs | one span |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |", flush=True)
    for model in asked.models:
        smallest = arena(model).head_bytes
        for share in SHARES:
            try:
                plan = split_arena(model, sram=int(smallest * share), psram=MOST_PSRAM)
            except DoesNotFit:
                print(f"| {model.stem} | {smallest:,} | {int(smallest * share):,}: no plan fits ||||||")
                continue
            with TemporaryDirectory() as folder:
                print(_row(model, plan, Path(folder), asked.library, asked.include), flush=True)


def _row(model: Path, plan: SplitArena, folder: Path, library: str, includes: Sequence[str]) -> str:
    answer = plan.answer
    (folder / "plan.h").write_text(plan.header)
    space = next(line.split()[1] for line in plan.header.splitlines() if line.startswith("namespace "))
    defined = ["-DHEADER=<plan.h>", f"-DSPACE={space}", f"-I{folder}", *(f"-I{each}" for each in includes)]
    program = folder / "program"
    command = ["g++", *OPTIONS, *defined, str(PROGRAM), library, "-Wl,--gc-sections", "-o", str(program)]
    subprocess.run(command, check=True)
    run = subprocess.run([program, model], capture_output=True, text=True, check=True)
    alone, sram, touched, equal = map(int, run.stdout.split())
    spanning = folder / "spanning.tflite"
    spanning.write_bytes(_spanning(model, plan))
    spans = subprocess.run([program, spanning, "span"], capture_output=True, check=False).returncode
    numbers = f"{alone:,} | {answer.sram_bytes:,} | {sram:,} | {answer.psram_bytes:,} | {touched:,}"
    return f"| {model.stem} | {numbers} | {'equal' if equal else '**differ**'} | {_ended(spans)} |"


def _spanning(model: Path, plan: SplitArena) -> bytes:
    read = read_model(model, Place(str(model)))
    offsets = [-1] * sum(len(graph.tensors) for graph in read.subgraphs)
    for place in plan.answer.places:
        if place.request.tensor is not None:
            offsets[place.request.tensor] = place.offset + (APART if place.in_psram else 0)
    return with_offline_plan(read.data, offsets, Place(str(model)))


def _ended(code: int) -> str:
    return f"signal {-code}" if code < 0 else "runs" if code == 0 else "refused"


if __name__ == "__main__":
    main()
