"""Ops that are faster in stripes."""

import pytest

from chipmodel.hardware.chip_file import load_chip
from chipmodel.npu.cycles import op_cycles
from chipmodel.rewrites.in_place import reuse
from dma.residency.faster_cuts import faster_cuts, may_be_cut
from dma.residency.tiling import Tiling
from workloads.load import load


@pytest.mark.parametrize(("network", "slices"), [("squeezenet", 1), ("squeezenet", 3), ("blazeface", 1)])
def test_an_op_in_stripes_is_faster_by_what_is_asked(network: str, slices: int) -> None:
    npu = load_chip("alif-e7").npu
    ops = {op.name: op for op in reuse(load(f"zoo:{network}"), "all").ops() if may_be_cut(op)}
    found = faster_cuts(((op, -(-op.work.channels // slices)) for op in ops.values()), npu, 1000)
    assert found
    for name, tiling in found.items():
        op = ops[name]
        whole = Tiling(op.work.rows, tiling.channels)
        before, after = (
            sum(op_cycles(npu, op, len(rows), len(channels)) for rows, channels in each.tiles(op))
            for each in (whole, tiling)
        )
        assert after < before - 1000
        assert (tiling.channels, tiling.striped) == (-(-op.work.channels // slices), False)


def test_squeezenets_last_maximum_takes_two_stripes() -> None:
    """Whole it is computed in blocks of 10 of its 13 rows, the second of which is nearly empty."""
    npu = load_chip("alif-e7").npu
    op = next(op for op in load("zoo:squeezenet").ops() if op.name == "max11")
    tiling = faster_cuts([(op, op.work.channels)], npu, 0)["max11"]
    cycles = [op_cycles(npu, op, len(rows), op.work.channels) for rows in tiling.stripes(op)]
    assert (op_cycles(npu, op, 13, op.work.channels), tiling.rows, sum(cycles)) == (206_363, 7, 86_762)


@pytest.mark.parametrize("chip", ["stm32n6", "luna-arcs", "gap9-psram"])
def test_no_op_of_other_npus_is_cut(chip: str) -> None:
    whole = [(op, op.work.channels) for op in load("zoo:squeezenet").ops()]
    assert faster_cuts(whole, load_chip(chip).npu, 0) == {}
