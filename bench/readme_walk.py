"""Walk README as a reader does: clone, install, run each command that it shows; print how long each takes.

python -m bench.readme_walk
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.finished_process import finished

ROOT = Path(__file__).parents[1]
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| ([^|]+) \| `((?:chipmodel|python) [^`|]+)` \|", re.MULTILINE)


def walk(readme: str) -> Iterator[tuple[str, str]]:
    """Yield what the page shows, and the command: those of its first shell block, then its table's."""
    block = SHELL.search(readme)
    for line in block[1].splitlines() if block else ():
        yield from ((part.strip(), part.strip()) for part in line.split(" && "))
    yield from ROW.findall(readme)


def main() -> None:
    print("| step | wall s | CPU s |\n| --- | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "chipmodel"
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
        steps = [("clone", f"git clone -q {shlex.quote(str(ROOT))} {checkout}")]
        steps += walk((ROOT / "README.md").read_text())
        for does, command in steps:
            if command.startswith(". "):  # activates the environment, as this does
                kept["PATH"] = f"{checkout / '.venv' / 'bin'}{os.pathsep}{kept['PATH']}"
                continue
            here = checkout if checkout.is_dir() else Path(folder)
            took = finished(["sh", "-c", command], here, kept)
            shown = f"`{does}`" if does == command else does
            print(f"| {shown} | {took.wall:.1f} | {took.cpu:.1f} |", flush=True)


if __name__ == "__main__":
    main()
