"""Every benchmark can be started: what it imports is there."""

from importlib import import_module
from pathlib import Path

import pytest

import bench

OPTIONAL = {"torch", "executorch", "ethosu"}
"""What the benchmark of another tool needs, and the tests do not install."""


@pytest.mark.parametrize("name", sorted(path.stem for path in Path(bench.__file__).parent.glob("[a-z]*.py")))
def test_a_benchmark_imports_what_there_is(name: str) -> None:
    try:
        import_module(f"bench.{name}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in OPTIONAL:
            raise
