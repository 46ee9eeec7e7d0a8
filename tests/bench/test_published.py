"""The table of all published figures is complete, and shows rows that differ as they are."""

from __future__ import annotations

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
