"""Write the generated parts of README.md and of the documentation, or check that they are up to date.

    python -m docs.generate            # write all of them
    python -m docs.generate --check    # exit code 1 and a list of those that are out of date
    python -m docs.generate docs/explanation/accuracy.md

A generated part stands between ``<!-- generated: COMMAND -->`` and ``<!-- end -->``. COMMAND is what prints
it: a ``chipmodel`` command, whose output becomes a sample of a terminal, or a ``python`` command that prints
Markdown. Of several commands with ``&&`` between them the last one's output is shown. ``| head -N`` at the
end keeps the first N lines, ``| grep 'TEXT'`` the lines with a text. ``MODULES`` are files of their own.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from docs.tools.samples import ROOT, printed

PART = re.compile(r"<!-- generated: (?P<command>.*?) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)
MODULES = {"workloads/from_python/layers.pyi": "python -m docs.tools.network_layers"}
"""File and the command that prints it."""


@dataclass(frozen=True, slots=True)
class Part:
    """A generated part: the ``number``-th of ``page``, or a module (``number`` is -1)."""

    page: Path
    number: int
    command: str

    @property
    def name(self) -> str:
        """Where it is, for messages."""
        return f"{self.page.relative_to(ROOT)}: {self.command}"


def pages() -> list[Path]:
    """README.md and every Markdown source of the documentation."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def parts(only: Sequence[str] = ()) -> Iterator[Part]:
    """Every generated part, in the order of the pages; ``only`` of these files, if any are given."""
    wanted = {(ROOT / name).resolve() for name in only}
    for page in pages():
        if not wanted or page in wanted:
            for number, found in enumerate(PART.finditer(page.read_text())):
                yield Part(page, number, found["command"])
    for file, command in MODULES.items():
        if not wanted or ROOT / file in wanted:
            yield Part(ROOT / file, -1, command)


def made(part: Part) -> str:
    """What the part should be now."""
    command, _, filtered = part.command.partition(" | ")
    text = printed(command)
    if part.number < 0:
        return text
    if not command.rpartition(" && ")[2].startswith("chipmodel "):
        return text.strip("\n") + "\n"
    shown = _filtered([line.rstrip() for line in text.strip("\n").splitlines()], filtered)
    asked = command if filtered.startswith("head") else part.command
    body = "\n".join(shown).strip("\n")
    return "\n".join(["```console", *(f"$ {each}" for each in asked.split(" && ")), body, "```\n"])


def _filtered(lines: list[str], by: str) -> list[str]:
    """``lines`` as ``head -N`` or ``grep 'TEXT'`` leaves them."""
    words = shlex.split(by)
    match words:
        case []:
            return lines
        case ["head", count]:
            most = int(count.removeprefix("-"))
            return [*lines[:most], "..."] if most < len(lines) else lines
        case ["grep", text]:
            return [line for line in lines if text in line]
        case _:
            raise ValueError(f"{by!r} is neither head -N nor grep 'TEXT'")


def present(part: Part) -> str:
    """What the part is in its file; empty for a picture that is not there."""
    if part.number < 0:
        return part.page.read_text() if part.page.exists() else ""
    return list(PART.finditer(part.page.read_text()))[part.number]["body"]


def write(part: Part, body: str) -> None:
    """Put ``body`` where the part is."""
    if part.number < 0:
        part.page.parent.mkdir(exist_ok=True)
        part.page.write_text(body)
        return
    text = part.page.read_text()
    found = list(PART.finditer(text))[part.number]
    part.page.write_text(text[: found.start("body")] + body + text[found.end("body") :])


@click.command()
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 where something is out of date.")
@click.argument("files", nargs=-1)
def main(check: bool, files: tuple[str, ...]) -> None:
    """Write the generated parts of FILES, or of all pages."""
    say: Callable[[str], None] = click.echo
    old = 0
    for part in parts(files):
        body = made(part)
        if body == present(part):
            continue
        old += 1
        say(f"{'out of date' if check else 'written'}: {part.name}")
        if not check:
            write(part, body)
    if check and old:
        say("bring them up to date with: python -m docs.generate")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
