"""A plan as a C header: offsets, sizes and the table of DMA transfers.

C99, self-contained. Macros and declarations are for every file that includes it, the two tables only for the
one that defines ``PREFIX_TABLES``. A compile-time assertion compares the peak with the capacity, which may be
defined before the include.
"""

from __future__ import annotations

from reports.export.c_names import LONGEST, LONGEST_PREFIX, commented, identifiers
from reports.export.layout import Layout, moves, planned_cascades, rings, step_count
from reports.template import render_text

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
