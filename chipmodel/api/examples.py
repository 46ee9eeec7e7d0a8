"""Copies of the example files that the documents use, for whoever has no checkout."""

from __future__ import annotations

from pathlib import Path

import reports
import workloads
from chipmodel.api.arguments import checked
from chipmodel.errors import BadInput, Place
from chipmodel.files.atomic_write import make_folder, write_together

KINDS = (".csv", ".tflite", ".yaml")


@checked
def examples(folder: str | Path = "chipmodel-examples") -> tuple[Path, ...]:
    """Copy the example files into a folder, where the commands of the documents then run as shown, and return
    their paths.

    Workloads, packing problems and a study are in ``workloads``, the studies of the gallery in
    ``reports/gallery``.

    Parameters
    ----------
    folder
        Where to put them; it is made if it is not there.

    Raises
    ------
    BadInput
        If one of them exists already, or cannot be written.
    """
    contents = {Path(folder) / name: path.read_bytes() for name, path in _sources()}
    for target in contents:
        if target.exists():
            raise BadInput("exists already", where=Place(str(target)), hint="name another folder")
    for parent in {target.parent for target in contents}:
        make_folder(parent)
    write_together(contents.items())
    return tuple(contents)


def _sources() -> list[tuple[str, Path]]:
    """The files in the packages, by their names in the folder."""
    top, gallery = Path(workloads.__file__).parent, Path(reports.__file__).parent / "gallery"
    return [
        (f"{name}/{path.name}", path)
        for name, home in (("workloads", top), ("reports/gallery", gallery))
        for path in sorted(home.iterdir())
        if path.suffix in KINDS
    ]
