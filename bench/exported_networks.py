"""Networks exported by PyTorch, with transformers among them, on every chip with 512 KiB or more.

Swin-T, ViT-B/16 and RetinaNet of torchvision, CoaT-Lite Tiny of timm, SegFormer B0 and Whisper-tiny (encoder,
decoder) of Hugging Face's transformers, with random weights and in int8. Each is planned, simulated and
checked; MACs stand beside those that torch counts while it runs the network. The Python with torch is
another one:

    python -m venv et && et/bin/pip install torch torchvision onnx onnxscript timm transformers
    python -m bench.exported_networks --folder exported --torch et/bin/python
    python -m bench.exported_networks --folder exported --networks swin_t --chips stm32n6,alif-e7
    python -m bench.exported_networks --folder exported --memory 256MiB

Without ``--torch`` the files are there already. With the default streamer a point takes seconds to a minute.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from chipmodel.errors import ChipmodelError
from chipmodel.hardware.chip import Chip
from chipmodel.hardware.chip_file import load_chip, preset_names
from chipmodel.model.program import Program
from chipmodel.pipeline.plan_export import plan_text
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.plan_file.text import read_plan
from chipmodel.rewrites.compiled_weights import compiled
from chipmodel.rewrites.in_place import reuse
from chipmodel.verify.plan_file import verify_file
from dma.residency.fitted import fitted
from solvers.core.deadline import deadline_in
from workloads.load import load

WORKER = Path(__file__).with_name("export_worker.py")
COUNTS = "counts.json"
"""In the folder: what torch counted, by network."""
NETWORKS = (
    *("swin_t", "vit_b_16", "coat_lite_tiny", "segformer_b0", "retinanet_resnet50"),
    *("whisper_tiny_encoder", "whisper_tiny_decoder"),
)
SMALLEST = 512 * 1024
"""Bytes of SharedMemory that a chip must have."""
STREAMER = "prefetch-greedy"


@dataclass(frozen=True, slots=True)
class Point:
    """One network on one chip: cycles, milliseconds and the seconds to plan; what is wrong in ``verdict``."""

    chip: str
    cycles: int
    milliseconds: float
    seconds: float
    verdict: str


def main(argv: Sequence[str] | None = None) -> int:
    """Export where asked to, print the table; 1 where some network does not run on some chip."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the models are")
    parser.add_argument("--torch", help="the Python that has torch, to export the models first")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--chips", help="by default all presets with 512 KiB or more")
    parser.add_argument("--streamer", default=STREAMER)
    parser.add_argument("--memory", help="size of Psram and of the weights' memory, such as 256MiB")
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds for a plan [30]")
    asked = parser.parse_args(argv)
    names = asked.networks.split(",")
    if asked.torch:
        export(asked.torch, asked.folder, names)
    counts = json.loads((asked.folder / COUNTS).read_text())
    chips = asked.chips.split(",") if asked.chips else list(large_chips())
    right = True
    for name in names:
        try:
            program = load(str(asked.folder / f"{name}.onnx"))
        except ChipmodelError as error:
            print(f"\n{name}: {error}")
            right = False
            continue
        print(heading(name, program, counts.get(name, {})), flush=True)
        for chip in chips:
            point = measured(program, chip_with(chip, asked.memory), asked.streamer, asked.time_limit)
            print(line(point), flush=True)
            right = right and point.verdict == "correct"
    return 0 if right else 1


def export(python: str, folder: Path, names: Sequence[str]) -> None:
    """Write ``NAME.onnx`` for each name, and what torch counted. Exits where torch fails."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [python, str(WORKER), str(folder), *names]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    kept = folder / COUNTS
    counts: dict[str, dict[str, object]] = json.loads(kept.read_text()) if kept.exists() else {}
    for text in ran.stdout.splitlines():
        found = json.loads(text)
        if "error" in found:
            sys.exit(f"{found['name']}: {found['error']}")
        counts[found["name"]] = found
    kept.write_text(json.dumps(counts, indent=1, sort_keys=True) + "\n")


def large_chips() -> Iterator[str]:
    """The presets with enough SharedMemory."""
    for name in preset_names():
        if load_chip(name).shared_memory.bytes >= SMALLEST:
            yield name


def chip_with(name: str, memory: str | None) -> Chip:
    """The preset, with other sizes of the memories off chip: boards differ in them, and few have enough for
    networks as large as these."""
    chip = load_chip(name)
    if memory is None:
        return chip
    fields = ["psram.bytes", *(["weights.bytes"] if chip.weights else [])]
    return load_chip(name, [f"{field}={memory}" for field in fields])


def measured(program: Program, chip: Chip, streamer: str, limit: float) -> Point:
    """Plan, simulate and check one network on one chip."""
    begun = time.process_time()
    try:
        cycles, verdict = _run(reuse(fitted(compiled(program, chip), chip), "all"), chip, streamer, limit)
    except ChipmodelError as error:
        cycles, verdict = 0, f"{type(error).__name__}: {error.what}"
    seconds = time.process_time() - begun
    return Point(chip.name, cycles, float(cycles / chip.core_mhz / 1000), seconds, verdict)


def _run(program: Program, chip: Chip, streamer: str, limit: float) -> tuple[int, str]:
    """Cycles, and what the verifier says of the plan as a file has it."""
    request = PlanRequest(program, chip, streamer=streamer, deadline=deadline_in(limit))
    result = run(request)
    if not result.fit.fits:
        needs = ", ".join(f"{need.bytes:,} of {need.capacity_bytes:,} B" for need in result.fit.exceeded)
        return result.trace.cycles, f"does not fit: {needs}"
    faults = verify_file(
        result.program, read_plan(plan_text(result, chip.source, chip.overrides), chip.name), chip
    )
    return result.trace.cycles, f"wrong: {faults[0]}" if faults else "correct"


def heading(name: str, program: Program, counted: Mapping[str, int]) -> str:
    """The network's MACs and parameters, beside those of torch."""
    macs, torch = program.macs, counted.get("macs", 0)
    share = f"{macs / torch - 1:+.2%}" if torch else "not counted"
    ops = sum(1 for _ in program.ops())
    text = f"\n{name}: {ops} ops, {macs:,} MACs (torch {torch:,}, {share}), "
    text += f"{program.parameters:,} parameters (torch {counted.get('parameters', 0):,})"
    return "\n".join((text, *(f"  note: {note}" for note in program.notes[:3])))


def line(point: Point) -> str:
    """One row of the table."""
    return (
        f"  {point.chip:<14}{point.cycles:>16,} cycles {point.milliseconds:>11,.1f} ms"
        f"  {point.seconds:>6.1f} s  {point.verdict}"
    )


if __name__ == "__main__":
    sys.exit(main())
