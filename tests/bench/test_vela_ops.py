"""What Vela is asked about an op is what the model computes."""

import pytest

from bench.vela_ops import Shape, query
from chipmodel.model.program import Op
from chipmodel.model.work import Vector


@pytest.mark.parametrize(
    ("view", "rows", "side"),
    [((1, 3, 6, 2), 18, [3, 6, 2]), ((1, 3, 6, 2), 6, [6, 2, 3])],
    ids=["matrix in four axes", "image"],
)
def test_the_channels_are_those_of_the_model(view: tuple[int, ...], rows: int, side: list[int]) -> None:
    op = Op("op", "add", Vector(36, 72, 36, rows), ("x", "z"), ("y",), views=(view, view, view))
    asked = query(Shape("u55", 64, op, "test"))
    assert asked["ifm"] == asked["ofm"] == side
    assert asked["inputs"] == 2
