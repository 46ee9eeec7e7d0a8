"""What each parameter of a command does with the file that it names, and the check before the work.

Every parameter that names a file has one of the types below, and every command is a ``FileCommand``: before
it runs, what it reads is compared with what it writes, each output with the others, and a file that cannot be
written is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from chipmodel.cli.help_page import HelpPage
from chipmodel.errors import BadInput
from chipmodel.files.conflicts import (
    NamedFile,
    refuse_overwriting,
    refuse_unwritable,
    refuse_unwritable_folder,
)
from chipmodel.files.text_file import read_text
from chipmodel.records import dataclass
from chipmodel.studies.store_place import store_path
from workloads.from_onnx.onnx_package import SCHEME as ONNX_SCHEME, model_file

STDOUT = "-"
STORE_LABEL = "the study's store"
STORE_COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite appends to a database's name for files of its own: https://sqlite.org/tempfiles.html."""
ZOO_SCHEME, GUILLOTINE_SCHEME = "zoo:", "guillotine:"
"""Those of workloads that are made, not read."""
READ_SUFFIXES = frozenset({".csv", ".json", ".onnx", ".tflite", ".yaml", ".yml"})
"""How names of files end that nothing but reading them can explain."""
Files = Callable[[str], Iterable[Path]]


if TYPE_CHECKING:
    _ParamType = click.ParamType[Any]
else:
    _ParamType = click.ParamType  # click takes a type argument from 8.4 on.


class FileType(_ParamType):
    """A parameter that names a file."""

    name = "file"
    stdout = True
    """Whether ``-`` may stand for a stream."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse what is no file's name, and stdout for what is not written there."""
        if value == "" or "\0" in value:
            self.fail(f"{value!r} names no file", param, ctx)
        if value == STDOUT and not self.stdout:
            every = ctx.command.params if ctx else ()
            names = " and ".join(label_of(p) for p in every if isinstance(p.type, Writes) and p.type.stdout)
            raise BadInput(f"only {names} can be written to stdout", hint=f"name a file, or use {names} -")
        return value


@dataclass(frozen=True)
class Reads(FileType):
    """A file that is read, if ``own`` finds one in the parameter's value."""

    own: Files = lambda value: (Path(value),)


@dataclass(frozen=True)
class Writes(FileType):
    """A file that is written whole, or stdout where ``stdout`` allows ``-``."""

    stdout: bool = False


class WritesInFolder(FileType):
    """A folder that files are written into; it is made if it is not there."""

    stdout = False


@dataclass(frozen=True)
class Store(FileType):
    """A study's store: where it is not given, next to the study that the parameter ``study`` names. Rows are
    added to it where it is ``kept``, else it is read."""

    study: str
    kept: bool


class FileCommand(HelpPage):
    """A command whose files are checked before it runs."""

    def invoke(self, ctx: click.Context) -> Any:
        """Check the files, then run the command."""
        check_files(ctx)
        return super().invoke(ctx)


def check_files(context: click.Context) -> None:
    """Raise BadInput where an output of the call would overwrite an input or output, or is unwritable."""
    inputs, outputs, folders = command_files(context)
    refuse_overwriting(inputs, (*outputs, *folders))
    for output in outputs:
        if output.named_by != STORE_LABEL:  # SQLite opens its file before any work.
            refuse_unwritable(output.path, [folder.path for folder in folders])
    for folder in folders:
        refuse_unwritable_folder(folder.path)
    for read in inputs:
        # Before anything is imported that plans; a name without such an end may mean something else.
        if read.path.suffix.lower() in READ_SUFFIXES and not os.path.lexists(read.path):
            read_text(read.path)


def command_files(context: click.Context) -> tuple[list[NamedFile], list[NamedFile], list[NamedFile]]:
    """The files that a call names itself: those that it reads, those that it writes, and folders that it
    makes for the latter."""
    inputs: list[NamedFile] = []
    outputs: list[NamedFile] = []
    folders: list[NamedFile] = []
    for parameter in context.command.params:
        label, given = label_of(parameter), context.params.get(parameter.name or "")
        for value in cast("tuple[str, ...]", given if isinstance(given, tuple) else (given,)):
            match parameter.type:
                case Store(study=study, kept=kept):
                    path = store_path(context.params[study], value)
                    ends = ("", *STORE_COMPANIONS) if path.name else ()
                    stored = (NamedFile(STORE_LABEL, path.with_name(path.name + end)) for end in ends)
                    (outputs if kept else inputs).extend(stored)
                case Reads(own=own) if value:
                    inputs += (NamedFile(label, path) for path in own(value))
                case Writes() if value and value != STDOUT:
                    outputs.append(NamedFile(label, Path(value)))
                case WritesInFolder() if value:
                    folders.append(NamedFile(label, Path(value)))
                case _:
                    pass
    return inputs, outputs, folders


def label_of(parameter: click.Parameter) -> str:
    """``--json`` or ``WORKLOAD``."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return parameter.metavar or (parameter.name or "").upper()


def workload_files(value: str) -> Iterator[Path]:
    """The file of a workload on the command line; none where it is made. Raises BadInput for a built-in
    network that there is not, before what plans it is imported."""
    if value.startswith(ZOO_SCHEME):
        from workloads.zoo import chosen, parse_zoo_url

        chosen(*parse_zoo_url(value))
    elif value.startswith(ONNX_SCHEME):
        yield model_file(value)
    elif not value.startswith(GUILLOTINE_SCHEME):
        yield Path(value)


def _chip_file(value: str) -> tuple[Path, ...]:
    from chipmodel.hardware.chip_file import preset_names

    return () if value in preset_names() else (Path(value),)


READS = Reads()
READS_WORKLOAD = Reads(workload_files)
READS_CHIP = Reads(_chip_file)
WRITES = Writes()
WRITES_OR_STDOUT = Writes(stdout=True)
