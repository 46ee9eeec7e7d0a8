"""No command overwrites what it reads or loses one of its outputs, and it says so before any work."""

import os
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from chipmodel.cli.file_options import FileCommand, FileType, Reads, Store, Writes, WritesInFolder, label_of
from chipmodel.cli.main import COMMANDS, commands
from chipmodel.errors import BadInput
from tests.support.narrowed import of_kind, some

TEXTS = {
    *("free", "dtype", "shapes", "iterations", "values", "probability", "states", "steady_state"),
    *("overrides", "path", "packer", "streamer", "merge", "packers", "merges", "streamers", "capacity"),
    *("memories", "kind", "prefix", "keys", "dask", "cascade", "fields", "only", "measured"),
    *("context", "tokens_size", "past_size", "total_size", "sram", "psram"),
}
"""Parameters whose value is a text that names no file."""
REQUIRED = {"export": ("--as", "csv")}
"""What a command does not run without, besides files."""
Spelling = Callable[[Path], Path]


def command_named(name: str) -> click.Command:
    with commands.make_context("chipmodel", [name], resilient_parsing=True) as context:
        command = commands.get_command(context, name)
    return some(command)


def file_parameters(name: str) -> list[click.Parameter]:
    return [each for each in command_named(name).params if isinstance(each.type, FileType)]


def writes(parameter: click.Parameter) -> bool:
    kind = parameter.type
    return isinstance(kind, Writes | WritesInFolder) or (isinstance(kind, Store) and kind.kept)


def arguments(name: str, values: dict[str, Path]) -> list[str]:
    """The words of a call that names ``values`` and, where an argument is missing, a file of its own."""
    words = [name, *REQUIRED.get(name, ())]
    folder = next(iter(values.values())).parent
    for each in file_parameters(name):
        if isinstance(each, click.Option):
            words += [f"{label_of(each)}={values[label_of(each)]}"] if label_of(each) in values else []
        else:
            words.append(str(values.get(label_of(each), folder / f"{each.name}.yaml")))
    return words


def run(*words: str) -> Result:
    return CliRunner().invoke(commands, list(words), standalone_mode=False)


def the_work_has_begun(**_: object) -> None:
    pytest.fail("the work has begun")


def refusal(*words: str) -> str:
    error = run(*words).exception
    assert isinstance(error, BadInput), (words, error)
    assert error.exit_code == 2
    assert error.hint
    return error.what


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def by_path(path: Path) -> Path:
    return path.parent / ".." / path.parent.name / path.name


def by_link(path: Path) -> Path:
    link = path.with_name("link")
    link.unlink(missing_ok=True)
    link.symlink_to(path.name)
    return link


def by_hard_link(path: Path) -> Path:
    link = path.with_name("hard")
    link.unlink(missing_ok=True)
    os.link(path, link)
    return link


def pairs(name: str) -> Iterator[tuple[str, str]]:
    """Two parameters of which at least one is written."""
    for one, other in combinations(file_parameters(name), 2):
        if writes(one) or writes(other):
            yield label_of(one), label_of(other)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_parameter_is_a_file_to_read_or_to_write_or_names_none(name: str) -> None:
    command = of_kind(FileCommand, command_named(name))
    for parameter in command.params:
        free_text = isinstance(parameter.type, type(click.STRING) | click.Path | click.File)
        assert not free_text or parameter.name in TEXTS, f"{name} {parameter.name}"


@pytest.mark.parametrize("spelling", [by_path, by_link, by_hard_link])
@pytest.mark.parametrize("name", sorted(name for name in COMMANDS if list(pairs(name))))
def test_two_file_options_that_name_one_file_are_refused_before_any_work(
    name: str, spelling: Spelling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_named(name), "callback", the_work_has_begun)
    same = tmp_path / "same.csv"
    same.write_text("what must not be lost")
    other = spelling(same)
    for parameter in file_parameters(name):
        (tmp_path / f"{parameter.name}.yaml").write_text("x")
    before = contents(tmp_path)
    for one, two in pairs(name):
        said = refusal(*arguments(name, {one: same, two: other}))
        assert "would overwrite what is read" in said or "name the same file" in said, (one, two)
        assert contents(tmp_path) == before


def test_the_store_that_nobody_names_is_not_lost_either(tmp_path: Path) -> None:
    study, store = tmp_path / "s.yaml", tmp_path / "s.sqlite"
    study.write_text("workloads: zoo:ds_cnn\n")
    for end in ("", "-wal", "-shm", "-journal"):
        said = refusal("study", str(study), "--json", f"{store}{end}")
        assert "the study's store" in said
        assert "the study's store" in refusal("report", str(study), "--output", f"{store}{end}")
    study.rename(store)
    assert "would overwrite what is read (STUDY.yaml)" in refusal("study", str(store))
    assert [path.name for path in tmp_path.iterdir()] == ["s.sqlite"]


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("missing/x.json", "No such file or directory"),
        ("file/x.json", "No such file or directory"),
        (".", "Is a directory"),
        ("n" * 300, "File name too long"),
    ],
)
def test_what_cannot_be_written_is_refused_before_any_work(
    output: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    for name in ("simulate", "study", "report"):
        option = "--output" if name == "report" else "--json"
        monkeypatch.setattr(command_named(name), "callback", the_work_has_begun)
        said = refusal(name, str(tmp_path / "w.yaml"), f"{option}={tmp_path}/{output}")
        assert said == f"cannot write: {why}"
    assert contents(tmp_path) == {"file": b"x"}


def test_what_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``os.access`` says so, as root may write everything."""
    kept = tmp_path / "kept.json"
    kept.write_text("x")
    for refused_path, output in ((kept, kept), (tmp_path, tmp_path / "new.json")):

        def access(path: str, _: int, refused: Path = refused_path) -> bool:
            return Path(path) != refused

        monkeypatch.setattr(os, "access", access)
        assert "cannot write: Permission denied" in refusal("simulate", "zoo:resnet8", "--json", str(output))
    assert "Permission denied" in refusal(
        "report", str(tmp_path / "s.yaml"), "-o", "r.html", "--points", str(tmp_path / "a" / "b")
    )


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_what_is_no_name_is_refused(name: str) -> None:
    for option in ("--json", "--profile"):
        error = run("simulate", "zoo:resnet8", option, name).exception
        assert isinstance(error, click.BadParameter)
        assert "names no file" in error.message


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("simulate", "zoo:resnet8", "--plan", "-"), "only --json can be written to stdout"),
        (("simulate", "zoo:resnet8", "--plan", "-", "--json", "-"), "only --json can be written to stdout"),
        (("report", "s.yaml", "-o", "-"), "only --json can be written to stdout"),
    ],
)
def test_stdout_is_of_one_text_output(words: tuple[str, ...], said: str) -> None:
    assert refusal(*words).startswith(said)


def test_every_file_type_is_known_to_the_check() -> None:
    kinds = {type(each.type) for name in COMMANDS for each in file_parameters(name)}
    assert kinds == {Reads, Writes, WritesInFolder, Store}
