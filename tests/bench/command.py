"""Benchmarks called as their users call them."""

import json
import subprocess
import sys
from functools import cache
from typing import Any

from tests.support.folders import ROOT


@cache
def printed(*arguments: str) -> str:
    """What ``python -m bench....`` prints; asked once for the same arguments."""
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def rows(*arguments: str) -> list[dict[str, Any]]:
    """The rows of a benchmark with ``--json``."""
    found: list[dict[str, Any]] = json.loads(printed(*arguments, "--json"))
    return found
