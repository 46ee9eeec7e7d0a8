"""The base of every pydantic model of a file."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class StrictModel(BaseModel):
    """Refuses unknown keys and converts nothing: a text is no number, and true is not 1."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
