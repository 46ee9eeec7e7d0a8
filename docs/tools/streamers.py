"""Print one network's time with several streamers as a Markdown table.

    python -m docs.tools.streamers zoo:resnet18 --chip stm32n6 --streamers sync,ping-pong

The arguments are those of ``chipmodel compare``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from docs.tools.markdown import code, table
from docs.tools.samples import json_document


def rows(answer: dict[str, Any]) -> Iterator[list[str]]:
    """Name, cycles, milliseconds, saved on ``sync``, and how far above the bound for its space of plans."""
    for row in answer["streamers"]:
        saved = 1 - row["total_cycles"] / row["sync_cycles"]
        cycles, time = f"{row['total_cycles']:,}", f"{row['milliseconds']:.2f}"
        yield [code(row["streamer"]), cycles, time, f"{saved:.1%}", f"{row['gap']:.2%}"]


if __name__ == "__main__":
    heads = ["streamer", ">cycles", ">ms", ">saved on `sync`", ">above the lower bound"]
    print(table(heads, rows(json_document(["compare", *sys.argv[1:], "--json", "FILE"]))))
