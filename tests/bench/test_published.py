"""The table of all published figures is complete, and shows rows that differ as they are."""

from __future__ import annotations

import re

from bench.published import ALGORITHMS
from tests.bench.command import printed


def table() -> list[list[str]]:
    lines = printed("bench.published").splitlines()[2:-2]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_document_and_every_table_has_its_rows() -> None:
    rows = table()
    assert len({row[0] for row in rows}) == 5
    items = [row[1] for row in rows]
    for name in ("FaceDetect", "FaceAlign", "wake word", "FusionDetect", "denoise"):
        assert f"Table 1, {name}" in items
        assert f"Table 1, {name}, all tensors" in items
    for name in ("wake word", "FusionDetect", "denoise"):
        assert items.count(f"Table 2, {name}") == 2, "by both readings of Algorithm 2"


def test_the_command_of_a_row_prints_that_row() -> None:
    commands = {row[3]: row for row in table()}
    assert len(commands) == 6
    for command in ("free-list", "tiered-memory", "many-core"):
        alone = printed("bench.published", command).splitlines()[2:-2]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in alone]
        assert cells == [row for row in table() if row[3] == f"`python -m bench.published {command}`"] != []


def test_every_algorithm_has_a_command_and_every_kind_of_planner_its_rows() -> None:
    assert len({source for source, *_ in ALGORITHMS}) == 5
    named = " ".join(command for *_, command in ALGORITHMS)
    for row in table():
        for planner in re.findall(r"--packer ([a-z-]+)|--merge ([a-z-]+)|--streamer ([a-z-]+)", row[2]):
            assert f" {max(planner)}" in named, row
    assert {"unified-block", "unified-results", "context:core", "pool:0.75"} <= {*named.split()}


def test_a_row_is_the_same_only_where_its_figures_are() -> None:
    for *_, published, ours, difference in table():
        assert (difference == "same") == (published == ours != "-")


def test_known_answers_are_the_same_and_made_networks_are_not() -> None:
    said = {(row[1], row[2]): row[-1] for row in table()}
    for item in ("lifetimes in figure 4", "lifetimes of six ops"):
        assert said[item, "`--streamer sync`"] == "same"
    assert said["their arena, B", "`--packer free-list`"] == "same"
    assert said["ResNet-18's nodes at 448 x 448, MiB", "`--packer pool:0`"] == "same"
    for name in ("FaceDetect", "FaceAlign"):
        assert said[f"Table 1, a shape made for {name}", "`--merge straight-line`"] == "same"
    assert said["Table 2, FusionDetect", "`--merge unified-block`"] != "same"
    assert said["Tables 1 and 2, a shape made for denoise", "`--merge unified-results`"] != "same"
