"""The base of every pydantic model of a file."""

from __future__ import annotations

from typing import cast

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

UNKNOWN_KEY = "unknown_key"
"""The type of the error of a key that a model does not have."""


class StrictModel(BaseModel):
    """Refuses unknown keys and converts nothing: a text is no number, and true is not 1."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _has_keys(cls, given: object) -> object:
        """Refuse the first unknown key, with those that there are: another mistake here may come from it."""
        known = {field.alias or name: field for name, field in cls.model_fields.items()}
        keys = map(str, cast(dict[object, object], given)) if isinstance(given, dict) else ()
        if unknown := [key for key in keys if key not in known]:
            context = {"key": unknown[0], "known": [*known]}
            raise PydanticCustomError(UNKNOWN_KEY, "the key {key} is not known", context)
        return given  # pyright: ignore[reportUnknownVariableType]
