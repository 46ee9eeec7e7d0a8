"""Which number of a chip matters: the time of a workload with each number varied alone."""

from __future__ import annotations

from typing import ClassVar

from chipmodel.records import dataclass

CUT_SHORT = "ended early, by a signal or the time limit"
"""The reason of a run without a time that was not planned to its end."""


@dataclass(frozen=True, slots=True)
class VariedRun:
    """The workload with one number changed to ``value``, as a chip file writes it."""

    value: str
    milliseconds: float | None = None
    """None where there is no run."""
    reason: str = ""
    """Why there is none: the chip cannot be, or the workload does not fit."""


@dataclass(frozen=True, slots=True)
class VariedField:
    """A number of the chip, with the runs of a smaller and a larger value."""

    field: str
    value: str
    less: VariedRun
    more: VariedRun
    KEYS: ClassVar = (
        *("field", "value", "less_value=less.value", "less_milliseconds=less.milliseconds"),
        *("less_reason=less.reason", "more_value=more.value", "more_milliseconds=more.milliseconds"),
        "more_reason=more.reason",
    )

    def changes(self, milliseconds: float) -> tuple[float | None, float | None]:
        """Return the share by which either value changes the ``milliseconds`` of the chip as it is."""
        times = (self.less.milliseconds, self.more.milliseconds)
        less, more = (None if each is None else each / milliseconds - 1 for each in times)
        return less, more

    def span(self, milliseconds: float) -> float:
        """The largest change in either direction; 0 without a run."""
        return max(abs(change or 0.0) for change in self.changes(milliseconds))


@dataclass(frozen=True, slots=True)
class SensitivityAnswer:
    """The time of a workload on a chip, and with every number of it varied by ``step``, one at a time."""

    workload: str
    chip: str
    step: float
    """The share by which a number is varied; a whole number by 1 or more, a power of two by a power."""
    milliseconds: float
    fields: tuple[VariedField, ...]
    """Those that matter most first."""
    zero: tuple[str, ...] = ()
    """Numbers that are 0, of which there is no share."""
    FORMAT: ClassVar = "chipmodel-sensitivity/1"

    @property
    def cut_short(self) -> int:
        """How many fields were not varied to the end, so that they are not ranked."""
        return sum(CUT_SHORT in (field.less.reason, field.more.reason) for field in self.fields)

    @property
    def idle(self) -> tuple[str, ...]:
        """Fields that change nothing, as far as there is a run."""
        still = (field for field in self.fields if field.span(self.milliseconds) == 0)
        return tuple(each.field for each in still if any(c == 0 for c in each.changes(self.milliseconds)))
