"""A point with all that is needed to answer it anywhere: what a worker is given."""

from __future__ import annotations

from chipmodel.answers.study_row import Point
from chipmodel.hardware.chip import Chip
from chipmodel.records import dataclass
from chipmodel.studies.workload import Source


@dataclass(frozen=True, slots=True)
class PointTask:
    """One point. ``chip`` is None for a packing, and where there is no such chip: then ``error`` says why."""

    point: Point
    key: str
    """A hash of everything but the code that decides the answer."""
    source: Source
    chip: Chip | None = None
    chip_digest: str = ""
    searches: bool = False
    """Whether a planner searches, so that its time is unknown."""
    error: str = ""
    plugins: tuple[str, ...] = ()
    """The identities of the plug-ins that answer it (``chipmodel.entry_points.Plugin.identity``)."""

    @property
    def case(self) -> tuple[object, ...]:
        """What decides the schedule that packers with the same buffers share."""
        point = self.point
        return self.source, self.chip_digest, point.streamer, point.cascade, point.time_limit
