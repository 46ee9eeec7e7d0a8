"""The points of a study: the product, what is asked once, what filters leave, what a key depends on."""

from pathlib import Path

import pytest

from chipmodel.errors import BadInput
from chipmodel.studies.points import idle_filters, tasks_of, turns
from chipmodel.studies.study_file import parse_study
from chipmodel.studies.task import PointTask

ONE = "workloads: zoo:resnet8\n"


def tasks(text: str, folder: Path = Path()) -> tuple[PointTask, ...]:
    return tasks_of(parse_study(text, folder / "s.yaml"))


def key(text: str, folder: Path = Path()) -> str:
    (task,) = tasks(text, folder)
    return task.key


def test_the_product_has_every_combination_once_in_the_order_of_the_lists() -> None:
    found = tasks(
        "workloads: [zoo:resnet8, zoo:ds_cnn]\nchips: [gap9-psram, luna-arcs]\npackers: [large-first, pool]\n"
        "merges: [conflict, none]\nstreamers: [sync, ping-pong]\nset: {shared_memory.bytes: [64KiB, 1MiB]}"
    )
    assert len(found) == len({task.key for task in found}) == len({task.point for task in found}) == 64
    assert [task.point.workload for task in found] == ["zoo:resnet8"] * 32 + ["zoo:ds_cnn"] * 32
    first, last = found[0].point, found[-1].point
    assert (first.chip, first.packer, first.merge, first.streamer) == (
        "gap9-psram",
        "large-first",
        "conflict",
        "sync",
    )
    assert (last.chip, last.packer, last.merge, last.streamer) == ("luna-arcs", "pool", "none", "ping-pong")
    assert last.overrides == (("shared_memory.bytes", "1MiB"),)
    assert {task.chip.shared_memory.bytes for task in found if task.chip} == {1 << 16, 1 << 20}


def test_each_network_is_asked_with_and_without_cascades() -> None:
    found = tasks(ONE + "cascades: [off, auto]")
    assert [task.point.cascade for task in found] == ["off", "auto"]
    assert len({task.key for task in found}) == 2
    assert [task.point.cascade for task in tasks(ONE)] == ["off"]
    assert [task.point.cascade for task in tasks(ONE + "cascades: all")] == ["off", "auto"]
    assert [task.point.cascade for task in tasks("workloads: 'guillotine:n=9'\ncascades: all")] == [""]
    kept = tasks(ONE + "cascades: all\nfilters: {exclude: [{cascade: off}]}")
    assert [task.point.cascade for task in kept] == ["auto"]


def test_a_packing_is_asked_once_for_each_packer() -> None:
    found = tasks(
        "workloads: ['guillotine:n=9']\nchips: all\npackers: [large-first, pool]\nstreamers: all\n"
        "merges: all\n"
        "set: {shared_memory.bytes: [64KiB, 1MiB]}"
    )
    assert [(t.point.packer, t.point.chip, t.point.merge, t.point.overrides) for t in found] == [
        ("large-first", "", "", ()),
        ("pool", "", "", ()),
    ]
    assert all(task.chip is None and not task.error for task in found)


def test_seeds_and_limits_are_of_planners_that_search() -> None:
    found = tasks(
        ONE + "packers: [large-first, hill-climb]\nmerges: [conflict, exact]\nseeds: [4, 5]\ntime_limit: 3"
    )
    asked = [(t.point.packer, t.point.merge, t.point.seed, t.point.time_limit, t.searches) for t in found]
    assert asked == [
        ("large-first", "conflict", 4, 3.0, False),
        ("exact", "exact", 4, 3.0, True),
        ("exact", "exact", 5, 3.0, True),
        ("hill-climb", "conflict", 4, 3.0, True),
        ("hill-climb", "conflict", 5, 3.0, True),
    ]


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ("include: [{packer: pool}]", {("luna-arcs", "pool", "64KiB"), ("gap9-psram", "pool", "64KiB")}),
        ("exclude: [{packer: [po*, x]}, {chip: gap9-psram}]", {("luna-arcs", "large-first", "64KiB")}),
        ("include: [{chip: luna-*, packer: pool}]", {("luna-arcs", "pool", "64KiB")}),
        (
            "include: [{chip: gap9-psram}]\n  exclude: [{packer: pool}]",
            {("gap9-psram", "large-first", "64KiB")},
        ),
    ],
)
def test_filters(filters: str, left: set[tuple[str, str, str]]) -> None:
    text = "chips: [luna-arcs, gap9-psram]\npackers: [large-first, pool]\n"
    text += "set: {shared_memory.bytes: [64KiB, 1MiB]}\n"
    more = "  include: []" if "include" not in filters else ""
    found = tasks(f"{ONE}{text}filters:\n  {filters}\n{more}")
    small = [t for t in found if t.point.overrides[0][1] == "64KiB"]
    assert {(t.point.chip, t.point.packer, t.point.overrides[0][1]) for t in small} == left
    assert len(found) == 2 * len(small)


