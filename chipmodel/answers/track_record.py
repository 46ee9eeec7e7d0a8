"""How far predictions for networks like one were from measurements: the answer to whether a time is right."""

from __future__ import annotations

from dataclasses import dataclass

from chipmodel.hardware.measured_networks import MeasuredNetwork, NetworkClass, NetworkTraits


@dataclass(frozen=True, slots=True)
class TrackRecord:
    """What measured networks say of a prediction for the board's own tool.

    ``like`` is None where no measured network is of the network's class; then ``nearest`` is of another one.
    """

    traits: NetworkTraits
    like: NetworkClass | None
    nearest: MeasuredNetwork
    warnings: tuple[str, ...]

    def interval(self, milliseconds: float) -> tuple[float, float] | None:
        """What a board may take that is predicted to take ``milliseconds``; None without a like network."""
        if self.like is None:
            return None
        low, high = self.like.interval
        return milliseconds * low, milliseconds * high
