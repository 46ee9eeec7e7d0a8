"""Rows that are held, estimated in the middle of an image, against the exact geometry of the cascade."""

import numpy as np
import pytest

from chipmodel.cascades.rows import recomputing, rolling
from chipmodel.cascades.shape import cascade_shape
from chipmodel.hardware.chip_file import load_chip
from dma.cascade_choice.chain_geometry import ChainGeometry
from dma.cascade_choice.rows_held import row_estimate
from dma.cascade_choice.straight_chains import LiveAround
from dma.cascade_choice.stripe_heights import stripe_heights
from workloads.build.builder import ProgramBuilder

ONE = np.array([0], np.int64)


def chain(stride: int = 1) -> ChainGeometry:
    """Windows of five rows, whose padding hides two of them at the border of the image."""
    builder = ProgramBuilder("windows")
    value = builder.input("x", (1, 2, 24, 6))
    value = builder.conv("a", value, 4, 3, pad=1)
    value = builder.conv("b", value, 4, 5, pad=2)
    builder.output(builder.conv("c", value, 4, 5, pad=2, stride=stride))
    program = builder.build()
    return ChainGeometry(program, load_chip("luna-arcs"), list(program.ops()), 0, LiveAround(program))


@pytest.mark.parametrize("heights", [(1, 1, 1), (2, 2, 2), (4, 2, 1)])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("rolls", [True, False])
def test_as_many_rows_are_held_as_the_cascade_has(rolls: bool, stride: int, heights: tuple[int, ...]) -> None:
    geometry = chain(stride)
    estimate = row_estimate(geometry, stripe_heights(3, [(3, 0, heights)]), rolls)
    estimate.end(2, ONE)
    found = [int(estimate.held(index, ONE)[0]) * geometry.row_bytes[index] for index in (1, 0)]
    shape = cascade_shape(geometry.program, geometry.ops)
    _, held = (rolling if rolls else recomputing)(geometry.program, shape, heights)
    exact = {each.tensor: each.bytes for each in held}
    assert found == [exact["b"], exact["a"]]


@pytest.mark.parametrize(("rolls", "rows"), [(True, 6), (False, 11)])
def test_a_stripe_of_the_input_is_what_one_step_of_the_last_op_reads(rolls: bool, rows: int) -> None:
    """The first step reads the halo below its row; where rows are computed again a step reads all of it."""
    geometry = chain()
    estimate = row_estimate(geometry, stripe_heights(3, [(3, 0, (1, 1, 1))]), rolls)
    estimate.end(2, ONE)
    for index in (1, 0):
        estimate.held(index, ONE)
    ((_, reach, _),) = geometry.streamed[0]
    assert estimate.read(0, ONE, reach).tolist() == [rows]
