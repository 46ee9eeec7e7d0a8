"""Sampled paths: the confidence interval of the mean, and Student's t."""

import pytest

from chipmodel.paths.sample import interval, student


@pytest.mark.parametrize(("degrees", "value"), [(15, 2.1314), (29, 2.0452), (99, 1.9842), (999, 1.9623)])
def test_quantiles_of_student(degrees: int, value: float) -> None:
    # The two-sided 95 % column of any table of Student's t.
    assert student(degrees) == pytest.approx(value, abs=1e-4)


def test_an_interval_by_hand() -> None:
    # Mean 8.5, variance 68 / 3, so the standard error is sqrt(68 / 48) = 1.190238.
    low, high = interval(range(1, 17))
    assert low == pytest.approx(8.5 - 2.1314 * 1.190238, abs=1e-3)
    assert high == pytest.approx(8.5 + 2.1314 * 1.190238, abs=1e-3)
