"""Compiled functions, also where nothing may be kept on disk."""

from __future__ import annotations

import numba.core.caching
import pytest

from solvers.search_jit import compiled


def square(number: int) -> int:
    return number * number


def test_a_folder_for_the_compiled_code_is_not_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    assert compiled(square)(12) == 144
