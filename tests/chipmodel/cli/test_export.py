"""``chipmodel export`` as a user meets it."""

import csv
import html
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Call

PARQUET: Any = import_module("pyarrow.parquet")


@pytest.fixture
def written(tmp_path: Path, call: Call) -> tuple[Path, Path]:
    return write(tmp_path, call, "zoo:resnet8")


def write(folder: Path, call: Call, workload: str, *options: str) -> tuple[Path, Path]:
    files = folder / "plan.json", folder / "result.json"
    code, _, err = call("simulate", workload, "--plan", files[0], "--json", files[1], *options)
    assert code == 0, err
    return files


def first_words(commands: list[dict[str, Any]]) -> list[str]:
    """What the plan file says in its own keys: the kind and the name of each command, in order."""
    said: list[str] = []
    for command in commands:
        kind = next(iter(command))
        words = {"dma_start": "DMAStart", "dma_wait": "DMAWait", "branch": "If", "repeat": "Loop"}
        said.append(f"{words.get(kind, kind.capitalize())} {command[kind]}")
        for arm in command.get("arms", ()):
            said += [f"arm {arm['arm']}", *first_words(arm["commands"])]
        said += first_words(command.get("commands", []))
    return said


@pytest.mark.parametrize(
    ("workload", "options"),
    [
        ("workloads/workload.yaml", ("--streamer", "ping-pong")),
        pytest.param("workloads/decoder_loop.yaml", (), marks=pytest.mark.slow),
        ("workloads/two_cores.yaml", ("--set", "cores=2")),
    ],
)
def test_the_listing_has_each_command_of_the_plan(
    workload: str, options: tuple[str, ...], tmp_path: Path, call: Call
) -> None:
    plan, page = tmp_path / "plan.json", tmp_path / "run.html"
    assert call("simulate", workload, "--plan", plan, "--html", page, *options)[0] == 0
    code, out, err = call("export", plan, "--as", "listing")
    assert (code, err) == (0, "")
    streams = json.loads(plan.read_text())
    cores = streams.get("cores", [streams])
    said = [
        words
        for number, core in enumerate(cores)
        for words in [*[f"core {number}"] * (len(cores) > 1), *first_words(core["commands"])]
    ]
    lines = [line.strip() for line in out.splitlines()]
    assert len(lines) == len(said)
    assert all(line.startswith(words) for line, words in zip(lines, said, strict=True))
    assert html.escape(out.rstrip(), quote=True).replace("&#x27;", "&#39;") in page.read_text()
    if len(cores) > 1:
        one = call("export", plan, "--as", "listing", "--core", "1")[1]
        assert out.endswith(f"core 1\n{one}")
        assert call("export", plan, "--as", "listing", "--core", "2")[0] == 2


def test_c_is_named_after_the_workload_or_as_asked(
    written: tuple[Path, Path], tmp_path: Path, call: Call
) -> None:
    def written_as(*more: str | Path) -> int:
        return call("export", written[0], "zoo:resnet8", "--as", "c", *more)[0]

    assert written_as("--folder", tmp_path / "a" / "b") == 0
    peak = json.loads(written[1].read_text())["peak_bytes"]
    assert f"#define RESNET8_PEAK {peak}u" in (tmp_path / "a" / "b" / "resnet8_plan.h").read_text()
    assert written_as("--folder", tmp_path, "--prefix", "mine") == 0
    assert "#ifndef MINE_PLAN_H" in (tmp_path / "mine_plan.h").read_text()
    assert written_as("--folder", tmp_path, "--prefix", "7up") == 2
    assert written_as() == written_as("-o", tmp_path / "x") == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--as", "c", "--folder", "{}"), "C needs the workload"),
        (("zoo:ds_cnn", "--as", "c", "--folder", "{}"), "no right plan of this workload"),
        (("zoo:resnet8", "--as", "minimalloc"), "WORKLOAD says nothing about minimalloc"),
        (("--as", "listing", "--folder", "{}"), "give --output FILE in its place"),
        (("zoo:resnet8", "--as", "c", "-o", "{}"), "give --folder DIR"),
    ],
)
def test_what_c_needs_and_nothing_else_takes(
    arguments: tuple[str, ...], said: str, written: tuple[Path, Path], tmp_path: Path, call: Call
) -> None:
    filled = (each.format(tmp_path / "none") for each in arguments)
    code, out, err = call("export", written[0], *filled)
    assert (code, out) == (2, "")
    assert said in err
    assert not (tmp_path / "none").exists()


def test_the_same_table_as_parquet(written: tuple[Path, Path], tmp_path: Path, call: Call) -> None:
    made = tmp_path / "ops.parquet"
    assert call("export", written[1], "--as", "parquet", "-o", made) == (0, "", "")
    lines = csv.DictReader(call("export", written[1], "--as", "csv")[1].splitlines())
    table = PARQUET.read_table(made)
    assert table.column_names == list(lines.fieldnames or ())
    assert [{name: str(cell) for name, cell in row.items()} for row in table.to_pylist()] == list(lines)
    assert {str(table.schema.field(name).type) for name in ("op", "kind")} == {"string"}
    assert {str(field.type) for field in table.schema if field.name not in ("op", "kind")} == {"int64"}
    code, out, err = call("export", written[1], "--as", "parquet")
    assert (code, out) == (2, "")
    assert "--output ops.parquet" in err
    assert call("export", written[0], "--as", "parquet", "-o", made)[0] == 2


def test_each_format_says_which_file_it_is_of(written: tuple[Path, Path], call: Call) -> None:
    plan, result = written
    code, out, err = call("export", result, "--as", "minimalloc")
    assert (code, out) == (2, "")
    assert "this is a result, and not the plan" in err
    code, _, err = call("export", plan, "--as", "csv")
    assert code == 2
    assert "this is a plan, and not the result" in err
    assert call("export", plan, "--as", "minimalloc", "--prefix", "x")[0] == 2
    assert call("export", result, "--as", "csv", "--core", "0")[0] == 2


def test_cores_are_exported_one_by_one(tmp_path: Path, call: Call) -> None:
    plan, result = write(tmp_path, call, "zoo:resnet8", "--set", "cores=2", "--chip", "stm32n6")
    code, _, err = call("export", plan, "--as", "minimalloc")
    assert code == 2
    assert "name one: --core 0 to 1" in err
    parts = [call("export", plan, "--as", "minimalloc", "--core", str(core))[1] for core in (0, 1)]
    planned = json.loads(plan.read_text())["cores"]
    assert [len(part.splitlines()) - 1 for part in parts] == [len(core["buffers"]) for core in planned]
    ops = list(csv.DictReader(call("export", result, "--as", "csv")[1].splitlines()))
    assert {row["core"] for row in ops} <= {"0", "1"}
    to = ("--as", "c", "--core", "1", "--folder", tmp_path / "c")
    assert call("export", plan, "zoo:resnet8", *to)[0] == 0
    assert {each.name for each in (tmp_path / "c").iterdir()} == {"resnet8_plan.h", "resnet8_plan.c"}


def test_a_plan_that_does_not_fit_is_exported_to_be_packed_again_only(tmp_path: Path, call: Call) -> None:
    plan, _ = write(tmp_path, call, "zoo:resnet8")
    made = json.loads(plan.read_text())
    plan.write_text(json.dumps(made | {"capacity_bytes": made["peak_bytes"] - 1}))
    to = ("--as", "c", "--folder", tmp_path / "c")
    code, out, err = call("export", plan, "zoo:resnet8", *to)
    assert (code, out) == (1, "")
    assert "the plan needs" in err
    assert call("export", plan, "--as", "minimalloc")[0] == 0
