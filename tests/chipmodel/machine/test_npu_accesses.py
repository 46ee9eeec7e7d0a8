"""The accesses of an op to SharedMemory, by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest

from chipmodel.geometry.interval import Interval
from chipmodel.machine.npu_accesses import AccessStream, access_streams
from chipmodel.model.commands import Compute, Located
from chipmodel.model.schedule import Part, Phase
from tests.support.chips import LUNA_LIKE

ONE = Interval(0, 1)
X = Located(Part("x"), 100, 64, Interval(16, 48))
W = Located(Part("op", weights=True), 1000, 24)
Y = Located(Part("y"), 2000, 32)
OP = Compute("op", "op", 0, ONE, ONE, 40, (X, W), (Y,))
NPU = replace(LUNA_LIKE.npu, read_bytes_per_cycle=Fraction(8), write_bytes_per_cycle=Fraction(16))


def test_without_phases_all_operands_are_accessed_throughout() -> None:
    assert access_streams(OP, NPU) == (
        AccessStream(start=0, stride=10, count=4, width=8, address=116, span=32),
        AccessStream(start=0, stride=13, count=3, width=8, address=1000, span=24),
        AccessStream(start=0, stride=20, count=2, width=16, address=2000, span=32),
    )


def test_each_phase_accesses_its_own_operands() -> None:
    phases = (Phase("configure", 3), Phase("inputs", 4), Phase("weights", 6), Phase("outputs", 27))
    assert access_streams(replace(OP, phases=phases), NPU) == (
        AccessStream(start=3, stride=1, count=4, width=8, address=116, span=32),
        AccessStream(start=7, stride=1, count=6, width=8, address=1000, span=24),
        AccessStream(start=13, stride=13, count=2, width=16, address=2000, span=32),
    )


def test_the_right_operand_of_a_product_of_tensors_is_loaded_in_the_weights_phase() -> None:
    right = Located(Part("z"), 500, 80)
    product = replace(OP, reads=(X, right), writes=(), phases=(Phase("inputs", 4), Phase("weights", 10)))
    assert [(s.start, s.address, s.count) for s in access_streams(product, NPU)] == [
        (0, 116, 4),
        (4, 500, 10),
    ]


def test_a_load_that_lasts_longer_than_its_operand_begins_again() -> None:
    (stream,) = access_streams(replace(OP, reads=(X,), writes=(), phases=(Phase("inputs", 9),)), NPU)
    assert [stream.address_in(cycle) for cycle in range(10)] == [
        *(116, 124, 132, 140),
        *(116, 124, 132, 140),
        *(116, None),
    ]


def test_accesses_are_one_stride_apart() -> None:
    stream = AccessStream(start=5, stride=3, count=3, width=4, address=10, span=12)
    found = {c: stream.address_in(c) for c in range(4, 15)}
    assert found == {**dict.fromkeys(range(4, 15)), 5: 10, 8: 14, 11: 18}
    assert [stream.first_from(c) for c in (0, 5, 6, 8, 9, 12)] == [0, 0, 1, 1, 2, 3]
    assert stream.last == 11


@pytest.mark.parametrize("cycles", [1, 2, 3])
def test_accesses_are_wider_where_the_port_is_too_narrow_for_the_cycles(cycles: int) -> None:
    (stream,) = access_streams(Compute("op", "op", 0, ONE, ONE, cycles, (Y,), ()), NPU)
    assert stream.count * stream.width >= 32
    assert stream.count == cycles


def test_an_operand_of_no_bytes_is_not_accessed() -> None:
    empty = Located(Part("x"), 0, 8, Interval(4, 4))
    assert access_streams(Compute("op", "op", 0, ONE, ONE, 5, (empty,), ()), NPU) == ()
