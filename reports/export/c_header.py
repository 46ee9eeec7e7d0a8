"""Plans as C headers: offsets, sizes and the table of DMA transfers, or an arena in two memories.

C99, self-contained. Macros and declarations are for every file that includes it, the two tables only for
the one that defines ``PREFIX_TABLES``. A compile-time assertion compares the peak with the capacity, which
may be defined before the include.

The header of an arena is C++: a planner of TensorFlow Lite Micro's interface ``MicroMemoryPlanner``, which
``MicroAllocator::Create`` takes beside the arena (tensorflow/lite/micro/micro_allocator.h,
memory_planner/micro_memory_planner.h).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from chipmodel.answers.arena import SplitArenaAnswer
from reports.export.layout import Layout, moves, planned_cascades, rings, step_count
from reports.template import render_text

LONGEST = 63
"""Significant characters of an identifier: ISO/IEC 9899:1999, 5.2.4.1."""
LONGEST_PREFIX = 24
"""Characters of a prefix (chosen)."""
KEYWORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def prefix_of(workload: str) -> str:
    """The prefix of a workload's identifiers: ``resnet_18`` for ``nets/ResNet-18.onnx``."""
    stem = re.split(r"[/\\:]", workload)[-1]
    stem = re.sub(r"\.[A-Za-z0-9]+$", "", stem)
    word = _plain(stem).lower()[:LONGEST_PREFIX].strip("_")
    return word if word and word[0].isalpha() else f"net_{word}".strip("_")[:LONGEST_PREFIX]


def identifiers(names: Iterable[str], longest: int) -> dict[str, str]:
    """An identifier for each name: upper case, at most ``longest`` characters, all different."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        word = _plain(name).upper()[:longest] or "X"
        number = 1
        made = word
        while made in taken:
            number += 1
            end = f"_{number}"
            made = word[: longest - len(end)] + end
        taken.add(made)
        found[name] = made
    return found


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")


def commented(text: str) -> str:
    """``text`` without anything that ends or opens a comment, is a trigraph, or continues a line."""
    return re.sub(r"[^A-Za-z0-9 .,:;_+\-=<>()\[\]@#%&|/]", "_", text)


LONGEST_INFIX = len("_ROW_BYTES_")
"""Characters between the prefix and the name of a buffer."""


def c_header(layout: Layout, prefix: str) -> str:
    """The header's text; ``prefix`` begins every identifier (at most 24 characters)."""
    transfers = moves(layout)
    wide = max([layout.capacity, layout.peak, *(m.start.psram_end for m in transfers)]) >= 1 << 32
    longest = LONGEST - min(len(prefix), LONGEST_PREFIX) - LONGEST_INFIX
    values = {
        "layout": layout,
        "on": layout.chip if layout.core is None else f"core {layout.core} of {layout.chip}",
        "low": prefix.lower(),
        "up": prefix.upper(),
        "integer": "uint64_t" if wide else "uint32_t",
        "u": "ull" if wide else "u",
        "names": identifiers((b.name for b in layout.buffers), longest),
        "moves": transfers,
        "steps": step_count(layout),
        "rings": rings(layout),
        "cascades": planned_cascades(layout),
    }
    return render_text("plan.h.j2", values, {"commented": commented})


def arena_header(answer: SplitArenaAnswer) -> str:
    """The header's text; its namespace is called after the model."""
    tensors = [each for each in answer.places if each.request.tensor is not None]
    values = {"answer": answer, "tensors": tensors, "space": f"{prefix_of(answer.source)}_arena"}
    return render_text("arena.h.j2", values, {"commented": commented})
