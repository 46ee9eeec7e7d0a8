"""Further memories on the terminal, on the page and in the result file."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from chipmodel.answers.result import Result
from chipmodel.hardware.chip_file import load_chip, with_overrides
from chipmodel.machine.energy import result_energy
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from reports.run.document import document
from reports.run.energy import energy_rows
from reports.run.further_memories import moved_between, moved_rows
from reports.run.page import render_page
from tests.support.narrowed import some
from workloads.load import load

SECOND = tuple(f"memories.sram2.{each}=8" for each in ("load.bytes_per_cycle", "store.bytes_per_cycle"))


@cache
def result() -> Result:
    """ResNet-8 in 10 KiB, with 64 KiB of a second SRAM."""
    settings = ("shared_memory.bytes=10KiB", "memories.sram2.bytes=64KiB", *SECOND)
    chip = load_chip("stm32n6", settings)
    program = reuse(load("zoo:resnet8"), "all")
    return run(PlanRequest(program, chip, "large-first", "sync", cascade="off"), {})


def test_all_bytes_are_moved_between_two_memories() -> None:
    moved = moved_between(result())
    events = [e for e in result().trace.events if e.unit == "dma" and not e.cause]
    assert sum(size for size, _ in moved.values()) == sum(e.bytes for e in events)
    assert sum(cycles for _, cycles in moved.values()) == sum(e.worked for e in events)
    moves = sum(move.bytes for move in result().schedule.moves)
    assert moved["weights", "sram2"][0] == moves > 0
    assert moved["sram2", "shared_memory"][0] > moved["shared_memory", "sram2"][0] > 0


def test_the_document_lists_memories() -> None:
    found: dict[str, Any] = document(result())
    (memory,) = found["memories"]
    assert memory["name"] == "sram2"
    assert 0 < memory["bytes"] <= memory["capacity_bytes"] == 64 << 10
    assert {"stack1.add", "weights of stack3.conv1"} < {*memory["holds"]}
    assert {(each["from"], each["to"]) for each in found["moved_between"]} == {*moved_between(result())}
    assert found["moved_bytes"]["move"] == sum(move.bytes for move in result().schedule.moves)


def test_a_chip_without_further_memories_says_nothing_of_them() -> None:
    plain = replace(result(), chip=load_chip("stm32n6"))
    assert moved_rows(plain) == []
    assert "memories" not in document(replace(plain, schedule=replace(plain.schedule, moves=())))


NOTHING = ("energy.model=counted", "memories.sram2.load.pj_per_byte=0", "memories.sram2.store.pj_per_byte=0")


def with_energy(*settings: str) -> Result:
    """``result`` on a chip where nothing but what the settings say takes energy."""
    return replace(result(), chip=with_overrides(result().chip, settings))


@pytest.mark.parametrize(
    ("field", "ways"),
    [
        ("memories.sram2.load.pj_per_byte", [("sram2", "shared_memory")]),
        ("memories.sram2.store.pj_per_byte", [("shared_memory", "sram2"), ("weights", "sram2")]),
        ("energy.pj.weight_byte", [("weights", "shared_memory"), ("weights", "sram2")]),
        ("energy.pj.loaded_byte", [("psram", "shared_memory")]),
        ("energy.pj.stored_byte", [("shared_memory", "psram")]),
    ],
)
def test_each_byte_takes_energy_where_it_is_read_and_where_it_is_written(
    field: str, ways: list[tuple[str, str]]
) -> None:
    energy = some(result_energy(with_energy(*NOTHING, f"{field}=3")))
    moved = moved_between(result())
    assert energy.microjoules * 1e6 == pytest.approx(3 * sum(moved[way][0] for way in ways if way in moved))


def test_an_energy_that_is_not_known_is_said_to_be_so() -> None:
    lacking = with_energy(*NOTHING[:2])
    field = "memories.sram2.store.pj_per_byte"
    assert result_energy(lacking) is None
    assert energy_rows(lacking, None) == [("total", "unknown", "", f"the chip file has no {field}")]
    assert document(lacking)["energy_lacks"] == [field]
    assert f"the chip file has no {field}" in render_page(lacking)
    for other in (result(), with_energy(*NOTHING)):
        assert "energy_lacks" not in document(other)
