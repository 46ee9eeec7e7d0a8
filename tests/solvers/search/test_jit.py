"""Compiled functions, also where nothing may be kept on disk."""

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


def test_a_folder_for_the_compiled_code_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_module_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        fingerprint("state", "nowhere")


def test_the_fingerprint_covers_every_module_whose_functions_are_compiled() -> None:
    """What the kernel imports from its own package, and that imports in turn, is compiled into it."""
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
