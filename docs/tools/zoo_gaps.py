"""Print how far planners are from the optimum on networks of the zoo, as a Markdown table.

    python -m docs.tools.zoo_gaps --packers free-list,greedy-best-fit
    python -m docs.tools.zoo_gaps --streamers sync,ping-pong
    python -m docs.tools.zoo_gaps --ample context,context:core

A packer's gap is to the highest bound on the peak that any packer proves (``exact`` is asked as well); a
streamer's to the bound on cycles for its space of plans. ``--ample`` are packers in all of the chip's memory,
which is many times what the networks need.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from itertools import product
from statistics import median

from docs.tools.markdown import code, table
from docs.tools.samples import json_document

Gaps = dict[str, list[float]]
NETWORKS = (
    "ds_cnn",
    "resnet8",
    "mobilenetv1_025",
    "autoencoder",
    "wakeword",
    "squeezenet",
    "googlenet",
    "shufflenetv1",
    "fusiondetect",
    "resnet18",
)


def main(option: str, names: str) -> None:
    """Print the table of ``--packers``, ``--streamers`` or ``--ample``."""
    kind, asked = option.removeprefix("--"), names.split(",")
    gaps = _in_ample_memory(asked) if kind == "ample" else _beside_each_other(kind, names)
    rows = (
        [
            code(name),
            f"{median(gaps[name]):.1%}",
            f"{max(gaps[name]):.1%}",
            str(sum(not gap for gap in gaps[name])),
        ]
        for name in asked
    )
    what = "packer" if kind == "ample" else kind.removesuffix("s")
    print(table([what, ">median gap", ">largest", f">optimal of {len(NETWORKS)}"], rows))


def _in_ample_memory(asked: list[str]) -> Gaps:
    """The gaps of plans that are simulated on the chip, whose SharedMemory the packer may fill."""
    gaps: Gaps = defaultdict(list)
    for network, name in product(NETWORKS, asked):
        command = ["simulate", f"zoo:{network}", "--chip", "stm32n6", "--streamer", "sync", "--packer", name]
        answer = json_document([*command, "--json", "FILE"])
        gaps[name].append(answer["peak_bytes"] / answer["peak_lower_bound_bytes"] - 1)
    return gaps


def _beside_each_other(kind: str, names: str) -> Gaps:
    """The gaps in one comparison for each network."""
    gaps: Gaps = defaultdict(list)
    for network in NETWORKS:
        more = ",exact" if kind == "packers" else ""
        fixed = ["--chip", "stm32n6", "--time-limit", "20", "--json", "FILE"]
        answer = json_document(["compare", f"zoo:{network}", f"--{kind}", names + more, *fixed])
        for row in answer[kind]:
            gaps[row[kind.removesuffix("s")]].append(row["gap"])
    return gaps


if __name__ == "__main__":
    main(*sys.argv[1:])
