"""Print how far planners are from the optimum on networks of the zoo, as a Markdown table.

    python -m docs.tools.zoo_gaps --packers free-list,greedy-best-fit
    python -m docs.tools.zoo_gaps --streamers sync,ping-pong

A packer's gap is to the highest bound on the peak that any packer proves (``exact`` is asked as well); a
streamer's to the bound on cycles for its space of plans.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from statistics import median

from docs.tools.markdown import code, table
from docs.tools.samples import json_document

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
    """Print the table of ``--packers`` or ``--streamers``."""
    kind, asked = option.removeprefix("--"), names.split(",")
    gaps: dict[str, list[float]] = defaultdict(list)
    for network in NETWORKS:
        more = ",exact" if kind == "packers" else ""
        fixed = ["--chip", "stm32n6", "--time-limit", "20", "--json", "FILE"]
        answer = json_document(["compare", f"zoo:{network}", option, names + more, *fixed])
        for row in answer[kind]:
            gaps[row[kind.removesuffix("s")]].append(row["gap"])
    rows = (
        [
            code(name),
            f"{median(gaps[name]):.1%}",
            f"{max(gaps[name]):.1%}",
            str(sum(not gap for gap in gaps[name])),
        ]
        for name in asked
    )
    head = [kind.removesuffix("s"), ">median gap", ">largest", f">optimal of {len(NETWORKS)}"]
    print(table(head, rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
