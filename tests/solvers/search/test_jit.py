"""Compiled functions, with and without a cache on disk."""

from __future__ import annotations

import re
from pathlib import Path

import numba.core.caching
import pytest

import solvers.search.jit
from solvers.search.jit import compiled, fingerprint
from solvers.search.kernel import COMPILED_FROM


def square(number: int) -> int:
    return number * number


def test_compiling_needs_no_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    assert compiled(square)(12) == 144


def test_the_fingerprint_changes_with_the_text_of_each_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(solvers.search.jit, "__file__", str(tmp_path / "jit.py"))
    for module in COMPILED_FROM:
        (tmp_path / f"{module}.py").write_text("before")
    before = fingerprint(*COMPILED_FROM)
    for module in COMPILED_FROM:
        (tmp_path / f"{module}.py").write_text("after")
        assert fingerprint(*COMPILED_FROM) != before
        (tmp_path / f"{module}.py").write_text("before")


def test_a_missing_module_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        fingerprint("state", "nowhere")


def test_the_fingerprint_covers_every_module_whose_functions_are_compiled() -> None:
    """The modules of its package that the kernel imports, directly or not, are compiled into it."""
    folder = Path(solvers.search.jit.__file__).parent
    reached, wanted = set[str](), {"kernel"}
    while wanted:
        module = wanted.pop()
        reached.add(module)
        text = (folder / f"{module}.py").read_text()
        found = re.findall(r"^from solvers\.search(?:\.(\w+) import| import (\w+) as)", text, re.MULTILINE)
        assert text.count("solvers.search import") == sum(1 for _, whole in found if whole)
        wanted |= {part or whole for part, whole in found} - reached
    assert reached == set(COMPILED_FROM)
