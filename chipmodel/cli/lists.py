"""Commands that list what there is, ``schema``, ``zoo``, ``planners``, ``chips``, and ``examples``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from chipmodel.cli.command import command
from chipmodel.cli.output import AnswerFiles, show, write_files
from chipmodel.files.text_file import json_text
from chipmodel.terminal.printing import emit, say

if TYPE_CHECKING:
    from reports.page_parts import TablePage


@command
def schema() -> None:
    """Print the JSON Schema of YAML workloads, for editors and generators.

    \f
    # Keep the schema for an editor
    chipmodel schema > workload.schema.json
    """
    from chipmodel.api.listings import schema as workload_schema

    emit(json_text(workload_schema()))


@command
def zoo(*, files: AnswerFiles) -> None:
    """List the built-in networks with their source, MACs and weights.

    \f
    # The networks with mobile in their line
    chipmodel zoo | grep mobile
    """
    from reports.lists import network_document, networks_page
    from workloads.zoo import build, networks

    built = [(network, build(network.name)) for network in networks()]
    _answer(files, network_document(built), networks_page(built))


@command
def planners(*, files: AnswerFiles) -> None:
    """List the packers, mergers and streamers, NPU models of chip files (npu.model) and importers by the
    suffixes of their files, with what they do and who published them.

    Those of plug-ins are among them. A plug-in whose name is built in cannot be used; stderr names it.

    \f
    # The list as JSON
    chipmodel planners --json -
    """
    from chipmodel.api.listings import planners as all_planners
    from reports.lists import planners_page

    rows = all_planners()
    _answer(files, {"planners": rows}, planners_page(rows))


@command
def chips(name: str | None, overrides: tuple[str, ...], files: AnswerFiles) -> None:
    """List the chip presets, or every number of one with its origin.

    \f
    # Every number of a preset, with its origin
    chipmodel chips stm32n6
    # The same with a change
    chipmodel chips stm32n6 --set shared_memory.bytes=1MiB
    """
    from chipmodel.hardware.chip_file import load_chip, preset_names
    from chipmodel.npu.listing import warn_of_unusable_models
    from reports.lists import chip_document, chip_page, chips_page

    if name:
        chip = load_chip(name, overrides)
        _answer(files, chip_document(chip), chip_page(chip))
    else:
        warn_of_unusable_models()
        loaded = [load_chip(preset, overrides) for preset in preset_names()]
        document = {"chips": [chip_document(chip) for chip in loaded]}
        _answer(files, document, chips_page(loaded))


def _answer(files: AnswerFiles, document: Mapping[str, object], page: TablePage) -> None:
    from reports.terminal_page import print_tables

    def text() -> str:
        return json_text(document)

    def html() -> str:
        from reports.table_page import render_tables

        return render_tables(page)

    write_files([(files.json_file, text), (files.html_file, html)])
    show(files.json_file, text, partial(print_tables, page))


@command
def examples(folder: str) -> None:
    """Copy the example files of the documents into FOLDER [chipmodel-examples].

    In that folder the commands of tutorial and how-tos run as shown: workloads, packing problems and a study
    are in workloads/, the studies of the gallery in reports/gallery/. Files that exist are not overwritten.

    \f
    # Then: cd try && chipmodel simulate workloads/gated_vision.yaml
    chipmodel examples try
    """
    from chipmodel.api.examples import examples as copy_examples

    for path in copy_examples(folder):
        say(str(path))
