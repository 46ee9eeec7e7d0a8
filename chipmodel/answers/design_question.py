"""What an architect asks of the designs of a study: requirements, and columns by formula."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from chipmodel.records import dataclass

DesignKey = tuple[str, tuple[tuple[str, str], ...]]
"""A chip and what the study sets of its fields."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """The most that a run of any network of the study may take; None for any."""

    milliseconds: float | None = None
    peak_bytes: int | None = None
    """Bytes of SharedMemory that the plan takes, as the chip may need some for other programs."""
    microjoules: float | None = None

    def __bool__(self) -> bool:
        return self != NO_REQUIREMENTS


NO_REQUIREMENTS = Requirements()


@dataclass(frozen=True, slots=True)
class DesignQuestion:
    """The requirements, and the ``columns`` by name with their values for each design."""

    requirements: Requirements = NO_REQUIREMENTS
    columns: tuple[str, ...] = ()
    """The first is what a design costs: of designs that do the same, the one with less of it is better."""
    values: Mapping[DesignKey, tuple[float, ...]] = field(default_factory=dict[DesignKey, tuple[float, ...]])

    def knows(self, design: DesignKey) -> bool:
        """Whether a design has a value for every column."""
        return not self.columns or len(self.values.get(design, ())) == len(self.columns)

    def costs(self, design: DesignKey) -> tuple[tuple[str, float], ...]:
        """The columns of a design; none where it has no chip."""
        return tuple(zip(self.columns, self.values.get(design, ()), strict=False))
