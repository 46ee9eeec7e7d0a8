"""What weights are shared, and what a single index becomes."""

from pathlib import Path

import numpy
import pytest

from chipmodel.geometry.interval import Interval
from tests.workloads.from_onnx.support_models import load, model, node, nodes

VALUES = numpy.arange(16, dtype="f").reshape(4, 4)


def normalised(tmp_path: Path, second: str) -> int:
    """The weight bytes of two convolutions with one weight, each with a batch norm of its own."""
    rows = numpy.arange(1, 5, dtype="f")
    nodes = [
        node("Conv", "x w", "a", kernel_shape=[1, 1]),
        node("BatchNormalization", "a s b m v", "n"),
        node("Conv", "n w", "c", kernel_shape=[1, 1]),
        node("BatchNormalization", f"c {second} b m v", "y"),
    ]
    constants = {"w": VALUES.reshape(4, 4, 1, 1), **dict.fromkeys("stbmv", rows)}
    return load(tmp_path, model(nodes, {"x": [1, 4, 3, 3]}, "y", constants)).weight_bytes


def test_weights_that_another_batch_norm_is_merged_into_are_not_shared(tmp_path: Path) -> None:
    assert normalised(tmp_path, "t") == 2 * 16 + 2 * 16
    assert normalised(tmp_path, "s") == 16 + 16


@pytest.mark.parametrize(("index", "first"), [(0, 0), (-1, 45), ([-1], 45)])
def test_one_index_is_a_slice(index: int | list[int], first: int, tmp_path: Path) -> None:
    made = model(nodes("g = Gather x i", "y = Relu g"), {"x": [4, 3, 5]}, "y", {"i": numpy.array(index)})
    op = next(load(tmp_path, made).ops())
    part = op.reads(0, Interval(0, op.work.rows), Interval(0, op.work.channels))
    assert part.rows.start * 60 // part.of_rows == first
