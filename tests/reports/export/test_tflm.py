"""Format: tensorflow/lite/micro/docs/memory_management.md."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chipmodel.errors import BadInput
from reports.export.layout import layout_of
from reports.export.tflm import (
    OfflinePlan,
    offline_bytes,
    offline_plan,
    offline_table,
    read_offline,
)
from tests.reports.plan_files import plan
from tests.reports.sample import EVIL

LAYOUT = layout_of(plan(), "p")


def test_the_contents_are_what_the_format_says() -> None:
    made = offline_plan(LAYOUT, [EVIL, "input of the model", "x", "", "z"], "names.txt")
    assert offline_bytes(made) == struct.pack("<8i", 1, 1, 5, 64, -1, 0, -1, -1)
    assert made.head_bytes == 128
    assert made.notes == ("'z' is not in one place for the whole lifetime: -1, planned at run time",)


def test_without_a_list_tensors_are_in_the_plans_order() -> None:
    made = offline_plan(LAYOUT, None, "plan.json")
    assert made.tensors == (("x", 0), (EVIL, 64), ("z", -1))
    assert read_offline(offline_bytes(made)) == (0, 64, -1)


def test_tensors_that_the_list_lacks_are_noted() -> None:
    notes = offline_plan(LAYOUT, ["x"], "names.txt").notes
    assert len(notes) == 1
    assert notes[0].endswith("and 1 more are in the plan but not in the list of tensors")


def test_a_list_of_other_names_is_refused() -> None:
    with pytest.raises(
        BadInput, match="none of the 2 names is a tensor of the plan, such as 'xx'"
    ) as refused:
        offline_plan(LAYOUT, ["", "xx"], "names.txt")
    assert "did you mean 'x'?" in refused.value.hint


@given(st.lists(st.tuples(st.text(), st.integers(-1, 2**31 - 1))))
def test_what_is_written_reads_back(tensors: list[tuple[str, int]]) -> None:
    data = offline_bytes(OfflinePlan(tuple(tensors), 0))
    assert len(data) == 4 * (3 + len(tensors))
    assert read_offline(data) == tuple(offset for _, offset in tensors)


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 11, struct.pack("<4i", 1, 1, 2, 0), struct.pack("<3i", 1, 1, 0) + b"1"]
)
def test_other_contents_are_refused(data: bytes) -> None:
    with pytest.raises(BadInput, match="no offline memory plan"):
        read_offline(data)


def test_the_table_quotes_names() -> None:
    table = offline_table(OfflinePlan((('a,"b"', 3), ("c", -1)), 0))
    assert table == 'index,offset,tensor\n0,3,"a,""b"""\n1,-1,c\n'
