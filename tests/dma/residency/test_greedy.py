"""Tensors that leave SharedMemory, and their return."""

import pytest

from chipmodel.errors import DoesNotFit
from chipmodel.model.program import Op, Program
from chipmodel.pipeline.plan import plan, smallest_capacity
from chipmodel.pipeline.request import PlanRequest
from chipmodel.verify.commands import verify
from dma.residency.greedy import decide
from tests.support.chips import LUNA_LIKE, with_memory
from tests.support.small_networks import small_network
from tests.support.work import calls
from workloads.build.builder import ProgramBuilder
from workloads.zoo import build


def skip_connection() -> Program:
    """``early`` (4,096 B) lives through ``wide`` (16,384 B) and is added at the end."""
    return small_network("skip")


def test_nothing_moves_where_everything_fits() -> None:
    residency = decide(skip_connection(), 65536, lambda op: 0)
    assert residency.spilled == ()
    assert not residency.striped
    assert residency.through == (8192, 20480, 36864, 24576, 12288)


def test_a_tensor_that_only_lives_through_the_worst_op_is_spilled_for_that_time() -> None:
    residency = decide(skip_connection(), 33000, lambda op: 0)
    assert residency.spilled == ("early",)
    assert not residency.striped
    assert [[t.position for t in s.touches] for s in residency.segments["early"]] == [[0, 1], [4]]
    first, second = residency.segments["early"]
    assert (first.loaded, first.stored) == (False, (0,))
    assert (second.loaded, second.stored) == (True, ())


def test_an_op_whose_own_operands_do_not_fit_is_striped() -> None:
    residency = decide(skip_connection(), 21000, lambda op: 0)
    assert "wide2" in residency.striped


def test_no_spill_names_the_op_its_tensors_and_the_smallest_capacity() -> None:
    program = skip_connection()
    chip = with_memory(LUNA_LIKE, 20000)
    with pytest.raises(DoesNotFit) as refusal:
        plan(PlanRequest(program, chip, spill=False))
    message = str(refusal.value)
    assert "'wide2'" in message
    assert "wide 16,384 B" in message
    assert "early 4,096 B" in message
    least = smallest_capacity(PlanRequest(program, chip))
    assert least is not None
    assert f"shared_memory.bytes={least}" in message
    fitting = plan(PlanRequest(program, with_memory(chip, least), spill=False))
    assert fitting.solved.peak <= least
    with pytest.raises(DoesNotFit):
        plan(PlanRequest(program, with_memory(chip, least - 16), spill=False))


@pytest.mark.parametrize("size", [40000, 33000, 21000, 12000, 6000, 3000])
@pytest.mark.parametrize("streamer", ["sync", "ping-pong"])
def test_it_runs_and_is_correct_in_any_memory(size: int, streamer: str) -> None:
    program, chip = skip_connection(), with_memory(LUNA_LIKE, size)
    planned = plan(PlanRequest(program, chip, "large-first", streamer))
    assert planned.solved.peak <= size
    assert verify(program, planned.commands, chip) == ()


def test_in_place_tensors_share_their_memory_until_they_must_not() -> None:
    program = small_network("in-place")
    roomy = decide(program, 65536, lambda op: 0)
    assert roomy.storage["b"] == "a"
    assert roomy.through == (8192, 4096)
    tight = decide(program, 4095, lambda op: 0)
    assert tight.storage["b"] == "b"
    assert tight.striped == {"a", "b"}


def test_a_condition_is_not_kept_in_the_arms() -> None:
    """Nor is a tensor that only one arm reads kept in the other."""
    through = decide(small_network("greedy gated"), 65536, lambda op: 0).through
    assert through == (200, 107, 100 + 7 + 30, 100 + 5, 30 + 5)


def residual() -> Program:
    """An image (3,072 B) that two convolutions on 16 channels (16,384 B) change a little."""
    builder = ProgramBuilder("residual")
    x = builder.input("x", (1, 3, 32, 32))
    wide = builder.conv("wide", x, 16, 3, pad=1, bias=False)
    thin = builder.conv("thin", wide, 1, 3, pad=1, bias=False)
    end = builder.elementwise("relu", "end", [thin])
    last = builder.conv("last", builder.elementwise("relu", "again", [x]), 1, 3, pad=1, bias=False)
    builder.output(builder.elementwise("add", "sum", [last, end]))
    return builder.build()


def test_an_input_that_only_lives_through_the_worst_op_is_loaded_again() -> None:
    """Even where tensors may not leave; what ops have made stays."""
    program = small_network("greedy residual")
    residency = decide(program, 9 * 1024, lambda op: 0, spill=False)
    assert [[t.position for t in s.touches] for s in residency.segments["x"]] == [[0], [3]]
    assert residency.spilled == ()
    assert residency.through == (7 * 1024, 8 * 1024, 7 * 1024, 9 * 1024)
    with pytest.raises(DoesNotFit, match="'sum'"):
        decide(program, 9 * 1024 - 1, lambda op: 0, spill=False)


def test_where_no_part_of_an_op_fits_it_is_refused_before_anything_is_moved() -> None:
    """It took thousands of rounds over all ops to refuse MobileNetV2 in 1 KiB."""
    program = build("resnet8")
    asked: list[str] = []

    def reserve(op: Op) -> int:
        asked.append(op.name)
        return 0

    with pytest.raises(DoesNotFit, match="its smallest part, one row by one channel, has"):
        decide(program, 512, reserve)
    assert asked == [op.name for op in program.ops()]


def chain(count: int) -> Program:
    """Ops that each work in the memory of the one before."""
    builder = ProgramBuilder("chain")
    value = builder.input("x", (1, 8))
    for number in range(count):
        value = builder.elementwise("relu", f"r{number}", [value], in_place=True)
    builder.output(value)
    return builder.build()


def test_the_work_for_a_chain_in_place_grows_as_the_chain() -> None:
    """The way from each tensor to the first of its memory made 50,000 ops take hours."""
    short, long = (chain(count) for count in (200, 800))
    decide(chain(2), 8, lambda op: 0)  # fills caches
    most = 5 * calls(lambda: decide(short, 8, lambda op: 0))
    assert calls(lambda: decide(long, 8, lambda op: 0)) < most
