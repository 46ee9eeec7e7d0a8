"""Study files: what they may leave out, what stands for several names, and what is wrong at which line."""

import re
from pathlib import Path

import pytest

from chipmodel.answers.study_row import Point
from chipmodel.errors import BadInput
from chipmodel.hardware.chip_file import preset_names
from chipmodel.studies.study_file import DEFAULT_WORKLOADS, KEYS, MOST_POINTS, Study, parse_study, read_study
from solvers.registry import packers
from tests.support.folders import WORKLOADS
from tests.support.mistakes import mistakes
from tests.support.narrowed import some
from workloads.zoo import networks

SMALL = WORKLOADS / "study_small.yaml"


def study(text: str, folder: Path = Path()) -> Study:
    return parse_study(text, folder / "s.yaml")


def names(asked: Study) -> tuple[str, ...]:
    return tuple(source.name for source in asked.workloads)


def test_everything_has_a_default() -> None:
    asked = study("title: what now?")
    assert names(asked) == DEFAULT_WORKLOADS
    assert (asked.chips, asked.packers, asked.merges) == (("luna-arcs",), ("auto",), ("conflict",))
    assert (asked.streamers, asked.seeds, asked.sweeps) == (("auto",), (0,), ())
    assert (asked.name, asked.title, asked.time_limit, asked.node_limit) == ("s", "what now?", None, None)


def test_one_name_is_a_list_of_one_and_all_are_all() -> None:
    asked = study("packers: all\nchips: all\nstreamers: sync\nseeds: 7\nset: {psram.clock_mhz: 100}")
    assert asked.packers == tuple(packers())
    assert asked.chips == preset_names()
    assert (asked.streamers, asked.seeds) == (("sync",), (7,))
    assert asked.sweeps == (("psram.clock_mhz", ("100",)),)


def test_paths_are_relative_to_the_study_file_and_a_star_stands_for_anything(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    for name in ("b.csv", "a.csv", "note.txt"):
        (tmp_path / "nets" / name).write_text("id,lower,upper,size\nx,0,1,4\n")
    (tmp_path / "my.yaml").write_text("base: luna-arcs\nname: mine\n")
    built_in = [f"zoo:{each.name}" for each in networks() if each.name.startswith("mobilenet")]
    asked = study("workloads: [nets/*.csv, 'zoo:mobilenet*']\nchips: [my.yaml, gap9-psram]", tmp_path)
    assert names(asked) == ("nets/a.csv", "nets/b.csv", *built_in)
    assert asked.workloads[0].file == str(tmp_path / "nets" / "a.csv")
    assert asked.chip_file("my.yaml") == str(tmp_path / "my.yaml")
    assert asked.chip_file("gap9-psram") == "gap9-psram"


def test_minimalloc_names_the_instances_of_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "A.1048576.csv").write_text("id,lower,upper,size\nx,0,1,4\n")
    monkeypatch.setenv("CHIPMODEL_MINIMALLOC", str(tmp_path))
    assert names(study("workloads: 'minimalloc:*'")) == ("minimalloc:A",)
    with pytest.raises(BadInput, match="instances are A"):
        study("workloads: minimalloc:B")
    monkeypatch.delenv("CHIPMODEL_MINIMALLOC")
    with pytest.raises(BadInput, match="CHIPMODEL_MINIMALLOC"):
        study("workloads: minimalloc:A")


def test_values_stay_as_they_are_written() -> None:
    asked = study("set:\n  shared_memory.bytes: [256KiB, 393216]\n  psram.clock_mhz: [0.10, 1e2]")
    assert asked.sweeps == (
        ("psram.clock_mhz", ("0.10", "1e2")),
        ("shared_memory.bytes", ("256KiB", "393216")),
    )


@pytest.mark.parametrize(("place", "text", "what"), mistakes("study_file"))
def test_mistakes_have_a_line_a_column_and_a_hint(text: str, place: str, what: str) -> None:
    with pytest.raises(BadInput, match=what) as caught:
        study(text)
    where = some(caught.value.where)
    assert f"{where.line}:{where.column}" == place, str(caught.value)


def test_a_mistake_in_a_chip_file_is_placed_there(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").write_text("base: luna-arcs\nshared_memory: {byte: 3}\n")
    with pytest.raises(BadInput, match=r"my\.yaml:2:17"):
        study("chips: my.yaml", tmp_path)


def test_too_many_points_are_refused_before_they_are_made() -> None:
    seeds = list(range(1000))
    text = f"workloads: ['zoo:*']\npackers: all\nseeds: {seeds}\nset: {{psram.clock_mhz: {seeds[1:]}}}"
    with pytest.raises(BadInput, match=f"{MOST_POINTS:,} are the most"):
        study(text)


def test_the_example_is_read_and_filters_ask_for_fields_of_points() -> None:
    assert read_study(SMALL).title.startswith("What does a smaller SharedMemory cost")
    assert set(KEYS) <= set(Point.__dataclass_fields__)


@pytest.mark.parametrize("pattern", ["nets**.csv", "nets/**/*.csv"])
def test_two_stars_are_refused(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=rf"1:13: '{re.escape(pattern)}' has \*\* in it"):
        study(f"workloads: ['{pattern}']\npackers: [large-first]", tmp_path)