def test_a_filter_compares_values_and_not_only_texts() -> None:
    text = (
        ONE + "set: {shared_memory.bytes: [64KiB, 1MiB]}\nfilters: {exclude: [{shared_memory.bytes: 65536}]}"
    )
    assert [task.point.overrides[0][1] for task in tasks(text)] == ["1MiB"]


def test_filters_that_match_nothing_are_told_and_such_that_leave_nothing_refused() -> None:
    text = ONE + "filters: {exclude: [{packer: exact}, {chip: luna*, seed: 1}]}"
    notes = idle_filters(parse_study(text, Path("s.yaml")))
    assert [note.split(": ")[0] for note in notes] == ["s.yaml:2:21", "s.yaml:2:38"]
    with pytest.raises(BadInput, match=r"s\.yaml:2:21: the filters leave no point"):
        tasks(ONE + "filters: {exclude: [{workload: '*'}]}")


def test_what_cannot_be_is_a_point_with_an_error() -> None:
    bad, good = tasks(ONE + "chips: [gap9-psram, luna-arcs]\nset: {dma.bursts.setup_cycles: [600]}")
    assert "gap9-psram" not in good.error
    assert not good.error
    assert bad.chip is None
    assert "means nothing on a chip" in bad.error
    assert "hint" in bad.error


def test_a_key_changes_with_whatever_decides_the_answer(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("id,lower,upper,size\nx,0,1,4\n")
    (tmp_path / "c.yaml").write_text("base: luna-arcs\nname: c\n")
    base = "workloads: w.csv\npackers: hill-climb\nseeds: 1\n"
    before = key(base, tmp_path)
    others = [base.replace("hill-climb", "exact"), base.replace("seeds: 1", "seeds: 2")]
    others += [base + "time_limit: 1", base + "time_limit: 2", base + "node_limit: 1"]
    (tmp_path / "v.csv").write_text((tmp_path / "w.csv").read_text())
    others.append(base.replace("w.csv", "v.csv"))
    keys = [before, *(key(text, tmp_path) for text in others)]
    (tmp_path / "w.csv").write_text("id,lower,upper,size\nx,0,1,5\n")
    keys.append(key(base, tmp_path))
    on_chip = ONE + "chips: c.yaml"
    keys.append(key(on_chip, tmp_path))
    (tmp_path / "c.yaml").write_text("base: luna-arcs\nname: c\npsram: {clock_mhz: 100}\n")
    keys.append(key(on_chip, tmp_path))
    keys += [
        key(ONE + more) for more in ("", "merges: none", "streamers: sync", "set: {psram.clock_mhz: 100}")
    ]
    assert len(set(keys)) == len(keys)


def test_a_key_does_not_change_with_what_does_not(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("base: luna-arcs\nname: c\n")
    fixed = ONE + "packers: large-first\nstreamers: sync\n"
    before = key(fixed + "chips: c.yaml", tmp_path)
    (tmp_path / "c.yaml").write_text("base: luna-arcs\nname: c\ntitle: another\n# a comment\n")
    assert key(fixed + "chips: [c.yaml]\ntitle: why?\nname: n\nnode_limit: 3\n", tmp_path) == before
    both = tasks(ONE + "streamers: sync\nchips: [gap9-psram, c.yaml]\npackers: [large-first]", tmp_path)
    assert before in {task.key for task in both}


def test_cheap_planners_come_first_and_the_workloads_take_turns() -> None:
    text = (
        "workloads: [zoo:resnet8, zoo:ds_cnn]\npackers: [exact, pool, naive]\nstreamers: [sync, ping-pong]\n"
    )
    found = [(t.point.packer, t.point.workload[4:], t.point.streamer) for t in turns(tasks(text))]
    cases = [(w, s) for s in ("sync", "ping-pong") for w in ("resnet8", "ds_cnn")]
    assert found[:8] == [(p, *case) for case in cases for p in ("pool", "naive")]
    assert found[8:] == [("exact", *case) for case in cases]
