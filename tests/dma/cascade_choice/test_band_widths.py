"""The columns of ops in a band in the middle, against the exact bands of the cascade."""

import pytest

from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.model.cascade_work import CascadeWork
from chipmodel.model.program import Program
from dma.cascade_choice.band_widths import BandedOps
from workloads.build.builder import ProgramBuilder


def chain(stride: int = 1) -> Program:
    b = ProgramBuilder("chain")
    x = b.input("x", (1, 2, 6, 36))
    x = b.conv("a", x, 3, 3, pad=1)
    x = b.conv("b", x, 3, (1, 5), pad=(0, 2, 0, 2), stride=(1, stride))
    y = b.conv("c", x, 3, 3, pad=1)
    x = b.elementwise("add", "d", [x, y])
    b.output(b.pool("mean", x, None))
    return b.build()


@pytest.mark.parametrize("bands", [2, 3, 4, 6])
@pytest.mark.parametrize("stride", [1, 2])
def test_widths_are_those_of_the_widest_band(bands: int, stride: int) -> None:
    program = chain(stride)
    ops = list(program.ops())[:-1]
    op = cascade_op(program, ops, CascadeChoice(tuple(o.name for o in ops), (1,) * 4, True, bands=bands))
    assert isinstance(op.work, CascadeWork)
    found = BandedOps(program, ops).widths(0, 4, bands)
    for index, width in found.items():
        exact = max(
            len(step.columns or range(width.share.denominator)) for step in op.work.steps if step.op == index
        )
        of = program.tensors[ops[index].outputs[0]].shape[3]
        assert (width.bands, int(width.share * of)) == (bands, exact)
    widest = (
        max(len(columns) for columns in op.work.reads[0].columns.of_group) if op.work.reads[0].columns else 0
    )
    assert int(found[0].share_read * 36) == widest


def test_all_columns_where_there_are_no_bands() -> None:
    program = chain()
    found = BandedOps(program, list(program.ops())).widths(0, 5, 1)
    assert {width.share for width in found.values()} == {1}
    assert list(found) == [0, 1, 2, 3, 4]


def test_ops_that_need_all_columns_end_the_bands() -> None:
    program = chain()
    ops = list(program.ops())
    assert BandedOps(program, ops).widths(0, 5, 2) == {}  # a global pooling at the end
    assert BandedOps(program, ops).widths(0, 3, 35) == {}  # 36 columns are 18 or 36 bands
    assert sorted(BandedOps(program, ops).widths(1, 3, 2)) == [1, 2]
