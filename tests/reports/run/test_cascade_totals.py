from typing import Any

import pytest

from chipmodel.answers.result import Result
from reports.run.cascade_totals import cascade_totals
from reports.run.summary import print_summary
from reports.run.totals import run_totals
from tests.reports.cascade_sample import NAME, cascaded, in_bands
from tests.reports.console import on_console
from tests.reports.sample import sample


def printed(result: Result) -> str:
    return on_console(lambda console: print_summary(result, console))


def test_rows_and_bytes_of_a_rolling_cascade() -> None:
    # A step of second computes 4 rows and reads 6 of first; the first two that the next one reads again are
    # still there when the 4 after them are made: 9 rows of 16 channels x 32 bytes at once.
    [found] = cascade_totals(cascaded())
    # Kernels of 3 x 3 in int8 and a bias of int32 for each output channel.
    blocks = (9 * 8 * 16 + 4 * 16, 9 * 16 * 32 + 4 * 32, 9 * 32 * 16 + 4 * 16)
    assert (found.plan.name, found.weight_bytes) == (NAME, sum(blocks))
    assert [(op.name, op.steps, op.height) for op in found.ops] == [
        ("first", 8, 4),
        ("second", 8, 4),
        ("third", 4, 4),
    ]
    assert [(t.name, t.rows, t.of_rows, t.row_bytes) for t in found.tensors] == [
        ("first", 9, 32, 512),
        ("second", 9, 32, 1024),
    ]
    assert (found.held_bytes, found.whole_bytes) == (9 * 512 + 9 * 1024, 16384 + 32768)


def test_rows_computed_again_are_held_stripe_by_stripe() -> None:
    # Four rows of third need 9 of second, and those 11 of first.
    [found] = cascade_totals(cascaded(rolls=False))
    assert [t.rows for t in found.tensors] == [11, 9]
    assert "again" in found.buffers


@pytest.mark.parametrize("iterations", [0, 3])
def test_each_op_is_charged_with_its_own_weights(iterations: int) -> None:
    result = cascaded(iterations)
    sums = run_totals(result)
    loaded = {op.name: op.loaded_bytes for op in sums.ops}
    assert sum(loaded.values()) == sums.loaded_bytes
    times = sums.moved_bytes["load weights"] // sum(map(result.program.block_bytes, result.program.ops()))
    second = next(op for op in result.program.ops() if op.name == "second")
    assert loaded["second"] >= times * result.program.block_bytes(second) > 0


def test_the_summary_has_a_row_for_each_cascade() -> None:
    text = printed(cascaded())
    assert max(len(row.rstrip()) for row in text.splitlines()) <= 80
    row: Any = next(row for row in text.splitlines() if row.strip().startswith(NAME))
    assert " ".join(row.split()) == f"{NAME} 3 20 4 13.5 KiB 48.0 KiB 10.4 KiB"
    assert "2 tensors of 48.0 KiB exist only as 13.5 KiB of rows (28.1%)" in " ".join(text.split())
    assert "first, second, third" in text
    assert "first (11 rows), second (9 rows)" in " ".join(printed(cascaded(rolls=False)).split())
    assert "Cascade" not in printed(sample())


@pytest.mark.parametrize("rolls", [True, False])
def test_a_cascade_in_bands_holds_some_columns(rolls: bool) -> None:
    # A band of right has 64 columns, for which it reads one more of left; three rows of four channels.
    [found] = cascade_totals(in_bands(rolls))
    [tensor] = found.tensors
    assert (tensor.rows, tensor.columns, tensor.of_columns, tensor.bytes) == (3, 65, 128, 3 * 4 * 65)
    assert "2 bands of columns" in found.buffers
