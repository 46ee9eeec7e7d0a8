"""Run a command of the project inside this process, and return what it prints."""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import shlex
import shutil
import sys
import tempfile
from collections.abc import Generator, Sequence
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

from chipmodel.cli.main import main

ROOT = Path(__file__).parents[2]
"""The checkout."""
COLUMNS = 84
"""Width of the terminal that samples are printed on, in characters."""
FOLDERS = ("workloads", "tests", "bench", "reports", "docs")
"""Folders of the checkout that commands of the documentation name."""


@contextlib.contextmanager
def folder_of_commands(folder: Path) -> Generator[None]:
    """Work in ``folder``, where the folders of the checkout that commands name can be found."""
    forkserver.ensure_running()  # parent of a study's workers: not in a folder that goes
    for name in FOLDERS:
        (folder / name).symlink_to(ROOT / name)
    with contextlib.chdir(folder):
        yield


def run_chipmodel(arguments: Sequence[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of ``chipmodel ARGUMENTS``."""
    out, err = io.StringIO(), io.StringIO()
    with _as_command(["chipmodel", *arguments]):
        code = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main()
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return code, out.getvalue(), err.getvalue()


def printed(command: str) -> str:
    """What ``chipmodel ...``, ``python FILE ...`` or ``python -m MODULE ...`` prints on standard output; the
    last one of several, with `` && `` between them, which share a folder.

    A command that is to fail says so: ``chipmodel ...  # exit code 1`` prints its standard error as well.
    Raises ``RuntimeError`` where the exit code is another.
    """
    with tempfile.TemporaryDirectory() as folder, folder_of_commands(Path(folder)):
        return [_printed(each) for each in command.split(" && ")][-1]


def _printed(command: str) -> str:
    words = shlex.split(command, comments=True)
    expected = int(command.rpartition("# exit code ")[2]) if "# exit code " in command else 0
    if words[0] != "chipmodel":
        return _python(words[1:])
    code, out, err = run_chipmodel(words[1:])
    if code != expected:
        raise RuntimeError(f"{command} ended with {code}: {err}")
    return out + err if expected else out


def json_document(arguments: Sequence[str]) -> Any:
    """The JSON document that ``chipmodel ARGUMENTS`` writes into FILE, in a folder with the files of this one
    that they name."""
    here = [path.absolute() for path in map(Path, arguments) if path.is_file() and path.name == str(path)]
    with tempfile.TemporaryDirectory() as folder, folder_of_commands(Path(folder)):
        for path in here:
            shutil.copy(path, folder)
        code, _, errors = run_chipmodel(arguments)
        if code:
            raise RuntimeError(errors)
        return json.loads(Path("FILE").read_text())


def _python(words: Sequence[str]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        if words[0] == "-m":
            with _as_command(words[1:]):
                runpy.run_module(words[1], run_name="__main__")
        else:
            with _as_command(words):
                runpy.run_path(str(ROOT / words[0]), run_name="__main__")
    return out.getvalue()


@contextlib.contextmanager
def _as_command(words: Sequence[str]) -> Generator[None]:
    """``sys.argv`` and the terminal's width as a command line would have them."""
    arguments, columns = sys.argv, os.environ.get("COLUMNS")
    sys.argv, os.environ["COLUMNS"] = list(words), str(COLUMNS)
    try:
        yield
    finally:
        sys.argv = arguments
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
