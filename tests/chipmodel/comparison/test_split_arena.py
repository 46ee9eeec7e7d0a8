"""An arena in two memories, in the interpreter of TensorFlow Lite Micro and in its planner's place."""

from dataclasses import replace
from unittest.mock import Mock

import pytest
from hypothesis import example, given, settings, strategies as st

import chipmodel.comparison.split_arena as split
from chipmodel.answers.arena import ArenaRequest, SplitArenaAnswer
from chipmodel.comparison.arena import plan_arena
from chipmodel.comparison.packing import WrongClaim
from chipmodel.errors import BadInput, DoesNotFit
from chipmodel.hardware.chip_file import load_chip
from chipmodel.timing.transfer import transfer_cycles
from solvers.memory_choice import MemoryChoices, choose_memories
from tests.chipmodel.comparison.test_arena import LIMITS, WHERE, Run
from tests.support.tflite_models import MODELS, long_skip, residual
from workloads.from_tflite.model_file import parse_model
from workloads.from_tflite.offline_plan import with_offline_plan

HOLE = 1 << 18
"""Where the second memory begins in the interpreter's only arena."""


def answered(data: bytes, sram: int, psram: int = 1 << 20, chip: str | None = None) -> SplitArenaAnswer:
    on = None if chip is None else load_chip(chip)
    return split.split_arena(parse_model(data, WHERE), "m.tflite", (sram, psram), on, "exact", LIMITS)


def halved(data: bytes) -> SplitArenaAnswer:
    """About half of the smallest head in SRAM."""
    whole = plan_arena(parse_model(data, WHERE), "m.tflite", "exact", LIMITS).head_bytes
    return answered(data, whole * 5 // 8)


def with_hole(data: bytes, answer: SplitArenaAnswer, first: bool) -> bytes:
    """The model with both memories in one arena: SRAM first, or Psram."""
    offsets = [-1] * sum(len(graph.tensors) for graph in parse_model(data, WHERE).subgraphs)
    for each in answer.places:
        if each.request.tensor is not None:
            offsets[each.request.tensor] = each.offset + HOLE * (each.in_psram is first)
    return with_offline_plan(data, offsets, WHERE)


@pytest.mark.parametrize("name", MODELS)
def test_the_interpreter_computes_the_same_and_takes_what_was_said(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    data = MODELS[name]().bytes()
    answer = halved(data)
    assert answer.moved
    alone = Run(data, capfd)
    sram_first, psram_first = (Run(with_hole(data, answer, first), capfd) for first in (True, False))
    assert alone.outputs == sram_first.outputs == psram_first.outputs
    assert sram_first.head == HOLE + answer.psram_bytes
    inside = [each for each in answer.places if not each.in_psram and each.request.tensor is not None]
    assert psram_first.head == HOLE + max(each.offset + each.request.bytes for each in inside)
    assert answer.sram_bytes <= answer.sram_limit_bytes


def test_the_price_is_that_of_what_lies_in_psram_and_falls_with_more_sram() -> None:
    answer = answered(long_skip().bytes(), 14 * 14 * 16 + 14 * 14 * 8)
    assert answer.price == answer.price_lower_bound == sum(each.price for each in answer.moved)
    for each in answer.moved:
        assert each.price == each.request.bytes * (each.request.reads + each.request.writes)
    everything = answered(long_skip().bytes(), 1 << 20)
    assert (everything.price, everything.psram_bytes, everything.moved) == (0, 0, ())
    prices = [answered(long_skip().bytes(), sram).price for sram in range(0, 8192, 512)]
    assert prices == sorted(prices, reverse=True)
    assert prices[0] > prices[4] > prices[-1] == 0


def test_a_chip_gives_prices_in_cycles() -> None:
    chip = load_chip("esp32s3")
    answer = answered(residual().bytes(), 2048, chip="esp32s3")
    assert (answer.chip, answer.core_mhz) == ("esp32s3", chip.core_mhz)
    for each in answer.places:
        load, store = (transfer_cycles(chip, way, each.request.bytes) for way in ("load", "store"))
        assert each.price == each.request.reads * load + each.request.writes * store


def test_memory_of_kernels_stays_in_sram_and_must_fit() -> None:
    data = MODELS["branches"]().bytes()
    kernels = [each for each in halved(data).places if each.request.tensor is None]
    assert kernels
    assert not any(each.in_psram for each in kernels)
    with pytest.raises(DoesNotFit, match=r"no plan fits: .* SRAM has 0 B"):
        answered(data, 0)
    with pytest.raises(DoesNotFit, match="and Psram 64 B"):
        answered(residual().bytes(), 1024, 64)


def test_two_tensors_on_the_same_bytes_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*given: object) -> MemoryChoices:
        found = choose_memories(*given)  # type: ignore[arg-type]
        solved = tuple(
            replace(each, plan=replace(each.plan, offsets=dict.fromkeys(each.plan.offsets, 0)))
            for each in found.solved
        )
        return replace(found, solved=solved)

    monkeypatch.setattr(split, "choose_memories", wrong)
    with pytest.raises(WrongClaim, match="share bytes"):
        answered(residual().bytes(), 2500)


def test_an_unknown_packer_is_refused() -> None:
    model = parse_model(residual().bytes(), WHERE)
    with pytest.raises(BadInput, match="packer"):
        split.split_arena(model, "m.tflite", (2048, 1 << 20), None, "no-such", LIMITS)


ASKED = st.lists(
    st.tuples(st.integers(1, 6), st.integers(0, 5), st.integers(0, 3), st.booleans()), min_size=1, max_size=9
)


@given(ASKED, st.integers(1, 12))
@example([(1, 0, 0, False), (1, 1, 0, True), (2, 0, 1, True)], 3)
@settings(max_examples=60, deadline=None)
def test_memory_of_kernels_finds_room_in_the_order_in_which_it_is_asked_for(
    asked: list[tuple[int, int, int, bool]], room: int
) -> None:
    """Random tensors and kernels, whose lives overlap as where a subgraph is run twice."""
    kinds = sorted(asked, key=lambda each: each[3])
    requests = [
        ArenaRequest(f"r{number}", 16 * units, first, first + length, None if kernel else number, 1, 1)
        for number, (units, first, length, kernel) in enumerate(kinds)
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(split, "arena_requests", Mock(return_value=tuple(requests)))
        try:
            answer = answered(residual().bytes(), 16 * room)
        except DoesNotFit:
            return
    assert [each.request for each in answer.places] == requests
    assert answer.sram_bytes <= 16 * room
