"""The command line of a point, as a shell and chipmodel read it."""

from __future__ import annotations

import shlex

import click
import pytest

from chipmodel.answers.study_row import Point
from chipmodel.cli.main import commands
from reports.study.command import command_line, command_note
from tests.reports.study_sample import EVIL

NETWORK = Point(
    "zoo:resnet18?input=64&dtype=int16&classes=10",
    "my chip.yaml",
    "large-first",
    "conflict",
    "exact:20000",
    3,
    (("psram.clock_mhz", "100"), ("dma.arbitration", "round robin")),
    node_limit=1000,
)


def test_a_networks_command() -> None:
    assert command_line(NETWORK) == (
        "chipmodel simulate 'zoo:resnet18?input=64&classes=10' --dtype int16 --chip 'my chip.yaml' "
        "--set psram.clock_mhz=100 --set 'dma.arbitration=round robin' --packer large-first --merge conflict "
        "--streamer exact:20000 --cascade off"
    )
    assert command_note(NETWORK).startswith(
        "The study searched for the smallest peak within --node-limit 1000 --seed 3;"
    )
    steady = Point("zoo:ds_cnn?steady_state=5", "c", "p", "m", "s", 0)
    assert "zoo:ds_cnn --steady-state 5 --chip c" in command_line(steady)
    shaped = Point("net.onnx?shape.x=1,3,8,8&iterations.l=2", "c", "p", "m", "s", 0)
    assert "net.onnx --shape x=1,3,8,8 --iterations l=2 --chip c" in command_line(shaped)
    assert command_note(shaped) == ""


def test_a_packer_that_searches_stops_earlier_in_simulate() -> None:
    from solvers.registry import packers

    def note(packer: str) -> str:
        return command_note(Point("zoo:resnet8", "luna-arcs", packer, "conflict", "sync", 0))

    assert "simulate stops at the first plan that fits" in note("exact")
    assert [name for name in packers() if note(name)] == [p.name for p in packers().values() if p.searches]


def test_a_packings_command_leaves_out_the_capacity_that_is_only_compared_with() -> None:
    point = Point("guillotine:n=60,seed=3?capacity=30KiB", "", "exact", "", "", 2, (), 2.5)
    assert command_line(point) == (
        "chipmodel pack guillotine:n=60,seed=3 --packer exact --time-limit 2.5 --seed 2"
    )
    assert command_note(point) == ""
    known = Point("minimalloc:A", "", "exact", "", "", 0)
    assert command_line(known) == 'chipmodel pack "$CHIPMODEL_MINIMALLOC"/A.*.csv --packer exact'


@pytest.mark.parametrize("point", [NETWORK, Point(EVIL, "", "pool:0.25", "", "", 1, (), None, 7)])
def test_chipmodel_accepts_every_word_of_the_command(point: Point) -> None:
    _, name, *words = shlex.split(command_line(point))
    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    context = command.make_context(name, words, resilient_parsing=False)
    assert context.params["packer"] == point.packer
    assert isinstance(context, click.Context)


def test_hostile_names_are_quoted() -> None:
    point = Point("a b; rm -rf $HOME.csv", "", "exact", "", "", 0)
    assert shlex.split(command_line(point))[2] == "a b; rm -rf $HOME.csv"
