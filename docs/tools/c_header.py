"""Print the first lines of the C header of a plan, as a block of code.

python -m docs.tools.c_header
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from docs.tools.samples import run_chipmodel

NETWORK = "zoo:resnet8"
LINES = 32


def header() -> str:
    """What ``chipmodel export --as c-header`` writes for a network's plan."""
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder, "plan.json")
        run_chipmodel(["simulate", NETWORK, "--plan", str(plan)])
        return run_chipmodel(["export", str(plan), "--as", "c-header"])[1]


if __name__ == "__main__":
    shown = "\n".join(header().splitlines()[:LINES])
    print(f"```c\n{shown}\n```\n\n(`chipmodel export resnet8.json --as c-header`)")
