"""Print the reference of the command line, made from the commands themselves.

python -m docs.tools.commands
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from textwrap import dedent

import click

from chipmodel.cli.help_page import GENERAL, examples, option_groups
from chipmodel.cli.main import commands


def reference() -> Iterator[str]:
    """Every command: what it does, how it is called, its options, examples."""
    root = click.Context(commands, info_name="chipmodel", **commands.context_settings)
    for name in commands.list_commands(root):
        command = commands.get_command(root, name)
        if command is None:
            continue
        context = click.Context(command, info_name=name, parent=root)
        usage = " ".join(command.collect_usage_pieces(context))
        yield f"## {name}\n"
        yield f"```text\nchipmodel {name} {usage}\n```\n"
        yield from _paragraphs((command.help or "").partition("\f")[0].rstrip())
        for heading, records in option_groups(command, context):
            if heading != GENERAL:
                yield f"**{heading}**\n"
                yield from (_option(declared, meaning) for declared, meaning in records)
        lines = [text for wanted, line in examples(command) for text in (f"# {wanted}", line)]
        yield "\n".join(("**Examples**\n", "```text", *lines, "```\n"))


def _paragraphs(text: str) -> Iterator[str]:
    """The help text: paragraphs, those after click's mark for kept line breaks as they are."""
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        kept = paragraph.startswith("\b")
        body = dedent(paragraph.removeprefix("\b").strip("\n"))
        yield f"```text\n{body}\n```\n" if kept else _escaped(" ".join(body.split())) + "\n"


def _option(declared: str, meaning: str) -> str:
    return f"`{declared}`\n: {_escaped(' '.join(meaning.split()))}\n"


def _escaped(text: str) -> str:
    """Plain text for Markdown, with options, file names in capitals and file formats as code."""
    text = re.sub(r"([*<\[\]|])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]+)", r"`\1`", text)


if __name__ == "__main__":
    print("\n".join(reference()))
