"""A point with all that is needed to answer it anywhere: what a worker is given."""

from __future__ import annotations

from dataclasses import dataclass

from chipmodel.answers.study_row import Point
from chipmodel.hardware.chip import Chip
from chipmodel.studies.workload import Source


@dataclass(frozen=True, slots=True)
class PointTask:
    """One point. ``chip`` is None for a packing, and where there is no such chip: then ``error`` says why."""

    point: Point
    key: str
    source: Source
    chip: Chip | None = None
    chip_digest: str = ""
    searches: bool = False
    """Whether a planner searches, so that its time is unknown."""
    error: str = ""
    plugins: tuple[str, ...] = ()
    """The identities of the plug-ins that answer it (``chipmodel.entry_points.Plugin.identity``)."""
