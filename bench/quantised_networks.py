"""Ops of networks as exported, after ONNX Runtime's pre-processing, and quantised from either.

Thirty networks of timm, Hugging Face's transformers and Keras with random weights. What ONNX Runtime writes
around a network's layers costs a chip nothing, so all four files should have the same ops and cycles. The
table has the ops of each file, the cycles of the first and how much those of the others differ, and the kinds
of op that some file has more or less of. The Pythons with the packages are other ones:

    python -m venv et && et/bin/pip install torch onnx onnxruntime onnxscript timm transformers
    python -m venv kt && kt/bin/pip install tensorflow-cpu tf2onnx onnxruntime
    python -m bench.quantised_networks --folder quantised --torch et/bin/python --keras kt/bin/python
    python -m bench.quantised_networks --folder quantised --networks timm:resnet18

Without ``--torch`` and ``--keras`` the files are there already.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bench.exported_networks import chip_with, measured
from chipmodel.errors import ChipmodelError
from workloads.load import load

WORKER = Path(__file__).with_name("quantise_worker.py")
TIMM = (
    "vit_tiny_patch16_224 swin_tiny_patch4_window7_224 convnext_atto mobilenetv2_100 mobilenetv3_small_100 "
    "efficientnet_b0 tf_efficientnet_lite0 resnet18 mobilevit_xxs edgenext_xx_small poolformer_s12 "
    "levit_128s repvgg_a0 ghostnet_100 pvt_v2_b0 mixer_s32_224 resmlp_12_224"
)
TRANSFORMERS = "bert roberta electra albert gpt2 llama"
KERAS = "MobileNet MobileNetV2 EfficientNetB0 EfficientNetV2B0 NASNetMobile DenseNet121 Xception"
NETWORKS = (
    *(f"timm:{name}" for name in TIMM.split()),
    *(f"transformers:{name}" for name in TRANSFORMERS.split()),
    *(f"keras:{name}" for name in KERAS.split()),
)
MEMORY = "256MiB"
"""Of the chip's memories off chip, enough for every network."""
STREAMER, TIME_LIMIT = "sync", 30.0
HEADING = """\
| network | as exported | pre-processed | quantised | both | cycles | pre-processed | quantised | both | ops |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"""
FORMS = ("", ".pre", ".int8", ".pre.int8")
"""What the files are called after: as exported, pre-processed, quantised, both."""


def main(argv: Sequence[str] | None = None) -> int:
    """Export where asked to, print the table; 1 where some file cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the models are")
    parser.add_argument("--torch", help="the Python that has torch, to export the models first")
    parser.add_argument("--keras", help="the Python that has Keras and tf2onnx, likewise")
    parser.add_argument("--networks", default=",".join(NETWORKS), help="each with its package: timm:resnet18")
    parser.add_argument("--chip", default="luna-csk6")
    asked = parser.parse_args(argv)
    names = asked.networks.split(",")
    for python, of_keras in ((asked.torch, False), (asked.keras, True)):
        if python:
            export(python, asked.folder, [name for name in names if name.startswith("keras:") == of_keras])
    print(HEADING)
    read = [row(asked.folder, name.split(":")[-1], asked.chip) for name in names]
    return int(not all(read))


def export(python: str, folder: Path, names: Sequence[str]) -> None:
    """Write the four files of each network. Exits where a package fails."""
    folder.mkdir(parents=True, exist_ok=True)
    ran = subprocess.run(
        [python, str(WORKER), str(folder), *names], check=True, capture_output=True, text=True
    )
    for text in ran.stdout.splitlines():
        if "error" in json.loads(text):
            sys.exit(text)


def row(folder: Path, name: str, chip: str) -> bool:
    """Print one network's row; whether all its files can be read."""
    try:
        programs = [load(str(folder / f"{name}{form}.onnx")) for form in FORMS]
    except ChipmodelError as error:
        print(f"| {name} | {error.what} |", flush=True)
        return False
    counts = [Counter(op.kind for op in program.ops()) for program in programs]
    ops = " | ".join(str(count.total()) for count in counts)
    cycles = [measured(program, chip_with(chip, MEMORY), STREAMER, TIME_LIMIT).cycles for program in programs]
    ratios = " | ".join(f"{each / cycles[0] - 1:+.1%}" for each in cycles[1:])
    print(f"| {name} | {ops} | {cycles[0]:,} | {ratios} | {differences(counts)} |", flush=True)
    return True


def differences(counts: Sequence[Counter[str]]) -> str:
    """Return what files have more or less of than the first, each difference once."""
    plain, *others = counts
    return "; ".join(filter(None, dict.fromkeys(_difference(plain, other) for other in others)))


def _difference(plain: Counter[str], other: Counter[str]) -> str:
    changed = [kind for kind in sorted(plain | other) if other[kind] != plain[kind]]
    return ", ".join(f"{other[kind] - plain[kind]:+d} {kind}" for kind in changed)


if __name__ == "__main__":
    sys.exit(main())
