"""Further memories on the terminal, on the page and in the result file."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from chipmodel.answers.result import Result
from chipmodel.hardware.chip_file import load_chip
from chipmodel.pipeline.request import PlanRequest
from chipmodel.pipeline.run import run
from chipmodel.rewrites.in_place import reuse
from reports.run.document import document
from reports.run.further_memories import memory_rows, moved_between, moved_rows
from reports.run.page import render_page
from workloads.load import load

SECOND = tuple(f"memories.sram2.{each}=8" for each in ("load.bytes_per_cycle", "store.bytes_per_cycle"))


@cache
def result() -> Result:
    """ResNet-8 in 10 KiB, with 64 KiB of a second SRAM."""
    settings = ("shared_memory.bytes=10KiB", "memories.sram2.bytes=64KiB", *SECOND)
    chip = load_chip("stm32n6", settings)
    program = reuse(load("zoo:resnet8"), "all")
    return run(PlanRequest(program, chip, "large-first", "prefetch-greedy", cascade="off"), {})


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


def test_terminal_and_page_say_what_is_where() -> None:
    assert [row[0] for row in memory_rows(result())] == ["sram2"]
    assert "flash to sram2" in [row[0] for row in moved_rows(result())]
    assert "sram2 used" in render_page(result())
    assert "KiB flash to sram2" in render_page(result())


def test_a_chip_without_further_memories_says_nothing_of_them() -> None:
    plain = replace(result(), chip=load_chip("stm32n6"))
    assert moved_rows(plain) == []
    assert "memories" not in document(replace(plain, schedule=replace(plain.schedule, moves=())))
