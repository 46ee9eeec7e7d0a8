"""``chipmodel examples``: the example files of the documents, in a folder."""

from __future__ import annotations

import click

from chipmodel.cli.file_options import FileCommand, WritesInFolder
from chipmodel.terminal.printing import say


@click.command(cls=FileCommand)
@click.argument("folder", type=WritesInFolder(), default="chipmodel-examples")
def examples(folder: str) -> None:
    """Copy the example files of the documents into FOLDER [chipmodel-examples].

    In that folder the commands of tutorial and how-tos run as shown: workloads, packing problems and a study
    are in workloads/, the studies of the gallery in reports/gallery/. Files that exist are not overwritten.
    """
    from chipmodel.api.examples import examples as copy_examples

    for path in copy_examples(folder):
        say(str(path))
