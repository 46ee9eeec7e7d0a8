"""When enough candidates were tried."""

from dma.schedule.effort import StopCriterion


def test_enough_near_the_bound_or_after_the_time() -> None:
    stop = StopCriterion(seconds=2.0, gap=0.01, bound=100)
    assert stop.enough(101, 0)
    assert not stop.enough(102, 1.9)
    assert stop.enough(102, 2.0)
    assert not StopCriterion(gap=0.5).enough(1, 1e9), "without a bound nothing is near"
