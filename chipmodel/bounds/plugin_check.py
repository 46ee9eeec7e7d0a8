"""NPU models that are plug-ins, compared with runs: no run takes less than the bound that rests on them."""

from __future__ import annotations

from chipmodel.hardware.chip import Chip
from chipmodel.model.time_bound import TimeBound


def refuse_beaten(bound: TimeBound, chip: Chip, *cycles: int | None) -> None:
    """Raise PluginFault where the NPU model is a plug-in and one of the runs takes less ``cycles`` than
    ``bound``, which holds for all of them. None stands for no run."""
    fastest = min((each for each in cycles if each is not None), default=bound.cycles)
    if chip.npu.plugin and fastest < bound.cycles:
        least = f"states least cycles by which no run takes under {bound.cycles:,}"
        raise chip.npu.plugin.plugin.fault(f"{least}, but one takes {fastest:,}")
