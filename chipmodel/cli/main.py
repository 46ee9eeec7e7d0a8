"""The entry point: commands are imported when they run, and every error is one message and an exit code."""

from __future__ import annotations

import csv
import gc
import io
import os
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

import click

from chipmodel import __version__
from chipmodel.cli.help_page import write_examples
from chipmodel.errors import (
    EXIT_BAD_INPUT,
    ChipmodelError,
    LimitedSearch,
    NotCompared,
    PluginIgnored,
    RowsLeftOut,
    TimeIsOver,
)
from chipmodel.terminal.printing import note, remark
from chipmodel.terminal.progress import STOP, observed_by, spinner
from chipmodel.terminal.streams import leave_stdout, open_streams

with Path(__file__).with_name("commands.csv").open(encoding="utf-8", newline="") as _table:
    COMMANDS = {row["name"]: (row["module"], row["summary"]) for row in csv.DictReader(_table)}
"""For each name, the module of ``chipmodel.cli`` that holds the command, and its line in ``chipmodel
--help``, which therefore imports none of the modules."""
GARBAGE_THRESHOLD = 100_000
"""Objects made between two searches for cycles of garbage, of which planning leaves few: with Python's own
700 they take a tenth of a command's time (measured)."""


def main() -> None:
    """Entry point: every error is one message and an exit code, never a traceback."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # Else numpy starts threads, for algebra not done here.
    open_streams()
    warnings.showwarning = _as_note
    try:
        with observed_by(spinner):
            code = commands.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Abort:
        _fail("interrupted", 130)
    except click.ClickException as error:
        _fail(_usage_error(error), EXIT_BAD_INPUT)
    except ChipmodelError as error:
        _fail(f"error: {error}", error.exit_code)
    except (_ReaderLeft, BrokenPipeError):  # The latter from --help.
        leave_stdout()
        sys.exit(0)
    except OSError as error:
        if os.environ.get("CHIPMODEL_TRACEBACK"):
            raise
        named = f": {error.filename}" if error.filename else ""
        hint = "a limit (ulimit -a), a folder or a device of this system; CHIPMODEL_TRACEBACK=1 shows where"
        _fail(f"error: the system says: {error.strerror or error}{named}\n  hint: {hint}", EXIT_BAD_INPUT)
    except Exception as error:
        if os.environ.get("CHIPMODEL_TRACEBACK"):
            raise
        _fail(
            f"internal error: {type(error).__name__}: {error}\n"
            "  hint: this is a fault of chipmodel; set CHIPMODEL_TRACEBACK=1 to see where, and report it",
            70,
        )


def _fail(message: str, code: int) -> None:
    remark(message)
    sys.exit(code)


def _as_note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Our own warnings are notes on stderr; others appear as they always do."""
    if issubclass(category, LimitedSearch | NotCompared | PluginIgnored | RowsLeftOut):
        note(str(message))
    else:
        remark(warnings.formatwarning(message, category, filename, lineno, line).rstrip("\n"))


def _usage_error(error: click.ClickException) -> str:
    text = io.StringIO()
    error.show(text)
    return text.getvalue().rstrip("\n")


class _ReaderLeft(Exception):
    """Who read stdout reads no more, as ``head`` does."""


class _Commands(click.Group):
    """Commands imported on first use, whose broken pipes and ended streams reach ``main``. For the first
    click and rich exit with 1, which here says that something does not fit; the other click takes for
    Ctrl-C."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"chipmodel.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            code = super().invoke(ctx)
            return _stop_code(ctx) or code
        except TimeIsOver:
            if not _stop_code(ctx):
                raise
            remark("interrupted")
            return _stop_code(ctx)
        except BrokenPipeError:
            raise _ReaderLeft from None
        except SystemExit as exit_:
            if isinstance(exit_.__context__, BrokenPipeError):
                raise _ReaderLeft from None
            raise
        except EOFError as error:
            raise RuntimeError(f"a stream ended: {error}") from error


def _stop_code(ctx: click.Context) -> int:
    """The exit code where a signal asked the command to stop, else 0."""
    return ctx.meta[STOP].exit_code if STOP in ctx.meta else 0


_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=_Commands, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="chipmodel")
def commands() -> None:
    """A cycle model of edge AI chips, and planners for their memory and DMA.

    A WORKLOAD is a .yaml, .onnx or .tflite file, or a built-in network such as zoo:resnet18
    (see: chipmodel zoo). Exit codes: 0 done, 1 does not fit, 2 bad input, 3 unknown within the limits.

    \f
    # What a network costs on a chip, and why
    chipmodel simulate zoo:resnet18 --chip stm32n6
    # The same for a model of your own, as a page
    chipmodel simulate model.onnx --html run.html
    """
