"""What stays in SharedMemory by the mixed-integer program: concats in place."""

import pytest

from chipmodel.model.program import Program
from chipmodel.rewrites.in_place import reuse
from dma.residency.joint import decide_jointly
from tests.support.chips import LUNA_LIKE, with_memory
from workloads.build.builder import ProgramBuilder
from workloads.zoo.layers import concat


def fire() -> Program:
    """Two convolutions whose results, of 4 KiB each, are joined and read by a third one."""
    builder = ProgramBuilder("fire")
    squeezed = builder.conv("s", builder.input("x", (1, 8, 16, 16)), 16, 1, bias=False)
    parts = [builder.conv(name, squeezed, 16, 1, bias=False) for name in "ab"]
    builder.output(builder.conv("c", concat(builder, "j", parts), 16, 1, bias=False))
    return reuse(builder.build(), "all")


@pytest.mark.parametrize(("kibibytes", "in_place"), [(64, {"a", "b"}), (6, set[str]())])
def test_inputs_of_a_concat_are_made_in_its_output_if_all_of_them_fit(
    kibibytes: int, in_place: set[str]
) -> None:
    chip = with_memory(LUNA_LIKE, kibibytes << 10, 1)
    found = decide_jointly(fire(), chip, kibibytes << 10, lambda _: 64)
    assert {name for name, whole in found.storage.items() if whole == "j" != name} == in_place
