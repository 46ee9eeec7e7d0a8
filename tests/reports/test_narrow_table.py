"""Tables on narrow terminals: rows one below the other where columns would be cut, as before elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reports.narrow_table import NarrowTable
from reports.terminal_table import ruled_table
from tests.support.command_line import call
from tests.support.folders import WORKLOADS


def printed(table: Table, width: int) -> list[str]:
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(table)
    return [line.rstrip() for line in captured.get().splitlines()]


def figures() -> NarrowTable:
    table = NarrowTable.grid(padding=(0, 1))
    assert isinstance(table, NarrowTable)
    for wrap in (True, True, True, False):
        table.add_column(no_wrap=wrap, overflow="fold")
    table.add_row("[bold]Memory[/bold]")
    table.add_row("  weights in Psram", "78,744", "B", Text("77.71 k [parameters]"))
    table.add_row("  MACs", "12,501,632", "", "")
    return table


def test_a_row_with_heads_becomes_lines() -> None:
    table = ruled_table(["name", ">cycles\nof all", "source"], [["conv1", "1,521", "Wang"], ["add", "7", ""]])
    assert printed(table, 14) == [
        "name",
        "conv1",
        "  cycles of",
        "  all: 1,521",
        "  source: Wang",
        "add",
        "  cycles of",
        "  all: 7",
    ]


def test_a_row_without_heads_becomes_its_figure_and_its_remark() -> None:
    assert printed(figures(), 34) == [
        "Memory",
        "  weights in Psram 78,744 B",
        "    77.71 k [parameters]",
        "  MACs 12,501,632",
    ]


def test_what_has_room_stays_a_table() -> None:
    assert "  weights in Psram 78,744     B 77.71 k" in printed(figures(), 50)[1]
    wide = [["n" * 70, "1"]]
    assert printed(ruled_table(["name", ">number"], wide), 60)[2].lstrip().startswith("─")


COMMANDS = {
    "simulate": ("simulate", WORKLOADS / "early_exit.yaml", "--streamer", "sync", "--packer", "large-first"),
    "cores": ("simulate", WORKLOADS / "two_cores.yaml", "--set", "cores=2", "--packer", "large-first"),
    "compare": (
        "compare",
        WORKLOADS / "tiny_cnn.yaml",
        "--packers",
        "large-first,naive",
        "--streamers",
        "sync",
    ),
    "pack": ("pack", WORKLOADS / "packing-example.csv", "--packer", "large-first"),
    "validate": ("validate", Path("tests/data/hardware/luna_vector.csv")),
    "calibrate": ("calibrate", Path("tests/data/hardware/luna_transfer.csv")),
    "chips": ("chips",),
    "chip": ("chips", "luna-csk6"),
    "planners": ("planners",),
    "zoo": ("zoo",),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_what_commands_print_is_readable_at_40_columns(
    command: tuple[str | Path, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    code, out, _ = call(capsys, *command)
    assert code in (0, 1)
    lines = out.splitlines()
    assert max(map(len, lines)) <= 40
    assert "…" not in out
    assert sum(len(line.strip()) == 1 for line in lines) < 5
