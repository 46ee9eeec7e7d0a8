"""Streamers are tested alone here; beside their rivals in ``tests/chipmodel/pipeline``."""

import pytest

from chipmodel.pipeline import rival_streamers


@pytest.fixture(autouse=True)
def without_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan a search without the quick streamers beside it, which take most of the time."""
    monkeypatch.setattr(rival_streamers, "RIVALS", ())
