"""Processes of their own, for tests of what is imported."""

import subprocess
import sys

from tests.support.folders import ROOT


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    """The end of a new process of this Python that runs ``code``."""
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
