"""Print the reference of the command line, made from the commands themselves.

python -m docs.tools.commands
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from textwrap import dedent

import click

from chipmodel.cli.main import commands


def reference() -> Iterator[str]:
    """Every command: what it does, how it is called, its options."""
    root = click.Context(commands, info_name="chipmodel", **commands.context_settings)
    for name in commands.list_commands(root):
        command = commands.get_command(root, name)
        if command is None:
            continue
        context = click.Context(command, info_name=name, parent=root)
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"## {name}\n"
        yield f"```text\nchipmodel {name} {usage}\n```\n"
        yield from _paragraphs(command.help or "")
        yield from _options(command, context)


def _paragraphs(text: str) -> Iterator[str]:
    """The help text: paragraphs, those after click's mark for kept line breaks as they are."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        kept = paragraph.startswith("\b")
        body = dedent(paragraph.removeprefix("\b").strip("\n"))
        yield f"```text\n{body}\n```\n" if kept else _escaped(" ".join(body.split())) + "\n"


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if (
            record is None
            or not record[1]
            or isinstance(parameter, click.Argument)
            or "--help" in parameter.opts
        ):
            continue
        declared, text = record
        yield f"`{declared}`\n: {_escaped(' '.join(text.split()))}\n"


def _escaped(text: str) -> str:
    """Plain text for Markdown, with options, file names in capitals and file formats as code."""
    text = re.sub(r"([*<\[\]|])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]+)", r"`\1`", text)


if __name__ == "__main__":
    print("\n".join(reference()))
