"""What an op of a run takes, as a result has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from chipmodel.records import dataclass


@dataclass(frozen=True, slots=True)
class OpTotals:
    """One op over the whole run. ``macs`` is for one execution of the op; ``runs`` counts its executions."""

    name: str
    kind: str
    macs: int
    runs: int
    steps: int
    compute_cycles: int
    stalls: Mapping[str, int]
    """Cycles that the NPU waited on the op's behalf, by cause."""
    loaded_bytes: int
    stored_bytes: int
    KEYS: ClassVar = (
        *("name", "kind", "macs", "runs", "steps", "compute_cycles", "stall_cycles", "stalls"),
        *("loaded_bytes", "stored_bytes"),
    )

    @property
    def stall_cycles(self) -> int:
        return sum(self.stalls.values())

    @property
    def cycles(self) -> int:
        """NPU cycles for the op, computing and waiting."""
        return self.compute_cycles + self.stall_cycles

    @property
    def spent(self) -> dict[str, int]:
        """NPU cycles by cause of waiting, and under ``compute``."""
        return {"compute": self.compute_cycles, **self.stalls}
