"""Bands of columns of a cascade, by known answers."""

import pytest

from chipmodel.cascades.rewrite import CascadeChoice, cascade_op
from chipmodel.geometry.interval import Interval
from chipmodel.geometry.share import Share
from chipmodel.model.cascade_work import Band, CascadeWork
from chipmodel.model.program import Op, Program
from tests.support.narrowed import of_kind
from tests.support.small_networks import small_network
from workloads.build.builder import ProgramBuilder


def three(stride: int = 1, kernel: int = 3) -> Program:
    """Three convolutions on 6 rows by 12 columns, the last one with that window."""
    b = ProgramBuilder("three")
    x = b.input("x", (1, 2, 6, 12))
    y = b.conv("b", b.conv("a", x, 3, 3, pad=1), 4, 3, pad=1)
    b.output(b.conv("c", y, 5, kernel, pad=kernel // 2, stride=stride))
    return b.build()


def cascade(program: Program, bands: int, rolls: bool = True) -> CascadeWork:
    ops = list(program.ops())
    op = cascade_op(program, ops, CascadeChoice(tuple(o.name for o in ops), (1, 1, 1), rolls, bands=bands))
    return of_kind(CascadeWork, op.work)


def columns(work: CascadeWork, op: int) -> list[Interval | None]:
    """Of each band."""
    found = [step.columns for step in work.steps if step.op == op]
    return list(dict.fromkeys(found))


def test_each_band_has_the_halo_of_all_windows_after_it() -> None:
    work = cascade(three(), 3)
    assert columns(work, 2) == [Interval(0, 4), Interval(4, 8), Interval(8, 12)]
    assert columns(work, 1) == [Interval(0, 5), Interval(3, 9), Interval(7, 12)]
    assert columns(work, 0) == [Interval(0, 6), Interval(2, 10), Interval(6, 12)]


def test_buffers_have_the_columns_of_the_widest_band() -> None:
    held = {each.tensor: each for each in cascade(three(), 3).held}
    assert held["a"].bytes == 3 * 3 * 8  # rows, channels, columns
    assert [held["a"].bytes_in(band) for band in range(3)] == [3 * 3 * 6, 3 * 3 * 8, 3 * 3 * 6]
    assert held["b"].bytes == 3 * 4 * 6


@pytest.mark.parametrize("rolls", [True, False])
def test_every_band_has_the_same_rows(rolls: bool) -> None:
    whole, work = cascade(three(), 1, rolls), cascade(three(), 2, rolls)
    rows = [(step.op, step.rows) for step in work.steps]
    assert rows == 2 * [(step.op, step.rows) for step in whole.steps]
    each = len(work.groups) // 2
    assert [work.band_of(group) for group in range(2 * each)] == [0] * each + [1] * each


@pytest.mark.parametrize("again", [(), ("a",)])
def test_each_step_of_the_first_op_loads_its_rows_alone(again: tuple[str, ...]) -> None:
    """In bands, or with rows made again; otherwise all up to a step of the last op are loaded at once."""
    program = three()
    ops = list(program.ops())
    for bands in (1, 2):
        choice = CascadeChoice(("a", "b", "c"), (1, 1, 1), True, bands=bands, again=again)
        work = of_kind(CascadeWork, cascade_op(program, ops, choice).work)
        steps = [[step.op for step in group] for group in work.groups]
        rows = max(map(len, work.reads[0].of_group))
        if bands == 1 and not again:
            assert (steps[0], rows) == ([0, 0, 1, 0, 1, 2], 4)
        else:
            assert rows == 3
            assert all(group.count(0) <= 1 and group.count(2) <= 2 for group in steps)
            assert len(work.makes[0].of_group[0]) == 0


def test_what_is_read_and_made_is_some_columns_of_some_rows() -> None:
    work = cascade(three(), 3)
    assert work.reads[0].share(Interval(8, 11)) == Share(
        Interval(0, 4), 6, Interval(0, 2), 2, Interval(1, 11), 12
    )
    assert work.makes[0].share(Interval(11, 12)) == Share(
        Interval(1, 2), 6, Interval(0, 5), 5, Interval(4, 8), 12
    )
    assert work.makes[0].share(Interval(0, 24)).whole


def test_columns_that_no_window_reads_are_computed_all_the_same() -> None:
    """With a stride of 4 and one tap, every fourth column is read."""
    work = cascade(three(stride=4, kernel=1), 3)
    assert columns(work, 2) == [Interval(0, 1), Interval(1, 2), Interval(2, 3)]
    assert columns(work, 1) == [Interval(0, 1), Interval(1, 5), Interval(5, 12)]


def test_an_op_of_all_columns_has_no_band() -> None:
    program = small_network("wide")
    op = cascade_op(program, list(program.ops()), CascadeChoice(("a", "b"), (1, 1), True, bands=2))
    assert isinstance(op.work, CascadeWork)
    assert columns(op.work, 0) == [None]
    assert columns(op.work, 1) == [Interval(0, 3), Interval(3, 6)]
    assert {step.band for step in op.work.steps} >= {None, Band(Interval(0, 3), 6)}


def refused(program: Program, names: tuple[str, ...], bands: int) -> str:
    ops: list[Op] = [op for op in program.ops() if op.name in names]
    with pytest.raises(ValueError, match=r".") as error:
        cascade_op(program, ops, CascadeChoice(names, (1,) * len(names), True, bands=bands))
    return str(error.value)


def test_impossible_bands_are_refused() -> None:
    program = small_network("refused")
    assert "'mean' cannot run in bands" in refused(program, ("b", "mean"), 2)
    assert "needed elsewhere" in refused(program, ("a", "b"), 2)
    assert "12 columns are not 7 bands" in refused(three(), ("a", "b", "c"), 7)
