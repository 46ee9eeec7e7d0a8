"""``exact`` against all sets of cascades and heights of their steps, where only transfers cost anything."""

from __future__ import annotations

from collections import Counter
from random import Random

from chipmodel.errors import DoesNotFit
from chipmodel.pipeline.cascade_search import plan_with_cascades
from chipmodel.pipeline.choices import CASCADE_AUTO
from chipmodel.pipeline.request import PlanRequest
from dma.schedule.expected_forecast import ScheduleForecast
from tests.support.cascade_chains import least_forecast, random_chain, small_memory
from tests.support.chips import LUNA_LIKE

COUNT = 500
STREAMER = "exact:0"
"""Without cycles of the NPU it does not matter when a load is issued, so nothing is searched."""


def check(seed: int) -> Counter[str]:
    """The planner's forecast is the least of all sets of cascades. Raises AssertionError where it is not."""
    random = Random(seed)
    program = random_chain(random)
    request = PlanRequest(
        program, small_memory(program, LUNA_LIKE, random), "exact", STREAMER, cascade=CASCADE_AUTO
    )
    least = least_forecast(request)
    try:
        planned = plan_with_cascades(request, None)
    except DoesNotFit:
        assert least is None, f"seed {seed}: {least} cycles with some cascades, and none are found"
        return Counter(chains=1, nothing_fits=1)
    if planned.solved.peak > request.chip.shared_memory.bytes:
        assert least is None, f"seed {seed}: {least} cycles with some cascades, and none found fits"
        return Counter(chains=1, nothing_fits=1)
    cycles = ScheduleForecast(program, request.chip).cycles(planned.schedule)
    assert least is not None
    assert cycles <= least, f"seed {seed}: {cycles} cycles, {least} with other cascades"
    return Counter(chains=1, with_cascades=bool(planned.schedule.cascades))
