"""The files of a study on the command line: the study itself, its store, and what it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from chipmodel.cli.file_options import Reads
from chipmodel.files.text_file import read_text
from chipmodel.studies.store_place import is_store


def _named(value: str) -> Iterator[Path]:
    """The files of a study that is in a YAML file or, as it was, in a store."""
    from chipmodel.studies.store import read_header
    from chipmodel.studies.study_file import files_of_study
    from workloads.from_onnx.data_files import data_files

    path = Path(value)
    if not path.is_file():  # A pipe can be read once only.
        return
    if is_store(path):
        header = read_header(path)
        files = files_of_study(header.text, path.parent / header.file)
    else:
        files = files_of_study(read_text(path), path)
    for file in files:
        yield file
        yield from data_files(file) if file.suffix.lower() == ".onnx" else ()


READS_STUDY = Reads(names=_named)
